"""What changed in the adapters of a project between two states, as Markdown for release notes.

It is read by people who call the adapters or train with them, and not by a gate: so the severities are those of the
catalogue, whatever the project's own gate counts, and what was accepted there is told, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from orl_codegen.drift.change import Change
from orl_codegen.drift.comparison.compare import compare_snapshots
from orl_codegen.drift.formats.markdown import code_span, markdown_text
from orl_codegen.drift.rules import RULES
from orl_codegen.errors import printable
from orl_codegen.generator.contract.merging import tool_names
from orl_codegen.generator.snapshot import Snapshot

Snapshots = Mapping[PurePosixPath, Snapshot]

BREAKS = "**Breaks callers.**"
NEW_RUN = "**Needs a new run.**"

_LEGEND = (
    (BREAKS, "*Breaks callers*: code that calls the adapter has to change."),
    (NEW_RUN, "*Needs a new run*: training that is under way can neither go on nor be compared across the change."),
)


def release_notes(old: Snapshots, new: Snapshots) -> str:
    """A section for each environment that changed, was added or was removed; empty if nothing changed."""
    moved = dict(_moved(old, new))
    paths = {*old, *new} - {*moved.values()}
    pairs = sorted(((path, moved.get(path, path)) for path in paths), key=lambda pair: pair[1])
    found = [_section(before, after, old.get(before), new.get(after)) for before, after in pairs]
    sections = [section for section in found if section]
    legend = [text for mark, text in _LEGEND if any(mark in section for section in sections)]
    return "\n\n".join([*sections, *([" ".join(legend)] if legend else [])]) + "\n" if sections else ""


def _moved(old: Snapshots, new: Snapshots) -> Iterator[tuple[PurePosixPath, PurePosixPath]]:
    """Environments that are the same under another name: nothing else in what is left has their target and variant."""
    gone, come = ([path for path in side if path not in other] for side, other in ((old, new), (new, old)))
    for before in gone:
        same = [(old[path].target, old[path].variant) for path in gone].count(_identity(old[before])) == 1
        found = [path for path in come if _identity(new[path]) == _identity(old[before])]
        if same and len(found) == 1:
            yield before, found[0]


def _identity(snapshot: Snapshot) -> tuple[str, str]:
    return snapshot.target, snapshot.variant


def _section(before: PurePosixPath, after: PurePosixPath, old: Snapshot | None, new: Snapshot | None) -> str:
    if new is None:
        return f"## {code_span(before.stem)}, removed\n\n{BREAKS} The project no longer has an adapter of that name."
    if old is None:
        return f"## {code_span(after.stem)}, new\n\n{_listed(new)}"
    blocks = [*_blocks(old, new, compare_snapshots(old, new, allow_partial=True))]
    if before != after:
        moved = f"{code_span(str(before.with_suffix('.py')))} is now {code_span(str(after.with_suffix('.py')))}"
        blocks.insert(0, f"{BREAKS} The module {moved}.")
    return "\n\n".join([f"## {code_span(after.stem)}", *blocks]) if blocks else ""


def _listed(new: Snapshot) -> str:
    tools = [_tool(new, name) for name in tool_names(new)]
    return "\n".join([f"From {code_span(printable(new.target, 500))}.", "", *(tools or ["It has no tools."])])


def _blocks(old: Snapshot, new: Snapshot, changes: Sequence[Change]) -> Iterator[str]:
    """The parts of a section, each with its heading."""
    added = [change.tool for change in changes if change.rule == "tool-added" and change.tool is not None]
    removed = [change.tool for change in changes if change.rule == "tool-removed" and change.tool is not None]
    rest = [change for change in changes if change.rule not in ("tool-added", "tool-removed")]
    changed = {change.tool: [other for other in rest if other.tool == change.tool] for change in rest}
    about_all = changed.pop(None, [])
    if removed:
        yield _part("Removed tools", [f"{_tool(old, name)} {BREAKS}" for name in removed])
    if changed:
        yield _part("Changed tools", [line for name, some in changed.items() for line in _changed(str(name), some)])
    if added:
        yield _part("Added tools", [f"{_tool(new, name)} {NEW_RUN}" for name in added])
    if about_all:
        yield _part("The environment", [*_lines(about_all, "")])


def _part(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"### {title}", "", *lines])


def _changed(name: str, changes: Sequence[Change]) -> Iterator[str]:
    yield f"- {code_span(printable(name))}"
    yield from _lines(changes, "    ")


def _lines(changes: Sequence[Change], indent: str) -> Iterator[str]:
    """A line for each change, those that break something first."""
    for change in sorted(changes, key=lambda change: (BREAKS, NEW_RUN, "").index(_mark(change))):
        sentence = markdown_text(change.sentence(RULES[change.rule].sentence))
        yield indent + " ".join(filter(None, ["-", _mark(change), sentence]))


def _mark(change: Change) -> str:
    rule = RULES[change.rule]
    return BREAKS if rule.code == "error" else NEW_RUN if rule.training == "error" else ""


def _tool(snapshot: Snapshot, name: str) -> str:
    """A tool with the first line of its description."""
    text = str(snapshot.offers[name].specs[0].get("description") or "").strip().partition("\n")[0]
    return f"- {code_span(printable(name))}" + (f": {_plain(printable(text))}" if text else "")


def _plain(text: str) -> str:
    """Text of a server, in which backticks are none of ours, either."""
    return markdown_text(text.replace("`", "'"))
