"""From a schema to the keywords of one schema: references are followed, and `allOf` is merged.

What a reference leads to may contain the schema that holds the reference. Such a loop is found by the pointers of the
schemas around, which `Around` keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from orl_codegen.schema.allof import Keywords, merge_all
from orl_codegen.schema.document import Document
from orl_codegen.schema.keywords import STRUCTURE


@dataclass(frozen=True)
class Around:
    """The schemas around the one at hand.

    Attributes:
        repeats: How often the schema at a pointer may still appear inside. A schema may not appear inside itself, so
            it has 0, and a reference back to it is a loop. A definition that was merged into a schema has 1: it may
            appear inside once more (the `manager` of an employee, which `allOf` makes of a person, is a person, too).
    """

    repeats: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def inside(self, pointer: str) -> Around:
        """What is around the parts of the schema at `pointer`."""
        return Around({**self.repeats, pointer: 0})

    def loops_to(self, pointer: str) -> bool:
        """Whether a reference to `pointer` leads back to a schema around."""
        return self.repeats.get(pointer) == 0

    def with_merged(self, repeats: Mapping[str, int]) -> Around:
        """What is around the parts of a schema that others were merged into, which had `repeats` around theirs.

        Each may repeat once more than it might there; merged for the second time, as often as there.
        """
        merged = dict(self.repeats)
        for pointer, inner in repeats.items():
            own = self.repeats.get(pointer, inner + 2)
            if inner < own:
                merged[pointer] = min(inner + 1, own - 1)
        return Around(merged)


@dataclass(frozen=True)
class Flat:
    """A schema whose references and `allOf` are worked out.

    Attributes:
        keywords: The keywords that are left. Where `allOf` is among them, its parts cannot be merged.
        pointer: Where it stands; that of a definition, if it is nothing but a reference to one.
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

    def __init__(self, document: Document) -> None:
        self._document = document

    def flatten(self, raw: object, pointer: str, around: Around) -> Flat:
        """Follow `$ref` and `allOf` until the keywords of one schema are left."""
        self._document.count(pointer)
        with self._document.deeper(pointer):
            flat = Flat(self._keywords(raw, pointer), pointer, around)
            if "$ref" in flat.keywords:
                target = self._document.target_of(flat.keywords.pop("$ref"), pointer)
                if around.loops_to(target):
                    return replace(flat, loop=target)
                flat = self._follow(flat, target)
            return self._merge_all_of(flat) if "allOf" in flat.keywords else flat

    def _keywords(self, raw: object, pointer: str) -> Keywords:
        if isinstance(raw, bool):
            return {} if raw else {"not": {}}
        if not isinstance(raw, Mapping):
            self._document.refuse(pointer, "a schema must be an object, true or false")
        if "allOf" in raw:
            self._document.schemas(raw["allOf"], pointer, "allOf")
        return dict(raw)

    def _follow(self, flat: Flat, target: str) -> Flat:
        """Merge the schema at `target` into the keywords beside the reference to it."""
        found = self.flatten(self._document.at(target, flat.pointer), target, flat.inside)
        merged = replace(found, keywords=merge_all([flat.keywords, found.keywords]))
        if not flat.keywords.keys() & STRUCTURE - {"nullable"}:
            return merged
        # Keywords beside it change the structure: this is no longer the definition.
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
    """What was around in the parts of the `allOf` at `pointer`; the parts themselves are in no place of their own."""
    least: dict[str, int] = {}
    for part in parts:
        for other, repeats in part.inside.repeats.items():
            if not other.startswith(f"{pointer}/allOf/"):
                least[other] = min(repeats, least.get(other, repeats))
    return least
