"""What changed between two schemas, at any depth.

The walk is one generator, `compare_schemas`; annotations, values and constraints have modules of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orl_codegen.drift.change import Change
from orl_codegen.drift.comparison.branches import match_branches
from orl_codegen.drift.comparison.constraints import compare_constraints
from orl_codegen.drift.comparison.pairs import ANY, Pair, likeness, renames, wording
from orl_codegen.drift.comparison.values import compare_default, compare_values
from orl_codegen.drift.comparison.words import compare_annotations
from orl_codegen.schema.tree import Schema

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
    if "union" in (pair.old.kind, pair.new.kind):
        yield from _branches(pair)
        return
    yield from compare_values(pair)
    yield from _kinds(pair)
    if _comparable(pair.old, pair.new):
        yield from compare_constraints(pair)
        yield from _inside(pair)


def _inside(pair: Pair) -> Changes:
    if pair.old.kind == "object":
        yield from _parameters(pair)
        yield from _additional(pair)
    elif pair.old.kind == "array":
        yield from _tuple(pair)
        yield from compare_schemas(pair.child(pair.old.items, pair.new.items, "items"))


# --- kinds ---------------------------------------------------------------------------------------------------------


def _kinds(pair: Pair, disjoint: bool = False) -> Changes:
    """The types; `disjoint` where they are the same, and it is known all the same that the schemas are not."""
    if pair.old.values is not None and pair.new.values is not None:
        return  # the values tell it all
    old, new = kinds(pair.old), kinds(pair.new)
    if old != new or disjoint:
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
    """A union on one side or on both."""
    if pair.old.values is not None and pair.new.values is not None:
        yield from compare_values(pair)  # the values tell it all
        return
    old, new = (side.options or (side,) for side in (pair.old, pair.new))
    matches = match_branches(old, new)
    if pair.old.kind == pair.new.kind:
        yield from compare_values(pair)
        yield from _union(pair, old, new, matches)
    elif matches:
        rule = "type-generalized" if len(new) > len(old) else "type-specialized"
        yield pair.change(rule, wording(pair.old), wording(pair.new))
        [(i, j)] = matches.items()
        yield from _accepted(pair.with_schemas(_alone(pair.old, old[i]), _alone(pair.new, new[j])))
    else:
        yield from compare_values(pair)
        yield from _kinds(pair, disjoint=kinds(pair.old) == kinds(pair.new))


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


# --- objects and arrays --------------------------------------------------------------------------------------------


def _parameters(pair: Pair) -> Changes:
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
