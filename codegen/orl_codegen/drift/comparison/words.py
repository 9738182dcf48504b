"""What changed in the words around a schema: its description, its deprecation and other annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orl_codegen.drift.change import Changes, Place
from orl_codegen.drift.comparison.facts import annotations_in
from orl_codegen.drift.comparison.pairs import Pair
from orl_codegen.schema.json_values import differs
from orl_codegen.schema.titles import loose
from orl_codegen.schema.tree import Schema

_RULES = {
    "examples": "examples-changed",
    "example": "examples-changed",
    "readOnly": "access-changed",
    "writeOnly": "access-changed",
}
"""The rules of single annotations; all others share `annotation-changed`."""


def compare_annotations(pair: Pair) -> Changes:
    """The description, `deprecated`, and every other keyword that limits nothing, except the default."""
    yield from compare_description(pair.at / "description", "param", pair.old.description, pair.new.description)
    yield from _deprecation(pair)
    old, new = (_annotations(side, pair.at.key) for side in (pair.old, pair.new))
    for keyword in sorted(old.keys() | new.keys()):
        if differs(_only(keyword, old), _only(keyword, new)):
            rule = _RULES.get(keyword, "annotation-changed")
            yield (pair.at / keyword).change(rule, old.get(keyword), new.get(keyword))


def compare_description(at: Place, subject: str, old: str, new: str) -> Changes:
    """The description of a tool or a parameter. White space around it does not count, so a blank one is none."""
    old, new = old.strip(), new.strip()
    if old != new:
        action = "added" if not old else "removed" if not new else "changed"
        yield at.change(f"{subject}-description-{action}", old or None, new or None)


def _deprecation(pair: Pair) -> Changes:
    old, new = (side.facts.get("deprecated", False) for side in (pair.old, pair.new))
    if bool(old) != bool(new):
        yield (pair.at / "deprecated").change("deprecated-added" if new else "deprecated-removed", not new, new)


def _annotations(schema: Schema, name: str) -> dict[str, Any]:
    """The annotations that have no rules elsewhere. A title that repeats the name, as pydantic makes it, is none."""
    found = annotations_in(schema)
    if loose(str(found.get("title", ""))) == loose(name):
        found.pop("title", None)
    return {keyword: value for keyword, value in found.items() if keyword not in ("default", "deprecated")}


def _only(keyword: str, annotations: Mapping[str, Any]) -> dict[str, Any]:
    """One annotation by itself, so that a missing one differs from one that is null."""
    return {keyword: annotations[keyword]} if keyword in annotations else {}
