"""The snapshot: what a server said about its tools, verbatim, as an immutable value and as a file.

The file is canonical JSON (sorted by wire name, fixed key order, one trailing newline) without a clock, a
host-dependent path, a key or a secret, so the same environment gives the same bytes on every machine. Its digest is a
SHA-256 over everything else in it; a file that was edited by hand is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from orl_codegen.errors import SnapshotError, printable
from orl_codegen.schema.json_values import canonical

FORMAT = 1

JSONObject = Mapping[str, Any]

T = TypeVar("T")


@dataclass(frozen=True)
class TaskTool:
    """One spec of a task tool, verbatim, and the probed tasks that offered exactly this spec.

    A name stands in several entries where tasks give it different specs.
    """

    spec: JSONObject
    tasks: tuple[int, ...]


@dataclass(frozen=True)
class Snapshot:
    """What the server said.

    Attributes:
        target: Catalog name, URL without user-info, or `path/to/server.py:Class` / `package.module:Class`.
        variant: The environment on the server, as its paths spell it (`/<variant>/tools`).
        split: The split whose tasks were probed.
        splits: `{"name": ..., "type": ...}` for each split, as `/splits` gives them.
        probed: Indices of the tasks that were opened, ascending; empty where task tools were not asked for.
        tools: The specs that `/tools` gives, verbatim, sorted by name.
        task_tools: What `/task_tools` of the probed tasks gives beyond `tools`, sorted by name.
        terminal_tool: `{"name", "arg", "description"}`, or None.
        supports_score_group: Whether the environment offers group scoring.
        toolset: The built-in toolset that the probe sessions were opened with, or None.
        unprobed: Tasks whose probe failed under `--allow-partial`.
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

    @property
    def digest(self) -> str:
        """`sha256:` and the hex digest of everything the snapshot says."""
        return _digest(_content(self))


def dump(snapshot: Snapshot) -> str:
    """The snapshot as the text of its file."""
    content = _content(snapshot)
    whole = {"format": FORMAT, "digest": _digest(content), **content}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def load(text: str, name: str = "the snapshot") -> Snapshot:
    """Read the text of a snapshot file back; `name` says where it came from in errors.

    Raises:
        SnapshotError: The text is no snapshot, has another format version, or does not match its digest.
    """
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"{name} is no snapshot: {printable(error)}. Generate it again.") from None
    if not isinstance(whole, dict) or "format" not in whole:
        raise SnapshotError(f"{name} is no snapshot of orl-codegen: it has no `format`. Generate it again.")
    if whole.pop("format") != FORMAT:
        raise SnapshotError(
            f"{name} has a format that this version of orl-codegen does not read (it reads {FORMAT}). "
            "Generate it again, or install the version that wrote it."
        )
    digest = whole.pop("digest", None)
    if digest != _digest(whole):
        raise SnapshotError(
            f"{name} does not match its digest: it was edited by hand, or a merge went wrong. Generate it again."
        )
    try:
        return _from_content(whole)
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(f"{name} is no snapshot: {printable(repr(error))}. Generate it again.") from None


def _content(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "target": snapshot.target,
        "variant": snapshot.variant,
        "split": snapshot.split,
        "splits": list(snapshot.splits),
        "toolset": snapshot.toolset,
        "probed": list(snapshot.probed),
        "unprobed": list(snapshot.unprobed),
        "terminal_tool": snapshot.terminal_tool,
        "supports_score_group": snapshot.supports_score_group,
        "tools": sorted(snapshot.tools, key=lambda spec: (str(spec["name"]), canonical(spec))),
        "task_tools": [
            {"tasks": list(entry.tasks), "spec": entry.spec}
            for entry in sorted(snapshot.task_tools, key=lambda entry: (str(entry.spec["name"]), canonical(entry.spec)))
        ],
    }


def _from_content(content: Mapping[str, Any]) -> Snapshot:
    terminal = content["terminal_tool"]
    return Snapshot(
        target=_is(str, content["target"]),
        variant=_is(str, content["variant"]),
        split=_is(str, content["split"]),
        splits=_named(content["splits"]),
        toolset=None if content["toolset"] is None else _is(str, content["toolset"]),
        probed=_all(int, content["probed"]),
        unprobed=_all(int, content["unprobed"]),
        terminal_tool=None if terminal is None else _named([terminal])[0],
        supports_score_group=_is(bool, content["supports_score_group"]),
        tools=_named(content["tools"]),
        task_tools=tuple(
            TaskTool(_named([entry["spec"]])[0], _all(int, entry["tasks"]))
            for entry in _all(dict, content["task_tools"])
        ),
    )


def _is(kind: type[T], value: object) -> T:
    if type(value) is not kind:  # a bool is no int here
        raise TypeError(f"{printable(value, 40)} is no {kind.__name__}")
    return value


def _all(kind: type[T], values: object) -> tuple[T, ...]:
    return tuple(_is(kind, value) for value in _is(list, values))


def _named(values: object) -> tuple[dict[str, Any], ...]:
    """Objects that say what they are called, as all do that a server lists."""
    objects = _all(dict, values)
    _all(str, [entry["name"] for entry in objects])
    return objects


def _digest(content: Mapping[str, Any]) -> str:
    # Keys are not sorted here: the order of `properties` is the order in which the model is shown the parameters.
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
