"""What changed in the tools: which tools there are, what each spec says, and which tasks offer it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from orl_codegen.drift.change import Changes, Place
from orl_codegen.drift.comparison.outlines import full_outline
from orl_codegen.drift.comparison.pairs import Pair
from orl_codegen.drift.comparison.renames import match_renamed
from orl_codegen.drift.comparison.schemas import compare_schemas
from orl_codegen.drift.comparison.texts import compare_texts
from orl_codegen.drift.comparison.words import as_paragraphs, compare_description
from orl_codegen.errors import SchemaError
from orl_codegen.generator.contract.merging import MergedTool, merged_tool, tool_names
from orl_codegen.generator.contract.naming import method_names, parameter_names
from orl_codegen.generator.contract.suspicion import suspicious
from orl_codegen.generator.contract.wording import tool_text
from orl_codegen.generator.snapshot import JSONObject, Snapshot
from orl_codegen.schema.json_values import differs

Tools = Mapping[str, MergedTool]


def compare_tools(old: Snapshot, new: Snapshot, allow_partial: bool) -> Changes:
    """Every change of the tools; those whose specs are identical, character for character, are not examined."""
    same = {name for name in tool_names(old) if _text(specs(old, name)) == _text(specs(new, name))}
    before, after = (_merged(side, same, allow_partial) for side in (old, new))
    renamed = match_renamed(before, after, _outline, _schema_outline)
    yield from _removed(before, after, renamed, new)
    yield from _added(before, after, renamed, old)
    yield from _identifiers(tool_names(old), tool_names(new))
    kept = {name: name for name in before if name in after} | renamed
    for name, now in kept.items():
        yield from _tool(before[name], after[now])
        yield from _metadata(now, specs(old, name)[0], specs(new, now)[0])
    for name, now in (kept | {name: name for name in same}).items():
        yield from _coverage(old, new, name, now)
    for name in after:
        yield from _suspicion(name, specs(old, name), specs(new, name))


def specs(snapshot: Snapshot, name: str) -> list[JSONObject]:
    """Every spec with a name: the one that all tasks share, or those of the tasks that differ."""
    return list(snapshot.offers[name].specs) if name in snapshot.offers else []


def _text(found: Sequence[JSONObject]) -> str:
    return json.dumps(found)  # the order of keys counts, as it does for the model


def _merged(snapshot: Snapshot, same: set[str], allow_partial: bool) -> Tools:
    tools: dict[str, MergedTool] = {}
    for name in tool_names(snapshot):
        try:
            if name not in same:
                tools[name] = merged_tool(snapshot, name)
        except SchemaError:
            if not allow_partial:
                raise
    return tools


def _outline(tool: MergedTool) -> str:
    return f"{tool.description.strip()}\n{full_outline(tool.schema)}"


def _schema_outline(tool: MergedTool) -> str | None:
    """None for a tool without parameters: the schemas of all such tools are equal, so they identify none."""
    return full_outline(tool.schema) if tool.schema.properties else None


def _removed(before: Tools, after: Tools, renamed: Mapping[str, str], new: Snapshot) -> Changes:
    for name in before:
        if name in renamed:
            yield Place(renamed[name], "/name").change("tool-renamed", name, renamed[name])
        elif name not in after:
            rule = "tool-became-terminal" if _is_terminal(new, name) else "tool-removed"
            yield Place(name).change(rule, name)


def _added(before: Tools, after: Tools, renamed: Mapping[str, str], old: Snapshot) -> Changes:
    news = set(renamed.values())
    for name in after:
        if name not in before and name not in news:
            rule = "tool-became-ordinary" if _is_terminal(old, name) else "tool-added"
            yield Place(name).change(rule, None, name)


def _is_terminal(snapshot: Snapshot, name: str) -> bool:
    return snapshot.terminal_tool is not None and snapshot.terminal_tool.get("name") == name


def _identifiers(before: Sequence[str], after: Sequence[str]) -> Changes:
    """The names of the methods: a tool may have lost its name to another."""
    old, new = method_names(before), method_names(after)
    for name in before:
        if name in new and old[name] != new[name]:
            yield Place(name, "/name").change("tool-identifier-changed", str(old[name]), str(new[name]))


def _tool(old: MergedTool, new: MergedTool) -> Changes:
    old, new = _told_once(old), _told_once(new)
    changes = [*_specific(old, new)]
    yield from changes
    yield from compare_texts(old, new, changes)


def _told_once(tool: MergedTool) -> MergedTool:
    """The tool without a description of its input that its own description contains: the model is told it once."""
    if not tool.schema.description or tool_text(tool.schema).strip() not in tool.description:
        return tool
    facts = {key: value for key, value in tool.schema.facts.items() if key != "description"}
    return replace(tool, schema=replace(tool.schema, facts=facts))


def _specific(old: MergedTool, new: MergedTool) -> Changes:
    """Every change of a tool that has a rule of its own."""
    at = Place(new.name)
    yield from compare_description(at / "description", "tool", old.description, new.description, as_paragraphs)
    if old.conflict != new.conflict:
        yield at.change("task-tool-conflict-added" if new.conflict else "task-tool-conflict-removed")
    yield from compare_schemas(Pair(old.schema, new.schema, at / "input_schema"))
    yield from _keywords(at, old, new)


def _keywords(at: Place, old: MergedTool, new: MergedTool) -> Changes:
    """The Python names of the parameters: a parameter may have lost its name to another."""
    before, after = (parameter_names(tool.schema.properties.keys() | tool.schema.required) for tool in (old, new))
    for key in sorted(before.keys() & after.keys()):
        if before[key] != after[key]:
            place = at / "input_schema" / "properties" / key
            yield place.change("param-identifier-changed", str(before[key]), str(after[key]))


def _coverage(old: Snapshot, new: Snapshot, before: str, after: str) -> Changes:
    """The tasks that offer a tool, among those that were probed for both snapshots."""
    both = set(old.probed) & set(new.probed) if old.split == new.split else set()
    tasks, others = _tasks(old, before, both), _tasks(new, after, both)
    if tasks != others:
        yield Place(after).change("task-tool-coverage-changed", tasks, others)


def _tasks(snapshot: Snapshot, name: str, probed: set[int]) -> str | list[int]:
    offer = snapshot.offers[name]
    if offer.shared:
        return "all"
    offered = {task for entry in offer.task_tools for task in entry.tasks}
    return sorted(offered & probed)


def _metadata(name: str, old: JSONObject, new: JSONObject) -> Changes:
    for key in sorted((old.keys() | new.keys()) - {"name", "description", "input_schema"}):
        if differs(old.get(key), new.get(key)):
            yield (Place(name) / key).change("tool-metadata-changed", old.get(key), new.get(key))


def _suspicion(name: str, old: list[JSONObject], new: list[JSONObject]) -> Changes:
    before, after = suspicious(old), suspicious(new)
    for kind in after:
        if kind not in before:
            yield Place(name).change("suspicious-text-added", None, kind)
    for kind in before:
        if kind not in after:
            yield Place(name).change("suspicious-text-removed", kind)
