"""Which types a schema accepts: as a set to compare, and in a few words to show."""

from __future__ import annotations

from orl_codegen.schema.json_values import canonical
from orl_codegen.schema.tree import Schema

_TYPES = {
    "any": frozenset({"string", "integer", "number", "boolean", "array", "object", "recursion"}),
    "number": frozenset({"integer", "number"}),  # an integer is a number
    "never": frozenset[str](),
    "null": frozenset[str](),
}


def types_of(schema: Schema) -> frozenset[str]:
    """The JSON types that a schema accepts, other than null."""
    if schema.kind == "union":
        return frozenset().union(*(types_of(option) for option in schema.options))
    return _TYPES.get(schema.kind, frozenset({schema.kind}))


def in_words(schema: Schema) -> str:
    """The type in a few words, for a message."""
    return f"{_without_null(schema)} | null" if schema.nullable else _without_null(schema)


def _without_null(schema: Schema) -> str:
    if schema.values is not None:
        return " | ".join(canonical(value) for value in schema.values)
    if schema.kind == "union":
        return " | ".join(in_words(option) for option in schema.options)
    if schema.kind == "array" and schema.prefix:
        return f"[{', '.join(in_words(part) for part in schema.prefix)}]"
    if schema.kind == "array" and schema.items is not None:
        return f"array of {in_words(schema.items)}"
    if schema.kind == "object" and schema.properties:
        return f"object with {', '.join(schema.properties)}"
    return {"never": "nothing", "recursion": "a recursive reference"}.get(schema.kind, schema.kind)
