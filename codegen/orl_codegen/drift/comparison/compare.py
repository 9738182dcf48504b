"""What changed between two snapshots: a chain of small generators, one for each part of a snapshot."""

from __future__ import annotations

from collections.abc import Mapping

from orl_codegen.drift.change import Change, Changes, Place
from orl_codegen.drift.comparison.tools import compare_tools
from orl_codegen.generator.snapshot import JSONObject, Snapshot


def compare_snapshots(old: Snapshot, new: Snapshot, *, allow_partial: bool = False) -> tuple[Change, ...]:
    """Every change between two snapshots, in the order of the snapshot.

    Args:
        old: What was recorded.
        new: What the server says now.
        allow_partial: Leave out tools whose schema is refused, as the adapter does then.

    Raises:
        SchemaError: A tool's schema is refused, and `allow_partial` is not set.
    """
    if old.digest == new.digest and old.num_tasks == new.num_tasks:
        return ()
    return (*_environment(old, new), *compare_tools(old, new, allow_partial))


def _environment(old: Snapshot, new: Snapshot) -> Changes:
    yield from _identity(old, new)
    yield from _splits(old, new)
    yield from _num_tasks(old.num_tasks, new.num_tasks)
    yield from _probes(old, new)
    yield from _terminal_tool(old.terminal_tool, new.terminal_tool)
    yield from _group_scoring(old, new)


def _identity(old: Snapshot, new: Snapshot) -> Changes:
    for name in ("target", "variant", "toolset"):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield (Place() / name).change(f"{name}-changed", before, after)


def _splits(old: Snapshot, new: Snapshot) -> Changes:
    before, after = ({str(split.get("name")): split.get("type") for split in side.splits} for side in (old, new))
    for name in before | after:
        place = Place() / "splits" / name
        if name not in after:
            yield place.change("split-removed", before[name])
        elif name not in before:
            yield place.change("split-added", None, after[name])
        elif before[name] != after[name]:
            yield place.change("split-type-changed", before[name], after[name])


def _num_tasks(old: Mapping[str, int], new: Mapping[str, int]) -> Changes:
    """The number of tasks of each split, where it is known on both sides."""
    for split in old:
        before, after = old[split], new.get(split, old[split])
        if before != after:
            rule = "task-count-dropped" if 2 * after < before else "task-count-changed"
            yield (Place() / "num_tasks" / split).change(rule, before, after)


def _probes(old: Snapshot, new: Snapshot) -> Changes:
    if old.split != new.split:
        yield (Place() / "split").change("probed-split-changed", old.split, new.split)
    elif old.probed != new.probed:
        yield (Place() / "probed").change("probed-tasks-changed", list(old.probed), list(new.probed))


def _terminal_tool(old: JSONObject | None, new: JSONObject | None) -> Changes:
    place = Place() / "terminal_tool"
    if old is None or new is None:
        if old is not None:
            yield place.change("terminal-tool-removed", old.get("name"))
        if new is not None:
            yield place.change("terminal-tool-added", None, new.get("name"))
        return
    for key in ("name", "arg"):
        if old.get(key) != new.get(key):
            yield (place / key).change("terminal-tool-changed", old.get(key), new.get(key))
    if old.get("description") != new.get("description"):
        before, after = old.get("description"), new.get("description")
        yield (place / "description").change("terminal-tool-description-changed", before, after)


def _group_scoring(old: Snapshot, new: Snapshot) -> Changes:
    if old.supports_score_group != new.supports_score_group:
        rule = "group-scoring-added" if new.supports_score_group else "group-scoring-removed"
        yield (Place() / "supports_score_group").change(rule, old.supports_score_group, new.supports_score_group)
