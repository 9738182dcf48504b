"""`(Snapshot, Snapshot) -> Changes`; `compare` is the table of contents."""
