"""What changed in the limits of a value, and in which direction: narrower breaks, wider does not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from orl_codegen.drift.change import Change
from orl_codegen.drift.comparison.pairs import Pair, differs, facts
from orl_codegen.schema.tree import Schema

Changes = Iterator[Change]

_LOWER = ("minimum", "minLength", "minItems", "minProperties", "minContains")
_UPPER = ("maximum", "maxLength", "maxItems", "maxProperties", "maxContains")
_SIZES = frozenset(_LOWER[1:])  # to be at least 0 is no limit
_EXCLUSIVE = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}
_NAMED = ("pattern", "format")


class Bound(NamedTuple):
    """A limit in one direction, as a number that is greater where the limit is narrower, and as it was said."""

    tightness: tuple[float, bool]
    keyword: str
    value: Any


def compare_constraints(pair: Pair) -> Changes:
    """Every keyword that limits the values of a schema, null apart."""
    old, new = _limits(pair.old, pair.new), _limits(pair.new, pair.old)
    for keyword in (*_LOWER, *_UPPER):
        before, after = _bound(old, keyword, pair.old.kind), _bound(new, keyword, pair.new.kind)
        yield from _bounds(pair, before, after)
    for keyword in _NAMED:
        yield from _named(pair, keyword, old.pop(keyword, None), new.pop(keyword, None))
    yield from _unique(pair, old.pop("uniqueItems", None) is True, new.pop("uniqueItems", None) is True)
    yield from _multiple(pair, old.pop("multipleOf", None), new.pop("multipleOf", None))
    for keyword in old | new:
        yield from _other(pair, keyword, old.get(keyword), new.get(keyword))


def _limits(schema: Schema, other: Schema) -> dict[str, Any]:
    """The constraints of a schema. That a tuple has as many items as positions is said by its positions."""
    found = facts(schema, constraints=True)
    if all(_counted(side) for side in (schema, other)):
        del found["minItems"], found["maxItems"]
    return found


def _counted(schema: Schema) -> bool:
    lengths = [schema.facts.get("minItems"), schema.facts.get("maxItems")]
    return bool(schema.prefix) and lengths == [len(schema.prefix)] * 2


def _bound(limits: dict[str, Any], keyword: str, kind: str) -> Bound | None:
    """Takes a limit and its exclusive form out of `limits`; what is no number stays there."""
    found = [_inclusive(keyword, limits.pop(keyword))] if _number(limits.get(keyword)) else []
    exclusive = _EXCLUSIVE.get(keyword, "")
    if found and isinstance(limits.get(exclusive), bool):  # as drafts before 6 said it
        found = [_exclusive(keyword, exclusive, found[0].value, kind)] if limits[exclusive] else found
        del limits[exclusive]
    elif _number(limits.get(exclusive)):
        found.append(_exclusive(keyword, exclusive, limits.pop(exclusive), kind))
    tightest = max(found, default=None)
    return None if tightest and keyword in _SIZES and tightest.value <= 0 else tightest


def _inclusive(keyword: str, value: Any) -> Bound:
    return Bound((value if keyword in _LOWER else -value, False), keyword, value)


def _exclusive(keyword: str, exclusive: str, value: Any, kind: str) -> Bound:
    tightness = value if keyword in _LOWER else -value
    whole = kind == "integer" and (isinstance(value, int) or value.is_integer())  # more than 2 is at least 3
    return Bound((tightness + 1, False) if whole else (tightness, True), exclusive, value)


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _bounds(pair: Pair, old: Bound | None, new: Bound | None) -> Changes:
    if old and new:
        if old.tightness != new.tightness:
            rule = "constraint-tightened" if new.tightness > old.tightness else "constraint-loosened"
            yield (pair.at / new.keyword).change(rule, _said(old, new), _said(new, old))
    elif new:
        yield (pair.at / new.keyword).change("constraint-added", None, new.value)
    elif old:
        yield (pair.at / old.keyword).change("constraint-removed", old.value)


def _said(bound: Bound, other: Bound) -> Any:
    return bound.value if bound.keyword == other.keyword else {bound.keyword: bound.value}


def _named(pair: Pair, keyword: str, old: Any, new: Any) -> Changes:
    if differs(old, new):
        action = "added" if old is None else "removed" if new is None else "changed"
        yield (pair.at / keyword).change(f"{keyword}-{action}", old, new)


def _unique(pair: Pair, old: bool, new: bool) -> Changes:
    if old != new:
        yield (pair.at / "uniqueItems").change(
            "constraint-added" if new else "constraint-removed", old or None, new or None
        )


def _multiple(pair: Pair, old: Any, new: Any) -> Changes:
    if not (_positive(old) and _positive(new)):
        yield from _other(pair, "multipleOf", old, new)
    elif old != new:
        rule = "tightened" if _divides(old, new) else "loosened" if _divides(new, old) else "changed"
        yield (pair.at / "multipleOf").change(f"constraint-{rule}", old, new)


def _positive(value: object) -> bool:
    return isinstance(value, (int, float)) and _number(value) and 0 < value < math.inf


def _divides(part: float, whole: float) -> bool:
    """Whether one is a multiple of the other; as decimal numbers, in which 0.3 is three times 0.1."""
    ratio = _decimal(whole) / _decimal(part)
    return ratio > 1 and ratio.denominator == 1


def _decimal(value: float) -> Fraction:
    return Fraction(value) if isinstance(value, int) else Fraction(repr(value))


def _other(pair: Pair, keyword: str, old: Any, new: Any) -> Changes:
    """A keyword whose direction cannot be told."""
    if differs(old, new):
        action = "added" if old is None else "removed" if new is None else "changed"
        yield (pair.at / keyword).change(f"constraint-{action}", old, new)
