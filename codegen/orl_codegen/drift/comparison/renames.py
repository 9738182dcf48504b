"""What was renamed: a name that is gone and a new one are the same thing if nothing else is like either of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")


def match_renamed(old: Mapping[str, T], new: Mapping[str, T], *outlines: Callable[[T], str | None]) -> dict[str, str]:
    """Match removed names to added ones where exactly one of each has the same outline.

    Args:
        old: The old things, by name.
        new: The new ones.
        outlines: Ways to outline a thing, tried in turn, the most exact one first; an outline of None matches nothing.

    Returns:
        The new name by the old one.
    """
    renamed: dict[str, str] = {}
    for outline_of in outlines:
        taken = set(renamed.values())
        removed = {name: thing for name, thing in old.items() if name not in new and name not in renamed}
        added = {name: thing for name, thing in new.items() if name not in old and name not in taken}
        renamed |= _unambiguous(_by_outline(removed, outline_of), _by_outline(added, outline_of))
    return renamed


def _by_outline(things: Mapping[str, T], outline_of: Callable[[T], str | None]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = defaultdict(list)
    for name, thing in things.items():
        outline = outline_of(thing)
        if outline is not None:
            names[outline].append(name)
    return names


def _unambiguous(removed: Mapping[str, list[str]], added: Mapping[str, list[str]]) -> dict[str, str]:
    pairs = ((names, added.get(outline, [])) for outline, names in removed.items())
    return {old[0]: new[0] for old, new in pairs if len(old) == len(new) == 1}
