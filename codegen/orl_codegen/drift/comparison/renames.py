"""What was renamed: which name that is gone is which new one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TypeVar

from orl_codegen.drift.comparison.similarity import Words, match_similar
from orl_codegen.schema.titles import loose

T = TypeVar("T")

Way = Callable[[Mapping[str, T], Mapping[str, T]], dict[str, str]]
"""A way to recognise things: from those that are gone and those that are new to the new name by the old one."""


def match_renamed(old: Mapping[str, T], new: Mapping[str, T], *ways: Way[T]) -> dict[str, str]:
    """Match removed names to added ones.

    Args:
        old: The old things, by name.
        new: The new ones.
        ways: How they are recognised, the surest way first; each is left what the ones before did not recognise.

    Returns:
        The new name by the old one.
    """
    renamed: dict[str, str] = {}
    removed = {name: thing for name, thing in old.items() if name not in new}
    added = {name: thing for name, thing in new.items() if name not in old}
    for way in ways:
        if removed and added:
            found = way(removed, added)
            removed = {name: thing for name, thing in removed.items() if name not in found}
            taken = set(found.values())
            added = {name: thing for name, thing in added.items() if name not in taken}
            renamed |= found
    return renamed


def equal(outline_of: Callable[[T], str | None]) -> Way[T]:
    """Exactly one of each has the same outline; an outline of None matches nothing."""

    def match(removed: Mapping[str, T], added: Mapping[str, T]) -> dict[str, str]:
        old, new = ({name: outline_of(thing) for name, thing in side.items()} for side in (removed, added))
        return _unambiguous(old, new)

    return match


def spelled_alike(removed: Mapping[str, T], added: Mapping[str, T]) -> dict[str, str]:
    """The names of exactly one of each differ in case and punctuation alone: `maxItems` and `max_items`."""
    old, new = ({name: loose(name) or None for name in side} for side in (removed, added))
    return _unambiguous(old, new)


def similar(words: Callable[[], tuple[Mapping[str, Words], Mapping[str, Words]]]) -> Way[T]:
    """One of each has most words in common with the other; `words` gives those of every old and every new thing."""

    def match(removed: Mapping[str, T], added: Mapping[str, T]) -> dict[str, str]:
        return match_similar(removed, added, *words())

    return match


def _unambiguous(old: Mapping[str, str | None], new: Mapping[str, str | None]) -> dict[str, str]:
    before, after = _by_outline(old), _by_outline(new)
    pairs = ((names, after.get(outline, [])) for outline, names in before.items())
    return {gone[0]: come[0] for gone, come in pairs if len(gone) == len(come) == 1}


def _by_outline(outlines: Mapping[str, str | None]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = defaultdict(list)
    for name, outline in outlines.items():
        if outline is not None:
            names[outline].append(name)
    return names
