"""The environments that ship with the package: a demo, and the document toolsets of the SDK."""
