"""How two values of one keyword become the one value that asks for both.

Each function takes the two values, which differ, and returns the merged one, or `APART` where no single value can
express both. Values come from a server and may have any shape.
"""

from __future__ import annotations

from typing import Any, Final

from orl_codegen.schema.json_values import canonical, is_number


class _Apart:
    """The type of `APART`."""


APART: Final = _Apart()
"""No single value expresses both: the second one has to stay in a schema of its own."""


def keep_first(first: object, second: object) -> object:
    """For annotations, which allow and forbid nothing."""
    return first


def keep_apart(first: object, second: object) -> object:
    """For constraints that a schema can hold only once, such as `pattern`."""
    return APART


def greater(first: Any, second: Any) -> Any:
    return max(first, second) if is_number(first) and is_number(second) else first


def lesser(first: Any, second: Any) -> Any:
    return min(first, second) if is_number(first) and is_number(second) else first


def if_either(first: object, second: object) -> object:
    return first or second


def if_both(first: object, second: object) -> object:
    return first is True and second is True


def concatenated(first: list[Any], second: list[Any]) -> object:
    return [*first, *second]


def all_names(first: object, second: object) -> object:
    names = [*(first if isinstance(first, list) else []), *(second if isinstance(second, list) else [])]
    return list(dict.fromkeys(names))


def common_types(first: object, second: object) -> object:
    wanted, others = (value if isinstance(value, list) else [value] for value in (first, second))
    shared = [name for name in wanted if name in others]
    named = [*wanted, *others]
    if "integer" in named and "number" in named and "integer" not in shared:
        shared.append("integer")  # every integer is also a number
    return shared or APART


def common_values(first: object, second: object) -> object:
    if not isinstance(first, list) or not isinstance(second, list):
        return APART
    others = {canonical(value) for value in second}
    return [value for value in first if canonical(value) in others]


def each_property(first: object, second: object) -> object:
    if not isinstance(first, dict) or not isinstance(second, dict):
        return APART
    merged = {key: _both(first[key], schema) if key in first else schema for key, schema in second.items()}
    return {**first, **merged}


def each_item(first: object, second: object) -> object:
    # A list is the tuple of drafts before 2020-12.
    return APART if isinstance(first, list) or isinstance(second, list) else _both(first, second)


def other_properties(first: object, second: object) -> object:
    return False if first is False or second is False else _both(first, second)


def joined_text(first: object, second: object) -> object:
    """Both texts, the second on a line of its own, unless the first contains it."""
    if not isinstance(first, str) or not isinstance(second, str) or second.strip() in first:
        return first
    stop = "." if first.rstrip()[-1:].isalnum() else ""
    return f"{first.rstrip()}{stop}\n{second}" if first.strip() else second


def _both(first: object, second: object) -> dict[str, Any]:
    return {"allOf": [part for part in (first, second) if part is not None]}
