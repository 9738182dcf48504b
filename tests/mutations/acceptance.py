"""An independent judge of the tables: jsonschema says which values the old and the new schema accept."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from jsonschema import Draft202012Validator

from tests.mutations.sites import Keys, reach
from tests.mutations.tools import Tool

_TYPICAL: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, 3, 4, 6, 12, 45, 47, 89, 90, 99, -7, 2.5, 1e9, "", "a", "zebra", "quartz", "flint"),
    *("2024-01-31", "m" * 30, "m" * 70, [], ["a"], [1], [2], [1, 1], ["a", "b", "c", "d"], [True] * 12, {}),
    *({"b": 1}, {"beyond": "x", "more": 1}, ["a", 1], ["a", 1, True], ["a", 1, "x"], ["a", True]),
)


def contradicts(accepts: str, old: Tool, new: Tool, keys: Keys, rng: Random) -> bool:
    """Whether some value shows that the new schema does not accept more, less or the same, as a table says."""
    before, after = (_validator(side, keys) for side in (old, new))
    samples = [*_TYPICAL, *_values(old, keys, rng), *_values(new, keys, rng)]
    gained = lost = False
    for value in samples:
        was, now = before.is_valid(value), after.is_valid(value)
        gained, lost = gained or (now and not was), lost or (was and not now)
    return (gained and accepts in ("less", "same")) or (lost and accepts in ("more", "same"))


def _validator(tool: Tool, keys: Keys) -> Draft202012Validator:
    whole = tool["input_schema"]
    around = {name: whole[name] for name in ("$defs", "definitions") if name in whole}
    return Draft202012Validator(_without_nullable({**around, **reach(tool, keys)}))


def _without_nullable(schema: Any) -> Any:
    """OpenAPI's `nullable`, which jsonschema does not know, as a type list."""
    if isinstance(schema, dict):
        found = {key: _without_nullable(value) for key, value in schema.items() if key != "nullable"}
        if schema.get("nullable") is True and isinstance(schema.get("type"), str):
            found["type"] = [schema["type"], "null"]
        return found
    return [_without_nullable(part) for part in schema] if isinstance(schema, list) else schema


def _values(tool: Tool, keys: Keys, rng: Random) -> Iterator[Any]:
    """Values that a schema accepts, more or less."""
    for _ in range(12):
        yield _value(tool, reach(tool, keys), rng, 0)


def _value(tool: Tool, schema: Any, rng: Random, depth: int) -> Any:
    if not isinstance(schema, dict) or depth > 5 or rng.random() < 0.03:
        return rng.choice(_TYPICAL)
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        whole = tool["input_schema"]
        return _value(tool, {**whole.get("definitions", {}), **whole.get("$defs", {})}.get(name, {}), rng, depth + 1)
    for combination in ("anyOf", "oneOf"):
        if schema.get(combination):
            return _value(tool, rng.choice(schema[combination]), rng, depth + 1)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return rng.choice(schema["enum"])
    named = schema.get("type", "object" if "properties" in schema else "string")
    return _of_type(tool, rng.choice(named) if isinstance(named, list) else named, schema, rng, depth)


def _of_type(tool: Tool, kind: str, schema: Any, rng: Random, depth: int) -> Any:
    if kind == "object":
        must = set(schema.get("required", ()))
        properties = schema.get("properties", {}).items()
        values = {k: _value(tool, part, rng, depth + 1) for k, part in properties if k in must or rng.random() < 0.4}
        return values | ({"beyond": rng.choice(_TYPICAL)} if rng.random() < 0.3 else {})
    if kind == "array":
        prefix = schema.get("prefixItems", [])
        items = [_value(tool, part, rng, depth + 1) for part in prefix]
        return items + [_value(tool, schema.get("items", {}), rng, depth + 1) for _ in range(rng.randint(0, 3))]
    if kind in ("integer", "number"):
        return rng.choice([*range(-2, 100, 3), *([0.5, 4.5, 90.5] if kind == "number" else [])])
    if kind == "boolean":
        return rng.random() < 0.5
    return None if kind == "null" else rng.choice(["", "quartz", "flint", "amber " * rng.randint(1, 15)])
