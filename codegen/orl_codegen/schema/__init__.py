"""JSON Schema, worked out: `expansion` makes the one form of a schema that the generator and drift both read."""
