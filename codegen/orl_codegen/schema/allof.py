"""Merging schemas that must all hold (`allOf`, and the keywords beside a `$ref`) into one set of keywords.

Where two parts cannot be merged into one keyword (two patterns, say), the later one is kept under `allOf`, so that it
is told to the model in words: nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from orl_codegen.schema.json_values import canonical, same

Keywords = dict[str, Any]


def merge_all(parts: Iterable[Keywords]) -> Keywords:
    """The keywords of a schema that asks for all `parts`; of two annotations the first one holds, texts are joined."""
    merged: Keywords = {}
    for part in parts:
        merged = _merge(merged, part)
    return merged


def _merge(first: Keywords, second: Keywords) -> Keywords:
    merged = dict(first)
    left_over: Keywords = {}
    for keyword, value in second.items():
        if keyword not in merged or same(merged[keyword], value):
            merged.setdefault(keyword, value)
        elif keyword in MERGERS and not isinstance(both := MERGERS[keyword](merged[keyword], value), _Apart):
            merged[keyword] = both
        elif keyword in MERGERS or keyword in CONSTRAINTS:
            left_over[keyword] = value
    if left_over:
        merged["allOf"] = [*merged.get("allOf", []), left_over]
    return merged


class _Apart:
    """What a merger answers where its keyword cannot hold both."""


def _both(first: object, second: object) -> Keywords:
    return {"allOf": [first, second]}


def _items(first: object, second: object) -> object:
    # A list is the tuple of drafts before 2020-12.
    return _Apart() if isinstance(first, list) or isinstance(second, list) else _both(first, second)


def _properties(first: object, second: object) -> object:
    if not isinstance(first, dict) or not isinstance(second, dict):
        return _Apart()
    return {
        **first,
        **{key: _both(first[key], schema) if key in first else schema for key, schema in second.items()},
    }


def _required(first: object, second: object) -> object:
    names = [*(first if isinstance(first, list) else []), *(second if isinstance(second, list) else [])]
    return [name for i, name in enumerate(names) if name not in names[:i]]


def _type(first: object, second: object) -> object:
    wanted, others = (value if isinstance(value, list) else [value] for value in (first, second))
    shared = [name for name in wanted if name in others]
    if {"integer", "number"} <= {*wanted, *others} and "integer" not in shared:
        shared.append("integer")  # every integer is a number, too
    return shared or _Apart()


def _enum(first: object, second: object) -> object:
    if not isinstance(first, list) or not isinstance(second, list):
        return _Apart()
    others = {canonical(value) for value in second}
    return [value for value in first if canonical(value) in others]


def _closed(first: object, second: object) -> object:
    return False if first is False or second is False else _both(first, second)


def _text(first: object, second: object) -> object:
    if not isinstance(first, str) or not isinstance(second, str) or second.strip() in first:
        return first
    stop = "." if first.rstrip()[-1:].isalnum() else ""
    return f"{first.rstrip()}{stop}\n{second}" if first.strip() else second


def _greater(first: Any, second: Any) -> Any:
    return max(first, second) if _numbers(first, second) else first


def _lesser(first: Any, second: Any) -> Any:
    return min(first, second) if _numbers(first, second) else first


def _numbers(*values: object) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


MERGERS: dict[str, Callable[[Any, Any], Any]] = {
    "properties": _properties,
    "required": _required,
    "type": _type,
    "enum": _enum,
    "items": _items,
    "additionalProperties": _closed,
    "description": _text,
    "nullable": lambda first, second: first is True and second is True,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"), _greater),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"), _lesser),
    "uniqueItems": lambda first, second: first or second,
    "allOf": lambda first, second: [*first, *second],
}

CONSTRAINTS = frozenset(
    "const pattern format multipleOf anyOf oneOf not if then else contains propertyNames patternProperties "
    "dependentRequired dependentSchemas prefixItems unevaluatedProperties unevaluatedItems".split()
)
"""Keywords that narrow what is allowed, and of which a schema holds only one."""
