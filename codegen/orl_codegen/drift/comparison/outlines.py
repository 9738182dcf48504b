"""Outlines of schemas: texts that are equal for equal schemas, by which old ones are matched to new ones."""

from __future__ import annotations

from typing import Any

from orl_codegen.drift.comparison.facts import constraints_in
from orl_codegen.schema.json_values import canonical
from orl_codegen.schema.tree import Schema


def full_outline(schema: Schema) -> str:
    """What a schema accepts and how it is described, as one text."""
    return canonical(outline(schema))


def bare_outline(schema: Schema) -> str:
    """What a schema accepts, as one text; descriptions do not count."""
    return canonical(outline(schema, descriptions=False))


def outline(schema: Schema, descriptions: bool = True) -> dict[str, Any]:
    """What a schema accepts, and how it is described, as JSON."""

    def inside(part: Schema) -> dict[str, Any]:
        return outline(part, descriptions)

    parts: dict[str, Any] = {
        "kind": [schema.kind, schema.nullable],
        "values": schema.values and list(schema.values),
        "options": [inside(option) for option in schema.options],
        "prefix": [inside(item) for item in schema.prefix],
        "items": schema.items and inside(schema.items),
        "properties": {name: inside(part) for name, part in schema.properties.items()},
        "required": sorted(schema.required),
        "additional": schema.additional and inside(schema.additional),
        "facts": constraints_in(schema) | {key: value for key, value in schema.facts.items() if key == "default"},
        "description": schema.description if descriptions else "",
    }
    return {name: part for name, part in parts.items() if part}
