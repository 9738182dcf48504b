"""The table of cases: one line of `cases.jsonl` each, with an old side, a new side, and every finding to expect."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orl_codegen.generator.snapshot import Snapshot, TaskTool


@dataclass(frozen=True)
class Case:
    """`findings` holds the rule and the JSON pointer of each finding, sorted."""

    name: str
    old: Snapshot
    new: Snapshot
    findings: list[tuple[str, str]]

    @property
    def rules(self) -> set[str]:
        """The rules that fire."""
        return {rule for rule, _ in self.findings}


def cases() -> list[Case]:
    """The whole table. The two sides of a line have the shortest form that shows how they differ.

    `snapshot`: what it says beyond an empty snapshot; `tool`: the spec of one tool, named `act` by default;
    `parameters`: the properties of that tool, required if they end in `!`; `x`: the schema of its only parameter.
    """
    lines = (Path(__file__).parent / "cases.jsonl").read_text("utf-8").splitlines()
    return [_case(json.loads(line)) for line in lines]


def _case(line: Mapping[str, Any]) -> Case:
    form = next(form for form in FORMS if form in line)
    old, new = (FORMS[form](side) for side in line[form])
    findings = [
        (rule, path)
        for rule, paths in line["fires"].items()
        for path in (paths if isinstance(paths, list) else [paths])
    ]
    return Case(line["case"], old, new, sorted(findings))


def snapshot(content: Mapping[str, Any]) -> Snapshot:
    """A snapshot that says only what `content` says."""
    values: dict[str, Any] = {
        "target": "http://127.0.0.1:8000",
        "variant": "env",
        "split": "train",
        "tools": (),
        **content,
    }
    tasks = tuple(TaskTool(entry["spec"], tuple(entry["tasks"])) for entry in values.pop("task_tools", ()))
    lists: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return Snapshot(**lists, task_tools=tasks)


def tool(spec: Mapping[str, Any]) -> Snapshot:
    """A snapshot with one tool."""
    return snapshot({"tools": [{"name": "act", **spec}]})


def parameters(properties: Mapping[str, Any]) -> Snapshot:
    """A snapshot with one tool that takes these parameters."""
    named = {name.removesuffix("!"): schema for name, schema in properties.items()}
    required = [name[:-1] for name in properties if name.endswith("!")]
    return tool({"input_schema": {"type": "object", "properties": named, "required": required}})


FORMS: dict[str, Callable[[Any], Snapshot]] = {
    "snapshot": snapshot,
    "tool": tool,
    "parameters": parameters,
    "x": lambda schema: parameters({"x": schema}),
}
