"""Catch-all for changes that no specific rule explains: what the model is shown, compared as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from orl_codegen.drift.change import Change, Changes, Place
from orl_codegen.drift.comparison.tools import specs
from orl_codegen.generator.contract.merging import tool_names
from orl_codegen.generator.snapshot import Snapshot

_EXPLAINS_NOTHING = frozenset(
    {
        *("annotation-changed", "tool-metadata-changed", "tool-input-closed", "tool-input-opened"),
        *("tool-identifier-changed", "task-tool-coverage-changed", "suspicious-text-added", "suspicious-text-removed"),
    }
)
"""Rules that can fire while the text stays the same, so they do not explain why a text changed."""

_DEFINITION = re.compile(r"#/(\$defs|definitions)/[^\s\"]*")
"""A reference to a definition, in a keyword that is shown verbatim: renaming a definition is not a change."""


def compare_texts(old: Snapshot, new: Snapshot, changes: Iterable[Change], allow_partial: bool) -> Changes:
    """A change for each tool whose text changed although none of `changes` explains it."""
    explained = {change.tool for change in changes if change.rule not in _EXPLAINS_NOTHING}
    in_both = {*tool_names(old)} & {*tool_names(new)}
    unexplained = [name for name in sorted(in_both - explained) if _spec_changed(old, new, name)]
    if not unexplained:
        return  # making the texts is slow
    before, after = _texts(old, allow_partial), _texts(new, allow_partial)
    for name in unexplained:
        if before.get(name) != after.get(name):
            yield Place(name).change("tool-text-changed", before.get(name), after.get(name))


def _spec_changed(old: Snapshot, new: Snapshot, name: str) -> bool:
    return json.dumps(specs(old, name)) != json.dumps(specs(new, name))


def _texts(snapshot: Snapshot, allow_partial: bool) -> dict[str, str]:
    """The docstring of each tool's method, by wire name."""
    from orl_codegen.generator.contract.contract import build  # its imports take a second

    tools = build(snapshot, allow_partial=allow_partial).tools
    return {tool.wire_name: _DEFINITION.sub("#", tool.docstring) for tool in tools}
