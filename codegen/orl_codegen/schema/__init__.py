"""JSON Schema, worked out: the normal form that the generator and drift both read."""
