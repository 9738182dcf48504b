"""The snapshot: a server's tools, verbatim, as an immutable value and as a file.

The file is canonical JSON (sorted by wire name, fixed key order, one trailing newline) without a clock, a
host-dependent path, a key or a secret, so the same environment gives the same bytes on every machine. Its digest is a
SHA-256 of everything else in it, except the number of tasks; a file that was edited by hand is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

from orl_codegen.errors import UNSEEN, SnapshotError, json_escape, printable
from orl_codegen.schema.json_values import canonical

FORMAT = 1

JSONObject = Mapping[str, Any]

T = TypeVar("T")


@dataclass(frozen=True)
class TaskTool:
    """One spec of a task tool, verbatim, and the probed tasks that offered exactly this spec.

    A name has several entries if tasks give it different specs.
    """

    spec: JSONObject
    tasks: tuple[int, ...]


@dataclass(frozen=True)
class Offer:
    """All specs of one name: those of `/tools`, and those of single tasks."""

    shared: tuple[JSONObject, ...]
    task_tools: tuple[TaskTool, ...]

    @property
    def specs(self) -> tuple[JSONObject, ...]:
        """The specs alone, shared ones first."""
        return (*self.shared, *(entry.spec for entry in self.task_tools))


@dataclass(frozen=True)
class Snapshot:
    """What the server offers.

    Attributes:
        target: Catalog name, URL without user-info, or `path/to/server.py:Class` / `package.module:Class`.
        variant: The environment on the server, as its paths spell it (`/<variant>/tools`).
        split: The split whose tasks were probed.
        splits: `{"name": ..., "type": ...}` for each split, as `/splits` returns them.
        probed: Indices of the tasks that were opened, ascending; empty if task tools were not requested.
        tools: The specs that `/tools` returns, verbatim, sorted by name.
        task_tools: What `/task_tools` of the probed tasks returns beyond `tools`, sorted by name.
        terminal_tool: `{"name", "arg", "description"}`, or None.
        supports_score_group: Whether the environment offers group scoring.
        toolset: The built-in toolset that the probe sessions were opened with, or None.
        unprobed: Tasks whose probe failed under `--allow-partial`.
        num_tasks: How many tasks each split has; without those whose number is not known. An environment may grow every
            day, and its adapter stays the same: so the digest, which the module states, does not cover them.
    """

    target: str
    variant: str
    split: str
    tools: tuple[JSONObject, ...]
    splits: tuple[JSONObject, ...] = ()
    probed: tuple[int, ...] = ()
    task_tools: tuple[TaskTool, ...] = ()
    terminal_tool: JSONObject | None = None
    supports_score_group: bool = False
    toolset: str | None = None
    unprobed: tuple[int, ...] = field(default=())
    num_tasks: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    @cached_property
    def digest(self) -> str:
        """`sha256:` and the hex digest of the content of the snapshot."""
        return _digest(_content(self))

    @cached_property
    def offers(self) -> Mapping[str, Offer]:
        """What is offered under each wire name, sorted by it."""
        shared: dict[str, list[JSONObject]] = {}
        task_tools: dict[str, list[TaskTool]] = {}
        for spec in self.tools:
            shared.setdefault(spec["name"], []).append(spec)
        for entry in self.task_tools:
            task_tools.setdefault(entry.spec["name"], []).append(entry)
        names = sorted(shared.keys() | task_tools.keys())
        return {name: Offer(tuple(shared.get(name, ())), tuple(task_tools.get(name, ()))) for name in names}


def dump(snapshot: Snapshot) -> str:
    """The snapshot as the text of its file. What could fool whoever reviews it stands escaped: controls, bidi marks,
    what takes no room."""
    content = _content(snapshot)
    counts = {"num_tasks": dict(snapshot.num_tasks)} if snapshot.num_tasks else {}
    whole = {"format": FORMAT, "digest": _digest(content), **counts, **content}
    text = json.dumps(whole, indent=2, ensure_ascii=False)
    return UNSEEN.sub(lambda found: json_escape(found[0]), text) + "\n"


def load(text: str, name: str = "the snapshot") -> Snapshot:
    """Read the text of a snapshot file; `name` identifies it in errors.

    Raises:
        SnapshotError: The text is not a snapshot, has another format version, or does not match its digest.
    """
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"{name} is not a snapshot: {printable(error)}. Generate it again.") from None
    if not isinstance(whole, dict) or "format" not in whole:
        raise SnapshotError(f"{name} is not a snapshot of orl-codegen: it has no `format`. Generate it again.")
    if whole.pop("format") != FORMAT:
        raise SnapshotError(
            f"{name} has a format that this version of orl-codegen cannot read (it reads {FORMAT}). "
            "Generate it again, or install the version that wrote it."
        )
    digest, counts = whole.pop("digest", None), whole.pop("num_tasks", {})
    if digest != _digest(whole):
        raise SnapshotError(
            f"{name} does not match its digest: it was edited by hand, or a merge went wrong. Generate it again."
        )
    try:
        return replace(_from_content(whole), num_tasks=_counts(counts))
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(f"{name} is not a snapshot: {printable(repr(error))}. Generate it again.") from None


def _content(snapshot: Snapshot) -> dict[str, Any]:
    return {
        **{name: getattr(snapshot, name) for name in _READERS},
        "tools": sorted(snapshot.tools, key=_order),
        "task_tools": [
            {"tasks": entry.tasks, "spec": entry.spec}
            for entry in sorted(snapshot.task_tools, key=lambda entry: _order(entry.spec))
        ],
    }


def _order(spec: JSONObject) -> tuple[str, str]:
    return str(spec["name"]), canonical(spec)


def _from_content(content: Mapping[str, Any]) -> Snapshot:
    return Snapshot(**{name: read(content[name]) for name, read in _READERS.items()})


def _is(kind: type[T], value: object) -> T:
    if type(value) is not kind:  # isinstance would take a bool for an int
        raise TypeError(f"{printable(value, 40)} is not of type {kind.__name__}")
    return value


def _all(kind: type[T], values: object) -> tuple[T, ...]:
    return tuple(_is(kind, value) for value in _is(list, values))


def _text(value: object) -> str:
    return _is(str, value)


def _indices(values: object) -> tuple[int, ...]:
    return _all(int, values)


def _counts(values: object) -> Mapping[str, int]:
    counts = _is(dict, values)
    _all(int, [*counts.values()])
    return MappingProxyType(counts)


def _named(values: object) -> tuple[dict[str, Any], ...]:
    """Objects with a name, which everything that a server lists has."""
    objects = _all(dict, values)
    _all(str, [entry["name"] for entry in objects])
    return objects


def _task_tools(values: object) -> tuple[TaskTool, ...]:
    entries = _all(dict, values)
    return tuple(TaskTool(_named([entry["spec"]])[0], _indices(entry["tasks"])) for entry in entries)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "target": _text,
    "variant": _text,
    "split": _text,
    "splits": _named,
    "toolset": lambda value: None if value is None else _text(value),
    "probed": _indices,
    "unprobed": _indices,
    "terminal_tool": lambda value: None if value is None else _named([value])[0],
    "supports_score_group": lambda value: _is(bool, value),
    "tools": _named,
    "task_tools": _task_tools,
}
"""The fields of a snapshot in the order of the file, each with the function that checks and reads its value."""


def _digest(content: Mapping[str, Any]) -> str:
    # Keys are not sorted here: the order of `properties` is the order in which the model is shown the parameters.
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
