"""Sessions of this process: one event loop, its thread, and how everything ends."""
