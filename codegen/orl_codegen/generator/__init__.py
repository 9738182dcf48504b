"""`Target -> Snapshot -> Contract -> {path: source} -> files`; `pipeline` is the table of contents."""
