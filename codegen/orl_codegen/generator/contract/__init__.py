"""`Snapshot -> Contract`: what a server said, worked out for Python."""
