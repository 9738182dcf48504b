"""What changed between two schemas, at any depth.

The walk is one generator, `compare_schemas`; parameters, values and constraints have modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from orl_codegen.drift.annotations import compare_annotations
from orl_codegen.drift.change import Change
from orl_codegen.drift.constraints import compare_constraints
from orl_codegen.drift.pairs import ANY, Pair, likeness, renames, wording
from orl_codegen.drift.values import compare_default, compare_values
from orl_codegen.generator.schema import Schema
from orl_codegen.generator.snapshot import canonical

Changes = Iterator[Change]


def compare_schemas(pair: Pair) -> Changes:
    """Every change between two schemas of one place, and below it."""
    if pair.old.kind == pair.new.kind or "recursion" not in (pair.old.kind, pair.new.kind):
        yield from _around(pair)
    if "recursion" not in (pair.old.kind, pair.new.kind):
        yield from _accepted(pair)
    elif unrolled := pair.unrolled():
        yield from _accepted(unrolled)


def _around(pair: Pair) -> Changes:
    yield from compare_annotations(pair)
    yield from compare_default(pair)
    yield from _nullability(pair)


def _accepted(pair: Pair) -> Changes:
    """What the two schemas accept, null apart."""
    yield from compare_values(pair)
    if "union" in (pair.old.kind, pair.new.kind):
        yield from _branches(pair)
    elif _comparable(pair.old, pair.new):
        yield from _kinds(pair)
        yield from compare_constraints(pair)
        yield from _inside(pair)
    else:
        yield from _kinds(pair)


def _inside(pair: Pair) -> Changes:
    if pair.old.kind == "object":
        yield from compare_parameters(pair)
        yield from _additional(pair)
    elif pair.old.kind == "array":
        yield from _tuple(pair)
        yield from compare_schemas(pair.child(pair.old.items, pair.new.items, "items"))


# --- kinds ---------------------------------------------------------------------------------------------------------


def _kinds(pair: Pair) -> Changes:
    if pair.old.values is not None and pair.new.values is not None:
        return  # the values tell it all
    old, new = kinds(pair.old), kinds(pair.new)
    if old != new:
        rule = "type-generalized" if old < new else "type-specialized" if new < old else "type-changed"
        yield pair.change(rule, wording(pair.old), wording(pair.new))


def kinds(schema: Schema) -> frozenset[str]:
    """The JSON types that a schema accepts, null apart; an integer is a number."""
    if schema.kind == "union":
        return frozenset().union(*(kinds(option) for option in schema.options))
    return {
        "any": frozenset({"string", "integer", "number", "boolean", "array", "object", "recursion"}),
        "number": frozenset({"integer", "number"}),
        "never": frozenset[str](),
        "null": frozenset[str](),
    }.get(schema.kind, frozenset({schema.kind}))


def _comparable(old: Schema, new: Schema) -> bool:
    return old.kind == new.kind or {old.kind, new.kind} == {"integer", "number"}


def _nullability(pair: Pair) -> Changes:
    if "any" in (pair.old.kind, pair.new.kind):
        return
    old, new = (side.nullable or side.kind == "null" for side in (pair.old, pair.new))
    if old != new:
        yield pair.change("nullable-added" if new else "nullable-removed", wording(pair.old), wording(pair.new))


# --- unions --------------------------------------------------------------------------------------------------------


def _branches(pair: Pair) -> Changes:
    if pair.old.values is not None and pair.new.values is not None:
        return
    old, new = (side.options or (side,) for side in (pair.old, pair.new))
    matches = _matches(old, new)
    if pair.old.kind == pair.new.kind:
        yield from _union(pair, old, new, matches)
    elif matches:
        yield pair.change(
            "type-generalized" if len(new) > len(old) else "type-specialized", wording(pair.old), wording(pair.new)
        )
        [(i, j)] = matches.items()
        yield from _accepted(pair.with_schemas(_alone(pair.old, old[i]), _alone(pair.new, new[j])))
    elif kinds(pair.old) == kinds(pair.new):
        yield pair.change("type-changed", wording(pair.old), wording(pair.new))
    else:
        yield from _kinds(pair)


def _union(pair: Pair, old: tuple[Schema, ...], new: tuple[Schema, ...], matches: dict[int, int]) -> Changes:
    yield from compare_constraints(pair)
    for i, j in matches.items():
        yield from compare_schemas(pair.child(old[i], new[j], "anyOf", j))
    for i, option in enumerate(old):
        if i not in matches:
            yield (pair.at / "anyOf" / i).change("union-branch-removed", wording(option))
    for j, option in enumerate(new):
        if j not in matches.values():
            yield (pair.at / "anyOf" / j).change("union-branch-added", None, wording(option))
    order = [matches[i] for i in sorted(matches)]
    if order != sorted(order):
        yield pair.change("union-order-changed", wording(pair.old), wording(pair.new))


def _alone(schema: Schema, option: Schema) -> Schema:
    """A branch as if it stood alone: limits beside a union hold for its branches."""
    if schema is option:
        return schema
    return replace(option, facts={**schema.facts, **option.facts}, values=option.values or schema.values)


def _matches(old: tuple[Schema, ...], new: tuple[Schema, ...]) -> dict[int, int]:
    """Which old branch is which new one: the surest likeness first, each branch at most once."""
    before, after = ([_Branch(option) for option in side] for side in (old, new))
    found: dict[int, int] = {}
    for alike in _LIKENESSES:
        for i in range(len(old)):
            free = (j for j in range(len(new)) if i not in found and j not in found.values())
            match = next((j for j in free if alike(before[i], after[j])), None)
            if match is not None:
                found[i] = match
    return found


class _Branch:
    """A branch of a union with what it is recognised by, worked out once."""

    def __init__(self, schema: Schema) -> None:
        self.kind = schema.kind
        self.exact, self.rough = likeness(schema, text=True), likeness(schema, text=False)
        self.names = schema.properties.keys()
        # The properties that can have one value only: what discriminates a union.
        single = {key: part.values for key, part in schema.properties.items() if part.values and len(part.values) == 1}
        self.tags = {key: canonical(values) for key, values in single.items()}

    def shares_tag(self, other: _Branch) -> bool:
        return bool(self.tags.items() & other.tags.items())

    def like(self, other: _Branch) -> bool:
        shared = self.tags.keys() & other.tags.keys()
        return self.kind == other.kind and all(self.tags[key] == other.tags[key] for key in shared)

    def overlaps(self, other: _Branch) -> bool:
        return self.like(other) and 2 * len(self.names & other.names) > max(len(self.names), len(other.names))


_LIKENESSES: tuple[Callable[[_Branch, _Branch], bool], ...] = (
    lambda old, new: old.exact == new.exact,
    lambda old, new: old.rough == new.rough,
    _Branch.shares_tag,
    _Branch.overlaps,
    _Branch.like,
    lambda old, new: {old.kind, new.kind} == {"integer", "number"},
)


# --- objects and arrays --------------------------------------------------------------------------------------------


def compare_parameters(pair: Pair) -> Changes:
    """The properties of two objects: the parameters of a tool, or the fields of an object below it."""
    old, new = _properties(pair.old), _properties(pair.new)
    renamed = renames(old, new, lambda part: likeness(part, text=True), lambda part: likeness(part, text=False))
    for name in old:
        place = pair.at / "properties" / name
        if name not in new and name not in renamed:
            yield place.change("param-removed", wording(old[name]))
        elif name in renamed:
            yield (pair.at / "properties" / renamed[name]).change("param-renamed", name, renamed[name])
    kept = {name: name for name in old if name in new} | renamed
    for name in new:
        if name not in kept.values():
            rule = "param-added-required" if name in pair.new.required else "param-added-optional"
            yield (pair.at / "properties" / name).change(rule, None, wording(new[name]))
    for before, after in kept.items():
        yield from _requiredness(pair, before, after)
        yield from compare_schemas(_property(pair, before, after))
    yield from _order(pair, [kept[name] for name in old if name in kept], [n for n in new if n in kept.values()])


def _properties(schema: Schema) -> dict[str, Schema]:
    """With the names that are required and described nowhere: they must be given all the same."""
    unlisted = sorted(schema.required - schema.properties.keys())
    return {**schema.properties, **dict.fromkeys(unlisted, ANY)}


def _property(pair: Pair, before: str, after: str) -> Pair:
    old, new = _properties(pair.old)[before], _properties(pair.new)[after]
    if before != after:  # the usual title is made of the name
        old, new = _untitled(old), _untitled(new)
    return pair.child(old, new, "properties", after)


def _untitled(schema: Schema) -> Schema:
    return replace(schema, facts={key: value for key, value in schema.facts.items() if key != "title"})


def _requiredness(pair: Pair, before: str, after: str) -> Changes:
    old, new = before in pair.old.required, after in pair.new.required
    if old != new:
        yield (pair.at / "properties" / after).change(
            "param-became-required" if new else "param-became-optional", old, new
        )


def _order(pair: Pair, old: list[str], new: list[str]) -> Changes:
    if old != new:
        yield (pair.at / "properties").change("param-order-changed", old, new)


def _additional(pair: Pair) -> Changes:
    old, new = (side.additional is not None and side.additional.kind == "never" for side in (pair.old, pair.new))
    if old == new:
        yield from compare_schemas(pair.child(pair.old.additional, pair.new.additional, "additionalProperties"))
        return
    subject = "additional-properties" if pair.above else "tool-input"
    yield (pair.at / "additionalProperties").change(f"{subject}-{'closed' if new else 'opened'}", not old, not new)


def _tuple(pair: Pair) -> Changes:
    old, new = pair.old.prefix, pair.new.prefix
    for i in range(max(len(old), len(new))):
        place = pair.at / "prefixItems" / i
        if i >= len(new):
            yield place.change("tuple-item-removed", wording(old[i]))
        elif i >= len(old):
            yield place.change("tuple-item-added", None, wording(new[i]))
        else:
            yield from compare_schemas(pair.child(old[i], new[i], "prefixItems", i))
