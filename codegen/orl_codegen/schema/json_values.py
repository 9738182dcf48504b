"""JSON values as values: when two are the same, which are distinct, and what type they have.

Python disagrees with JSON about that (`True == 1`, lists are not hashable), so nothing compares them by `==`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal

JSONType = Literal["string", "integer", "number", "boolean", "null", "array", "object"]


def canonical(value: Any) -> str:
    """One text for each JSON value, whatever the order of its keys."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are one."""
    return canonical(a) == canonical(b)


def distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    """The values without repetitions, in the order in which they first come."""
    first: dict[str, Any] = {}
    for value in values:
        first.setdefault(canonical(value), value)
    return tuple(first.values())


def json_type(value: Any) -> JSONType:
    """The JSON type of a value as `json.loads` gives it."""
    if isinstance(value, bool):
        return "boolean"
    types: dict[type, JSONType] = {int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return types.get(type(value), "null")
