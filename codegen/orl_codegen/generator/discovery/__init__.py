"""`Target -> Snapshot`: what a server says of its tools."""
