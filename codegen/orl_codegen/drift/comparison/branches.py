"""Match the branches of an old union to those of a new one: servers add, remove, reorder and change them at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import islice

from orl_codegen.drift.comparison.outlines import bare_outline, full_outline
from orl_codegen.schema.json_values import canonical
from orl_codegen.schema.tree import Schema

_MOST_COMPARED = 500
"""How many unequal branches are compared with each other; a hostile union may have twenty thousand."""


class _Branch:
    """A branch of a union and what identifies it, worked out once."""

    def __init__(self, schema: Schema) -> None:
        self.kind = schema.kind
        self.schema = schema
        self.names = schema.properties.keys()
        # The properties that can have only one value, which is how the branches of a union are told apart.
        single = {key: part.values for key, part in schema.properties.items() if part.values and len(part.values) == 1}
        self.tags = {key: canonical(values) for key, values in single.items()}

    def shares_tag(self, other: _Branch) -> bool:
        return self.same_kind(other) and bool(self.tags.items() & other.tags.items())

    def shares_most_properties(self, other: _Branch) -> bool:
        return self.same_kind(other) and 2 * len(self.names & other.names) > max(len(self.names), len(other.names))

    def same_kind(self, other: _Branch) -> bool:
        shared = self.tags.keys() & other.tags.keys()
        return self.kind == other.kind and all(self.tags[key] == other.tags[key] for key in shared)

    def both_numeric(self, other: _Branch) -> bool:
        return {self.kind, other.kind} == {"integer", "number"}


_SIMILAR: tuple[Callable[[_Branch, _Branch], bool], ...] = (
    _Branch.shares_tag,
    _Branch.shares_most_properties,
    _Branch.same_kind,
    _Branch.both_numeric,
)
"""When two unequal branches are taken for one that changed, the surest sign first."""


def match_branches(old: tuple[Schema, ...], new: tuple[Schema, ...]) -> dict[int, int]:
    """The index of the new branch by that of the old one: equal ones first, then similar ones, each at most once."""
    before, after = ([_Branch(option) for option in side] for side in (old, new))
    found: dict[int, int] = {}
    free = dict(enumerate(after))
    for outline_of in (full_outline, bare_outline):
        _match_equal(before, free, found, outline_of)
    for similar in _SIMILAR:
        for i in [i for i in range(len(old)) if i not in found][:_MOST_COMPARED]:
            match = next((j for j in islice(free, _MOST_COMPARED) if similar(before[i], free[j])), None)
            if match is not None:
                found[i] = match
                del free[match]
    return found


def _match_equal(
    before: Sequence[_Branch], free: dict[int, _Branch], found: dict[int, int], outline_of: Callable[[Schema], str]
) -> None:
    """Match branches with the same outline, in order; through a table, so that large unions are not slow."""
    places: dict[str, list[int]] = defaultdict(list)
    for j in reversed(free):
        places[outline_of(free[j].schema)].append(j)
    for i, branch in enumerate(before):
        if i not in found and (equal := places[outline_of(branch.schema)]):
            found[i] = equal.pop()
            del free[found[i]]
