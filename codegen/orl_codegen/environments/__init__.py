"""The environments that ship with the package: a demo, and one with the document toolsets of the SDK."""
