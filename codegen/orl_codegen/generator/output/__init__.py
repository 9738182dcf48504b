"""`Contract -> {path: source} -> files`, and the way back."""
