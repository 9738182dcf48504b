"""Catch-all for changes that no specific rule explains: what the model is shown, compared as text, place by place.

Only a finding at the same place explains why a text changed: accepting one change must not hide another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from orl_codegen.drift.change import Change, Changes, Place
from orl_codegen.generator.contract.merging import MergedTool
from orl_codegen.generator.contract.python_types import object_keys
from orl_codegen.generator.contract.wording import parameter_text, tool_text
from orl_codegen.schema.tree import Schema

_EXPLAINS_NOTHING = frozenset({"annotation-changed", "tool-input-closed", "tool-input-opened"})
"""Rules that can fire while the text stays the same, so they do not explain why a text changed."""

_OUTSIDE_THE_LINE = frozenset(
    {"param-became-required", "param-became-optional", "param-identifier-changed", "param-renamed"}
)
"""Rules about a parameter itself that do not change its line; about a field inside one, they do."""

_DEFINITION = re.compile(r"#/(\$defs|definitions)/[^\s\"]*")
"""A reference to a definition, in a keyword that is shown verbatim: renaming a definition is not a change."""


def compare_texts(old: MergedTool, new: MergedTool, changes: Iterable[Change]) -> Changes:
    """A change for each place of a tool whose text changed although none of `changes` explains it.

    The tool's own description has rules that miss nothing, so only what the schema adds to it is compared.
    """
    explaining = [change for change in changes if change.rule not in _EXPLAINS_NOTHING]
    for place, before, after in _texts(old, new):
        if before != after and not any(_explains(change, place) for change in explaining):
            yield place.change("tool-text-changed", before, after)


def _texts(old: MergedTool, new: MergedTool) -> Iterator[tuple[Place, str, str]]:
    """The old and the new text of the input as a whole, and of each parameter that both have."""
    at = Place(new.name) / "input_schema"
    yield at, _shown(tool_text(old.schema)), _shown(tool_text(new.schema))
    before, after = old.schema.properties, new.schema.properties
    for key in object_keys(new.schema):
        if key in object_keys(old.schema):
            old_line, new_line = (parameter_text(key, side.get(key, Schema("any"))) for side in (before, after))
            yield at / "properties" / key, _shown(old_line), _shown(new_line)


def _shown(text: str) -> str:
    return _DEFINITION.sub("#", text)


def _explains(change: Change, place: Place) -> bool:
    if change.path == place.path:
        return change.rule not in _OUTSIDE_THE_LINE
    inside = change.path.removeprefix(f"{place.path}/")
    whole_input = place.path == "/input_schema"
    return inside != change.path and not (whole_input and inside.startswith("properties/"))
