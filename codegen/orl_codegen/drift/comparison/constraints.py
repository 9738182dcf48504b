"""What changed in the limits of a value, and in which direction: narrower breaks callers, wider does not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from orl_codegen.drift.change import Changes
from orl_codegen.drift.comparison.facts import constraints_in
from orl_codegen.drift.comparison.pairs import Pair
from orl_codegen.schema.json_values import differs, is_number
from orl_codegen.schema.keywords import EXCLUSIVE, LOWER, UPPER
from orl_codegen.schema.tree import Schema


class Bound(NamedTuple):
    """A limit in one direction.

    Attributes:
        tightness: Greater for a narrower limit: its number, negated for an upper limit, and whether it is exclusive.
        keyword: The keyword that sets it.
        value: The value of the keyword.
    """

    tightness: tuple[float, bool]
    keyword: str
    value: Any


def compare_constraints(pair: Pair) -> Changes:
    """Every keyword that limits the values of a schema, other than null."""
    old, new = _constraints(pair.old, pair.new), _constraints(pair.new, pair.old)
    for keyword in (*LOWER, *UPPER):
        yield from _bounds(pair, _take_bound(old, keyword), _take_bound(new, keyword))
    for keyword in ("pattern", "format"):
        yield from _value(pair, keyword, keyword, old.pop(keyword, None), new.pop(keyword, None))
    yield from _multiple_of(pair, old.pop("multipleOf", None), new.pop("multipleOf", None))
    for keyword in old | new:
        yield from _value(pair, keyword, "constraint", old.get(keyword), new.get(keyword))


def _constraints(schema: Schema, other: Schema) -> dict[str, Any]:
    """The constraints of a schema; without the length of a tuple if both are tuples, whose positions are compared."""
    found = constraints_in(schema)
    if _is_tuple(schema) and _is_tuple(other):
        del found["minItems"], found["maxItems"]
    return found


def _is_tuple(schema: Schema) -> bool:
    lengths = [schema.facts.get("minItems"), schema.facts.get("maxItems")]
    return bool(schema.prefix) and lengths == [len(schema.prefix)] * 2


def _value(pair: Pair, keyword: str, subject: str, old: Any, new: Any) -> Changes:
    """A keyword for which it is not known which of two values is narrower."""
    if differs(old, new):
        action = "added" if old is None else "removed" if new is None else "changed"
        yield (pair.at / keyword).change(f"{subject}-{action}", old, new)


# --- bounds --------------------------------------------------------------------------------------------------------


def _take_bound(constraints: dict[str, Any], keyword: str) -> Bound | None:
    """Take a limit and its exclusive form out of `constraints`, and return the tighter of the two.

    A schema has one of them at most, but what stands beside a union can add the other.
    """
    exclusive = EXCLUSIVE.get(keyword, "")
    bounds = [
        Bound((_tightness(keyword, constraints[name]), name == exclusive), name, constraints.pop(name))
        for name in (keyword, exclusive)
        if name in constraints
    ]
    return max(bounds, default=None)


def _tightness(keyword: str, value: Any) -> Any:
    return value if keyword in LOWER else -value


def _bounds(pair: Pair, old: Bound | None, new: Bound | None) -> Changes:
    if old and new:
        if old.tightness != new.tightness:
            rule = "constraint-tightened" if new.tightness > old.tightness else "constraint-loosened"
            yield (pair.at / new.keyword).change(rule, _beside(old, new), _beside(new, old))
    elif new:
        yield (pair.at / new.keyword).change("constraint-added", None, new.value)
    elif old:
        yield (pair.at / old.keyword).change("constraint-removed", old.value)


def _beside(bound: Bound, other: Bound) -> Any:
    """The value of a bound, with its keyword if the other bound has a different one."""
    return bound.value if bound.keyword == other.keyword else {bound.keyword: bound.value}


# --- other keywords ------------------------------------------------------------------------------------------------


def _multiple_of(pair: Pair, old: Any, new: Any) -> Changes:
    if not (_is_step(old) and _is_step(new)):
        yield from _value(pair, "multipleOf", "constraint", old, new)
    elif old != new:
        action = "tightened" if _divides(old, new) else "loosened" if _divides(new, old) else "changed"
        yield (pair.at / "multipleOf").change(f"constraint-{action}", old, new)


def _is_step(value: Any) -> bool:
    return is_number(value) and value > 0


def _divides(part: float, whole: float) -> bool:
    """Whether `whole` is a greater multiple of `part`, as decimal numbers: 0.3 is three times 0.1."""
    ratio = _decimal(whole) / _decimal(part)
    return ratio > 1 and ratio.denominator == 1


def _decimal(value: float) -> Fraction:
    return Fraction(value) if isinstance(value, int) else Fraction(repr(value))
