"""Which tool that is gone is which new one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from orl_codegen.drift.comparison.outlines import full_outline
from orl_codegen.drift.comparison.renames import Way, equal, match_renamed, similar, spelled_alike
from orl_codegen.drift.comparison.similarity import Words, words_in
from orl_codegen.generator.contract.merging import MergedTool
from orl_codegen.generator.snapshot import Snapshot

Tools = Mapping[str, MergedTool]


def match_renamed_tools(before: Tools, after: Tools, old: Snapshot, new: Snapshot) -> dict[str, str]:
    """The new name of each renamed tool by its old one.

    Args:
        before: The old tools, of which those that are identical on both sides may be left out.
        after: The new ones.
        old: All old tools: those that stayed show what does not tell one tool from another.
        new: All new ones.
    """
    words: Way[MergedTool] = similar(lambda: (_words(old), _words(new)))
    return match_renamed(before, after, equal(_outline), spelled_alike, words, _same_schema(old, new))


def _outline(tool: MergedTool) -> str:
    return f"{tool.description.strip()}\n{full_outline(tool.schema)}"


def _words(snapshot: Snapshot) -> dict[str, Words]:
    """The words of each tool, without those of its name."""
    return {
        name: words_in([{key: value for key, value in spec.items() if key != "name"} for spec in offer.specs])
        for name, offer in snapshot.offers.items()
    }


def _same_schema(old: Snapshot, new: Snapshot) -> Way[MergedTool]:
    """Both tools have the same schema, and no other tool has one like it."""

    def match(removed: Tools, added: Tools) -> dict[str, str]:
        found = equal(_schema_outline)(removed, added)
        telling, telling_now = (_with_telling_schema(side) if found else () for side in (old, new))
        return {name: now for name, now in found.items() if name in telling and now in telling_now}

    return match


def _schema_outline(tool: MergedTool) -> str | None:
    """None for a tool without parameters: the schemas of all such tools are equal, so they identify none."""
    return full_outline(tool.schema) if tool.schema.properties else None


def _with_telling_schema(snapshot: Snapshot) -> set[str]:
    """The tools whose parameters are not in the same words as those of another tool."""
    words = {
        name: words_in([spec.get("input_schema") for spec in offer.specs]) for name, offer in snapshot.offers.items()
    }
    number = Counter(words.values())
    return {name for name, found in words.items() if number[found] == 1}
