"""What changed in the words around a schema: description, deprecation and other annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from orl_codegen.drift.change import Change, Place
from orl_codegen.drift.comparison.pairs import Pair, differs, facts
from orl_codegen.schema.tree import Schema

Changes = Iterator[Change]

_RULES = {
    "examples": "examples-changed",
    "example": "examples-changed",
    "readOnly": "access-changed",
    "writeOnly": "access-changed",
}


def compare_annotations(pair: Pair) -> Changes:
    """The description, `deprecated`, and every keyword that limits nothing."""
    yield from compare_description(pair.at / "description", "param", pair.old.description, pair.new.description)
    name = pair.at.path.rpartition("/")[2]
    old, new = (_told(side, name) for side in (pair.old, pair.new))
    if bool(old.pop("deprecated", False)) != bool(new.pop("deprecated", False)):
        added = pair.new.facts.get("deprecated", False)
        yield (pair.at / "deprecated").change("deprecated-added" if added else "deprecated-removed", not added, added)
    for key in sorted((old | new).keys() - {"default"}):
        if differs([old[key]] if key in old else [], [new[key]] if key in new else []):
            yield (pair.at / key).change(_RULES.get(key, "annotation-changed"), old.get(key), new.get(key))


def _told(schema: Schema, name: str) -> dict[str, Any]:
    """The annotations; a title that only repeats the name, as pydantic makes it, tells nothing."""
    told = facts(schema, constraints=False)
    if _loose(str(told.get("title", ""))) == _loose(name):
        told.pop("title", None)
    return told


def _loose(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()


def compare_description(at: Place, subject: str, old: str, new: str) -> Changes:
    """The text of a tool or of a parameter; blank is the same as none, and so is white space around it."""
    old, new = old.strip(), new.strip()
    if old != new:
        action = "added" if not old else "removed" if not new else "changed"
        yield at.change(f"{subject}-description-{action}", old or None, new or None)
