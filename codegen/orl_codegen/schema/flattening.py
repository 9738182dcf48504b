"""From a schema to the keywords of one schema: references are followed, and `allOf` is merged.

What a reference leads to may contain the schema that holds the reference. Such a loop is found by the pointers of the
schemas around, which `Around` keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from orl_codegen.schema.allof import Keywords, merge_all
from orl_codegen.schema.document import Document
from orl_codegen.schema.keywords import MERGES, STRUCTURE
from orl_codegen.schema.normalizing import Normalizer
from orl_codegen.schema.references import REFERENCES


@dataclass(frozen=True)
class Around:
    """The schemas around the one at hand.

    Attributes:
        repeats: How often the schema at a pointer may still appear inside. A schema may not appear inside itself, so
            it has 0, and a reference back to it is a loop. A definition that was merged into a schema has 1: if an
            employee is a person and more, by `allOf`, then their `manager` is still shown as a person.
    """

    repeats: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def inside(self, pointer: str) -> Around:
        """What is around the parts of the schema at `pointer`."""
        return Around({**self.repeats, pointer: 0})

    def loops_to(self, pointer: str) -> bool:
        """Whether a reference to `pointer` leads back to a schema around."""
        return self.repeats.get(pointer) == 0

    def with_merged(self, merged: Mapping[str, int]) -> Around:
        """What is around the parts of a schema that others were merged into.

        Args:
            merged: The pointers of those others and of all that was around in them, with their `repeats` there.
        """
        repeats = dict(self.repeats)
        for pointer, there in merged.items():
            here = self.repeats.get(pointer)
            if here is None or here > there + 1:
                repeats[pointer] = there + 1  # merged for the first time: it may come once more
            elif here == there + 1:
                repeats[pointer] = there  # that was once more
        return Around(repeats)


@dataclass(frozen=True)
class Flat:
    """A schema whose references and `allOf` are worked out.

    Attributes:
        keywords: The keywords that are left. Where `allOf` is among them, its parts cannot be merged.
        pointer: Where it is in the document; for a plain reference, where the definition is.
        around: The schemas around it.
        loop: The pointer of the schema around that it leads back to, or None.
    """

    keywords: Keywords
    pointer: str
    around: Around
    loop: str | None = None

    @property
    def inside(self) -> Around:
        """What is around its parts."""
        return self.around.inside(self.pointer)


class Flattener:
    """Flattens the schemas of one document."""

    def __init__(self, document: Document, normalizer: Normalizer) -> None:
        self._document = document
        self._normalizer = normalizer

    def flatten(self, raw: object, pointer: str, around: Around) -> Flat:
        """Follow references and `allOf` until the keywords of one schema are left."""
        self._document.count(pointer)
        with self._document.deeper(pointer):
            keywords = self._keywords(raw, pointer)
            flat = Flat(self._own(keywords), pointer, around)
            for reference in filter(keywords.__contains__, REFERENCES):
                target = self._document.target_of(raw, reference, pointer, around.repeats)
                if around.loops_to(target):
                    return replace(flat, loop=target)
                flat = self._follow(replace(flat, pointer=pointer), target)
            return self._merge_all_of(flat) if "allOf" in flat.keywords else flat

    def _keywords(self, raw: object, pointer: str) -> Mapping[str, Any]:
        raw = self._normalizer.plain(raw, pointer)
        if isinstance(raw, bool):
            return {} if raw else {"not": {}}
        if not isinstance(raw, Mapping):
            self._document.refuse(pointer, "a schema must be an object, true or false")
        return raw

    def _own(self, keywords: Mapping[str, Any]) -> Keywords:
        """The keywords that are about a schema itself: no references, and no places for the definitions of others."""
        return {
            keyword: value
            for keyword, value in keywords.items()
            if keyword not in REFERENCES
            and (keyword in MERGES or not self._document.references.holds_definitions(value))
        }

    def _follow(self, flat: Flat, target: str) -> Flat:
        """Merge the schema at `target` into the keywords beside the reference to it."""
        found = self.flatten(self._document.at(target), target, flat.inside)
        merged = replace(found, keywords=merge_all([flat.keywords, found.keywords]))
        if not flat.keywords.keys() & STRUCTURE - {"nullable"}:
            return merged
        # The keywords beside the reference change the structure, so this is no longer the definition.
        return replace(merged, pointer=flat.pointer, around=found.around.with_merged({found.pointer: 0}))

    def _merge_all_of(self, flat: Flat) -> Flat:
        keywords = {keyword: value for keyword, value in flat.keywords.items() if keyword != "allOf"}
        parts = [
            self.flatten(part, f"{flat.pointer}/allOf/{i}", flat.inside)
            for i, part in enumerate(flat.keywords["allOf"])
        ]
        if len(parts) == 1 and not STRUCTURE & keywords.keys():
            (part,) = parts
            loop = part.loop if flat.loop is None else flat.loop
            return replace(part, keywords=merge_all([keywords, part.keywords]), loop=loop)
        merged = merge_all([keywords, *(part.keywords for part in parts if part.loop is None)])
        loops = [{"$ref": f"#{part.loop}"} for part in parts if part.loop is not None]
        if loops:
            merged["allOf"] = [*merged.get("allOf", []), *loops]  # cannot be merged: told as JSON
        return replace(flat, keywords=merged, around=flat.around.with_merged(_followed(parts, flat.pointer)))


def _followed(parts: Iterable[Flat], pointer: str) -> dict[str, int]:
    """What was around in the parts of an `allOf`, with the least repeats; the parts themselves do not count."""
    least: dict[str, int] = {}
    for part in parts:
        for other, repeats in part.inside.repeats.items():
            if not other.startswith(f"{pointer}/allOf/"):
                least[other] = min(repeats, least.get(other, repeats))
    return least
