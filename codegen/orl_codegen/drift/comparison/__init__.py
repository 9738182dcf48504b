"""`(Snapshot, Snapshot) -> Changes`; `compare_snapshots` is the table of contents."""
