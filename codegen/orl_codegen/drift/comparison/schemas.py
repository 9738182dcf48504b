"""What changed between two schemas, at any depth.

The walk is one generator, `compare_schemas`; annotations, values and constraints have modules of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from orl_codegen.drift.change import Changes
from orl_codegen.drift.comparison.accepted_types import in_words, types_of
from orl_codegen.drift.comparison.branches import match_branches
from orl_codegen.drift.comparison.constraints import compare_constraints
from orl_codegen.drift.comparison.inclusion import includes
from orl_codegen.drift.comparison.pairs import ANY, Pair
from orl_codegen.drift.comparison.renamed_parameters import match_renamed_parameters
from orl_codegen.drift.comparison.values import compare_default, compare_values
from orl_codegen.drift.comparison.words import compare_annotations
from orl_codegen.schema.json_values import differs
from orl_codegen.schema.titles import loose
from orl_codegen.schema.tree import Schema


def compare_schemas(pair: Pair) -> Changes:
    """Every change between two schemas of one place, and below it.

    A recursive reference accepts what its definition accepts, so the definitions are compared, each pair of them once;
    the words around a reference belong to it alone, so they are compared only with those of another reference.
    """
    recursive = "recursion" in (pair.old.kind, pair.new.kind)
    if pair.old.kind == pair.new.kind or not recursive:
        yield from _around(pair)
    followed = pair.unrolled() if recursive else pair
    if followed is not None:
        yield from _accepted(followed)


def _around(pair: Pair) -> Changes:
    """What surrounds the type: annotations, the default, null."""
    yield from compare_annotations(pair)
    yield from compare_default(pair)
    yield from _nullability(pair)


def _accepted(pair: Pair) -> Changes:
    """What the two schemas accept, other than null."""
    if "union" in (pair.old.kind, pair.new.kind):
        yield from _unions(pair)
        return
    yield from compare_values(pair)
    yield from _types(pair)
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


# --- types ---------------------------------------------------------------------------------------------------------


def _types(pair: Pair) -> Changes:
    old, new = types_of(pair.old), types_of(pair.new)
    if old != new and not _both_listed(pair):
        rule = "type-generalized" if old < new else "type-specialized" if new < old else "type-changed"
        yield pair.change(rule, in_words(pair.old), in_words(pair.new))


def _both_listed(pair: Pair) -> bool:
    """Whether both sides list their values, which then say everything that the type could."""
    return pair.old.values is not None and pair.new.values is not None


def _comparable(old: Schema, new: Schema) -> bool:
    return old.kind == new.kind or {old.kind, new.kind} == {"integer", "number"}


def _nullability(pair: Pair) -> Changes:
    if "any" in (pair.old.kind, pair.new.kind):
        return
    old, new = (side.nullable or side.kind == "null" for side in (pair.old, pair.new))
    if old != new:
        yield pair.change("nullable-added" if new else "nullable-removed", in_words(pair.old), in_words(pair.new))


# --- unions --------------------------------------------------------------------------------------------------------


def _unions(pair: Pair) -> Changes:
    """A union on one side or on both."""
    if _both_listed(pair):
        yield from compare_values(pair)
    elif pair.old.kind == pair.new.kind:
        yield from compare_values(pair)
        yield from compare_constraints(pair)
        yield from _branches(pair)
    else:
        yield from _one_union(pair)


def _branches(pair: Pair) -> Changes:
    """The branches of two unions."""
    old, new = pair.old.options, pair.new.options
    matches = match_branches(old, new)
    for i, j in matches.items():
        yield from compare_schemas(pair.child(old[i], new[j], "anyOf", j))
    for i, option in enumerate(old):
        if i not in matches:
            yield (pair.at / "anyOf" / i).change("union-branch-removed", in_words(option))
    for j, option in enumerate(new):
        if j not in matches.values():
            yield (pair.at / "anyOf" / j).change("union-branch-added", None, in_words(option))
    order = [matches[i] for i in sorted(matches)]
    if order != sorted(order):
        yield pair.change("union-order-changed", in_words(pair.old), in_words(pair.new))


def _one_union(pair: Pair) -> Changes:
    """A union on one side only. Where all of it is wider or narrower, the branch that is may say more."""
    wider, narrower = includes(pair.new, pair.old), includes(pair.old, pair.new)
    if not (wider and narrower):
        rule = "type-generalized" if wider else "type-specialized" if narrower else "type-changed"
        yield pair.change(rule, in_words(pair.old), in_words(pair.new))
    match = _only_match(pair)
    if match is not None:
        widened = wider and pair.new.kind == "union" and includes(match.new, match.old)
        narrowed = narrower and pair.old.kind == "union" and includes(match.old, match.new)
        if widened or narrowed:
            yield from _accepted(match)


def _only_match(pair: Pair) -> Pair | None:
    """The branch of a union and the schema on the other side that match, or None.

    The side that is not a union counts as a single branch, and a branch matches at most one other, so there is never
    more than one match.
    """
    old, new = pair.old.options or (pair.old,), pair.new.options or (pair.new,)
    matches = match_branches(old, new)
    if not matches:
        return None
    [(i, j)] = matches.items()
    return pair.with_schemas(_alone(pair.old, old[i]), _alone(pair.new, new[j]))


def _alone(schema: Schema, branch: Schema) -> Schema:
    """A branch as if it stood alone: the limits beside a union hold for each of its branches."""
    if schema is branch:
        return schema
    return replace(branch, facts={**schema.facts, **branch.facts}, values=branch.values or schema.values)


# --- objects and arrays --------------------------------------------------------------------------------------------


def _parameters(pair: Pair) -> Changes:
    """The properties of two objects: the parameters of a tool, or the fields of an object below it."""
    old, new = _properties(pair.old), _properties(pair.new)
    renamed = match_renamed_parameters(old, new)
    kept = {name: name for name in old if name in new} | renamed
    yield from _removed(pair, old, kept)
    names = set(kept.values())
    yield from _added(pair, new, names)
    for before, after in kept.items():
        yield from _requiredness(pair, before, after)
        yield from compare_schemas(_property(pair, old[before], new[after], before, after))
    yield from _order(pair, [kept[name] for name in old if name in kept], [name for name in new if name in names])


def _removed(pair: Pair, old: Mapping[str, Schema], kept: Mapping[str, str]) -> Changes:
    for name in old:
        after = kept.get(name)
        if after is None:
            yield (pair.at / "properties" / name).change("param-removed", in_words(old[name]))
        elif after != name:
            yield (pair.at / "properties" / after).change("param-renamed", name, after)


def _added(pair: Pair, new: Mapping[str, Schema], kept: Set[str]) -> Changes:
    for name in new:
        if name not in kept:
            rule = "param-added-required" if name in pair.new.required else "param-added-optional"
            yield (pair.at / "properties" / name).change(rule, None, in_words(new[name]))


def _properties(schema: Schema) -> dict[str, Schema]:
    """All properties, including names that are required but not described."""
    unlisted = sorted(schema.required - schema.properties.keys())
    return {**schema.properties, **dict.fromkeys(unlisted, ANY)}


def _property(pair: Pair, old: Schema, new: Schema, before: str, after: str) -> Pair:
    if before != after and differs(old.facts.get("title"), new.facts.get("title")):
        old, new = _without_usual_title(old, before), _without_usual_title(new, after)
    return pair.child(old, new, "properties", after)


def _without_usual_title(schema: Schema, name: str) -> Schema:
    """The schema without a title that is derived from its name, and so changes with it."""
    if loose(str(schema.facts.get("title", ""))) != loose(name):
        return schema
    return replace(schema, facts={key: value for key, value in schema.facts.items() if key != "title"})


def _requiredness(pair: Pair, before: str, after: str) -> Changes:
    old, new = before in pair.old.required, after in pair.new.required
    if old != new:
        yield (pair.at / "properties" / after).change(
            "param-became-required" if new else "param-became-optional", old, new
        )


def _order(pair: Pair, old: Sequence[str], new: Sequence[str]) -> Changes:
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
            yield place.change("tuple-item-removed", in_words(old[i]))
        elif i >= len(old):
            yield place.change("tuple-item-added", None, in_words(new[i]))
        else:
            yield from compare_schemas(pair.child(old[i], new[i], "prefixItems", i))
