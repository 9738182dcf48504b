"""What the model is shown, compared as text: the net under all the rules that know what they look for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from orl_codegen.drift.change import Change, Place
from orl_codegen.drift.comparison.tools import specs
from orl_codegen.generator.contract.merging import tool_names
from orl_codegen.generator.snapshot import Snapshot

UNSEEN = frozenset(
    {
        *("annotation-changed", "tool-metadata-changed", "tool-input-closed", "tool-input-opened"),
        *("tool-identifier-changed", "task-tool-coverage-changed", "suspicious-text-added", "suspicious-text-removed"),
    }
)
"""Rules that can fire without a change of the text, so that they do not explain one."""

_DEFINITION = re.compile(r"#/(\$defs|definitions)/[^\s\"]*")
"""The name of a definition, in keywords that are shown as they stand: to rename one is no change."""


def compare_texts(old: Snapshot, new: Snapshot, changes: Iterable[Change], allow_partial: bool) -> Iterator[Change]:
    """A change of each tool whose text differs although no rule has said why."""
    explained = {change.tool for change in changes if change.rule not in UNSEEN}
    common = sorted({*tool_names(old)} & {*tool_names(new)} - explained)
    open_cases = [name for name in common if json.dumps(specs(old, name)) != json.dumps(specs(new, name))]
    if not open_cases:
        return
    texts, others = _texts(old, allow_partial), _texts(new, allow_partial)
    for name in open_cases:
        if texts.get(name) != others.get(name):
            yield Place(name).change("tool-text-changed", texts.get(name), others.get(name))


def _texts(snapshot: Snapshot, allow_partial: bool) -> dict[str, str]:
    from orl_codegen.generator.contract.contract import build  # needs what makes types, which takes a second to import

    tools = build(snapshot, allow_partial=allow_partial).tools
    return {tool.wire_name: _DEFINITION.sub("#", tool.docstring) for tool in tools}
