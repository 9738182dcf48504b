"""How much one thing is like another, by the words in them: which removed thing is clearly which added one.

The work grows with the number of words, not with the number of pairs: things are compared only where they share a word
that few others have.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from orl_codegen.schema.keywords import KEYWORDS

SIMILAR = 0.4
"""The least similarity, from 0 to 1, of two names for one thing.

Chosen on 625 real tools of 61 servers. Renamed and changed in one thing (a word, a sentence, a parameter, a type),
99.2 % of them are recognised while the other tools stay, and 98.2 % if all tools of a server are renamed at once, none
wrongly. If one tool is removed and another one of that server is added, 0.6 % of the 18,360 pairs are taken for a
rename: twins, such as `find_teams` and `find_projects`. At 0.5 it would be 98.4 % and 0.3 %.
"""

CLEAR = 0.1
"""By how much a match has to be more similar than any other one of the same two names."""

ENOUGH = 3
"""How many words and pairs of words must be shared: a common `Act.` is no sign."""

COMMON = 16
"""A word that more things have does not tell them apart, and would make many things slow to compare."""

Words = frozenset[str]

_WORD = re.compile(r"\w+")

_STRUCTURE = frozenset(keyword.name for keyword in KEYWORDS) | {
    *("input_schema", "kind", "values", "options", "prefix", "additional", "facts")  # as specs and outlines have them
}
"""Keys that say how a thing is written, and not what it is."""

_UNTELLING = frozenset({"$ref", "$schema", "type", "kind", "title"})
"""Keywords whose values are no words of the thing itself; its title follows from its name."""


def words_in(value: Any) -> Words:
    """The words in the names and texts of a JSON value, and each two words that follow each other."""
    found: set[str] = set()
    left = [value]
    while left:  # a hostile spec may be too deep for recursion
        part = left.pop()
        if isinstance(part, Mapping):
            left += part.keys() - _STRUCTURE
            left += [inner for key, inner in part.items() if key not in _UNTELLING]
        elif isinstance(part, (list, tuple)):
            left += part
        elif isinstance(part, str):
            words = _WORD.findall(part.casefold())
            found.update(words, map(" ".join, pairwise(words)))
    return frozenset(found)


def match_similar(
    removed: Iterable[str], added: Iterable[str], old: Mapping[str, Words], new: Mapping[str, Words]
) -> dict[str, str]:
    """Match removed names to added ones where each is similar to the other, and clearly less so to any other.

    Args:
        removed: The names that are gone.
        added: The new ones.
        old: The words of every old thing: those that stayed tell which words are common.
        new: The words of every new one.

    Returns:
        The new name by the old one.
    """
    found = list(_similarities(removed, added, old, new))
    rivals: dict[tuple[str, str], list[float]] = defaultdict(list)
    for before, after, similarity in found:
        rivals["old", before].append(similarity)
        rivals["new", after].append(similarity)
    return {
        before: after
        for before, after, similarity in found
        if similarity >= SIMILAR
        and _clear(similarity, rivals["old", before])
        and _clear(similarity, rivals["new", after])
    }


def _clear(similarity: float, rivals: Sequence[float]) -> bool:
    return sum(rival > similarity - CLEAR for rival in rivals) == 1  # which is itself


def _similarities(
    removed: Iterable[str], added: Iterable[str], old: Mapping[str, Words], new: Mapping[str, Words]
) -> Iterator[tuple[str, str, float]]:
    """The pairs that are similar, or nearly: twice the weight of what both share, divided by the weight of both."""
    weights = _weights(old.values(), new.values())
    holders: dict[str, list[str]] = defaultdict(list)
    for name in added:
        for word in new[name] & weights.keys():
            holders[word].append(name)
    totals = {name: _weight(new[name], weights) for name in added}
    for before in removed:
        total = _weight(old[before], weights)
        common: dict[str, list[float]] = defaultdict(list)
        for word in old[before] & holders.keys():
            for after in holders[word]:
                common[after].append(weights[word])
        for after, parts in common.items():
            similarity = 2 * sum(parts) / (total + totals[after])
            if len(parts) >= ENOUGH and similarity > SIMILAR - CLEAR:
                yield before, after, similarity


def _weights(old: Iterable[Words], new: Iterable[Words]) -> dict[str, float]:
    """What a word tells: the less, the more things have it; nothing if it is common."""
    before, after = (Counter(word for words in side for word in words) for side in (old, new))
    number = before | after  # the greater count of each word
    return {word: count**-2 for word, count in number.items() if count <= COMMON}


def _weight(words: Words, weights: Mapping[str, float]) -> float:
    return sum(weights.get(word, 0) for word in words)
