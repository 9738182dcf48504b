"""The narrowest schema that accepts whatever any of several accepts: for a tool that differs from task to task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from orl_codegen.schema.json_values import distinct, is_number, same
from orl_codegen.schema.keywords import EXCLUSIVE, LOWER, UPPER
from orl_codegen.schema.tree import EMPTY, Schema, union_of

OF_CONTAINS = frozenset({"minContains", "maxContains"})
"""Limits that mean nothing without the `contains` beside them, so they go with it."""


def widen(schemas: Sequence[Schema]) -> Schema:
    """The narrowest schema of the tree that accepts whatever any of `schemas` accepts."""
    widened = schemas[0]
    for schema in schemas[1:]:
        widened = _wider(widened, schema)
    return widened


def _wider(a: Schema, b: Schema) -> Schema:
    if a == b:
        return a
    if a.kind == b.kind == "object":
        return _wider_object(a, b)
    if a.kind == b.kind == "array" and not a.prefix and not b.prefix:
        items = None if a.items is None or b.items is None else _wider(a.items, b.items)
        return replace(a, nullable=a.nullable or b.nullable, items=items, facts=_shared_facts(a, b), values=None)
    if a.kind == b.kind and a.kind in ("string", "integer", "number", "boolean"):
        values = None if a.values is None or b.values is None else distinct([*a.values, *b.values])
        return replace(a, nullable=a.nullable or b.nullable, values=values, facts=_shared_facts(a, b))
    if "any" in (a.kind, b.kind):
        return Schema("any", facts=_shared_facts(a, b), pointer=a.pointer)
    return union_of([a, b], EMPTY, a.pointer)


def _wider_object(a: Schema, b: Schema) -> Schema:
    keys = list(dict.fromkeys([*a.properties, *b.properties]))
    properties = {
        key: _wider(a.properties[key], b.properties[key])
        if key in a.properties and key in b.properties
        else a.properties.get(key) or b.properties[key]
        for key in keys
    }
    additional = a.additional
    if a.additional != b.additional:
        additional = None if a.additional is None or b.additional is None else _wider(a.additional, b.additional)
    return replace(
        a,
        nullable=a.nullable or b.nullable,
        properties=MappingProxyType(properties),
        required=a.required & b.required,
        additional=additional,
        facts=_shared_facts(a, b),
        values=None,
    )


def _shared_facts(a: Schema, b: Schema) -> MappingProxyType[str, Any]:
    """The wider limit, where both schemas set one; the texts of both; and what is the same in both."""
    shared = {key: value for key, value in a.facts.items() if key in b.facts and same(value, b.facts[key])}
    for wider, limits in ((min, LOWER), (max, UPPER)):
        for limit in limits:
            first, second = (_bound(side.facts, limit, lower=wider is min) for side in (a, b))
            if first and second:
                shared.pop(EXCLUSIVE.get(limit, ""), None)
                value, _, keyword = wider(first, second)
                shared[keyword] = value
    if "contains" not in shared:
        shared = {key: value for key, value in shared.items() if key not in OF_CONTAINS}
    texts = list(dict.fromkeys(text for text in (a.description, b.description) if text.strip()))
    return MappingProxyType({**shared, **({"description": "\n".join(texts)} if texts else {})})


def _bound(facts: Mapping[str, Any], limit: str, *, lower: bool) -> tuple[Any, bool, str] | None:
    """A limit as its value, whether the wider of two equal ones sorts last, and its keyword; None if there is none.

    There is at most one of a limit and its exclusive form (see `bounds`).
    """
    exclusive = EXCLUSIVE.get(limit, "")
    for keyword in (limit, exclusive):
        if is_number(facts.get(keyword)):
            return facts[keyword], (keyword == exclusive) == lower, keyword
    return None
