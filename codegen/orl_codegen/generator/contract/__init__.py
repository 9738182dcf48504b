"""`Snapshot -> Contract`: what a server sent, worked out for Python."""
