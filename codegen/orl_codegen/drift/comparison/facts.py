"""The facts of a schema, divided into those that decide which values are accepted and those that do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orl_codegen.schema.keywords import CONSTRAINING
from orl_codegen.schema.tree import Schema


def constraints_in(schema: Schema) -> dict[str, Any]:
    """The facts that decide which values are accepted."""
    return {key: _without_names(value) for key, value in schema.facts.items() if key in CONSTRAINING}


def annotations_in(schema: Schema) -> dict[str, Any]:
    """All other facts, except the description, which has rules of its own."""
    others = schema.facts.keys() - CONSTRAINING - {"description"}
    return {key: _without_names(value) for key, value in schema.facts.items() if key in others}


def _without_names(value: Any) -> Any:
    """A keyword without the names of definitions in it: renaming a definition is not a change."""
    if isinstance(value, Mapping):
        kept = {key: _without_names(part) for key, part in value.items()}
        if isinstance(kept.get("$ref"), str):
            kept["$ref"] = "#"
        if isinstance(kept.get("mapping"), Mapping) and "propertyName" in kept:  # a discriminator
            kept["mapping"] = sorted(kept["mapping"])
        return kept
    return [_without_names(part) for part in value] if isinstance(value, list) else value
