"""Which branch of an old union is which branch of the new one: servers add, remove, reorder and change them at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import islice

from orl_codegen.drift.comparison.pairs import likeness
from orl_codegen.schema.json_values import canonical
from orl_codegen.schema.tree import Schema

_CLOSELY = 500
"""How many unequal branches are compared with each other; a hostile union may have twenty thousand."""


class _Branch:
    """A branch of a union with what it is recognised by, worked out once."""

    def __init__(self, schema: Schema) -> None:
        self.kind = schema.kind
        self.schema = schema
        self.names = schema.properties.keys()
        # The properties that can have one value only: what discriminates a union.
        single = {key: part.values for key, part in schema.properties.items() if part.values and len(part.values) == 1}
        self.tags = {key: canonical(values) for key, values in single.items()}

    def with_text(self) -> str:
        return likeness(self.schema, text=True)

    def without_text(self) -> str:
        return likeness(self.schema, text=False)

    def shares_tag(self, other: _Branch) -> bool:
        return self.like(other) and bool(self.tags.items() & other.tags.items())

    def like(self, other: _Branch) -> bool:
        shared = self.tags.keys() & other.tags.keys()
        return self.kind == other.kind and all(self.tags[key] == other.tags[key] for key in shared)

    def overlaps(self, other: _Branch) -> bool:
        return self.like(other) and 2 * len(self.names & other.names) > max(len(self.names), len(other.names))


_LIKENESSES: tuple[Callable[[_Branch, _Branch], bool], ...] = (
    _Branch.shares_tag,
    _Branch.overlaps,
    _Branch.like,
    lambda old, new: {old.kind, new.kind} == {"integer", "number"},
)


def match_branches(old: tuple[Schema, ...], new: tuple[Schema, ...]) -> dict[int, int]:
    """Which old branch is which new one, by index: the surest likeness first, each branch at most once."""
    before, after = ([_Branch(option) for option in side] for side in (old, new))
    found: dict[int, int] = {}
    free = dict(enumerate(after))
    for key in (_Branch.with_text, _Branch.without_text):
        _match_equal(before, free, found, key)
    for alike in _LIKENESSES:
        for i in [i for i in range(len(old)) if i not in found][:_CLOSELY]:
            match = next((j for j in islice(free, _CLOSELY) if alike(before[i], free[j])), None)
            if match is not None:
                found[i] = match
                del free[match]
    return found


def _match_equal(
    before: Sequence[_Branch], free: dict[int, _Branch], found: dict[int, int], key: Callable[[_Branch], str]
) -> None:
    """Match what has the same key, in order; by a table, so that large unions are no burden."""
    places: dict[str, list[int]] = defaultdict(list)
    for j in reversed(free):
        places[key(free[j])].append(j)
    for i, branch in enumerate(before):
        if i not in found and (equal := places[key(branch)]):
            found[i] = equal.pop()
            del free[found[i]]
