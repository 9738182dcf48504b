"""JSON values as values: when two are the same, which are distinct, and what type they have.

Python disagrees with JSON here (`True == 1`, and lists cannot be hashed), so nothing compares them by `==`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeGuard

JSONType = Literal["string", "integer", "number", "boolean", "null", "array", "object"]


def canonical(value: Any) -> str:
    """One text for each JSON value, whatever the order of its keys."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are written alike: 1 and 1.0 are not (see `differs`)."""
    return canonical(a) == canonical(b)


def distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    """The values without repetitions, in the order of their first appearance."""
    first: dict[str, Any] = {}
    for value in values:
        first.setdefault(canonical(value), value)
    return tuple(first.values())


def identity(value: Any) -> str:
    """A text that is equal for equal JSON values: 1 and 1.0 are the same, 1 and true are not."""
    return canonical(whole_as_int(value))


def differs(old: Any, new: Any) -> bool:
    """Whether two JSON values differ as JSON Schema sees it."""
    return identity(old) != identity(new)


def whole_as_int(value: Any, below: float = math.inf) -> Any:
    """The same value with every whole number in it written as one: 1 for 1.0, if it is closer to 0 than `below`."""
    if isinstance(value, float) and value.is_integer() and abs(value) < below:
        return int(value)
    if isinstance(value, Mapping):
        return {key: whole_as_int(part, below) for key, part in value.items()}
    return [whole_as_int(part, below) for part in value] if isinstance(value, (list, tuple)) else value


def json_type(value: Any) -> JSONType:
    """The JSON type of a value as `json.loads` returns it."""
    if isinstance(value, bool):
        return "boolean"
    types: dict[type, JSONType] = {int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return types.get(type(value), "null")


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a JSON number (`json.loads` also reads NaN and infinities, which JSON does not have)."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
