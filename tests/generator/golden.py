"""Golden cases: a folder holds the answers of a server (`case.json`) and everything that is made of them.

`adapter.py` is the module, `visible.json` what `get_json_schema` shows the model of it, `notes.txt` the report, and
`error.txt` the message if the case is refused. `make golden` runs this module, which writes all of them again; the
difference is reviewed like any other.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orl_codegen.errors import OrlCodegenError
from orl_codegen.generator.contract.contract import Contract, build
from orl_codegen.generator.output.rendering import render
from orl_codegen.generator.snapshot import Snapshot, TaskTool
from orl_codegen.runtime import RolloutAdapter

FOLDER = Path(__file__).parents[1] / "golden"

CASES = sorted(path.name for path in FOLDER.iterdir() if (path / "case.json").is_file())


def read(case: str) -> dict[str, Any]:
    """The content of `case.json`."""
    read: dict[str, Any] = json.loads((FOLDER / case / "case.json").read_text("utf-8"))
    return read


def snapshot(case: dict[str, Any]) -> Snapshot:
    """The snapshot of a server that answers like the case."""
    return Snapshot(
        target="http://127.0.0.1:8080",
        variant="golden",
        split="train",
        tools=tuple(case["tools"]),
        probed=tuple(case.get("probed", ())),
        task_tools=tuple(TaskTool(entry["spec"], tuple(entry["tasks"])) for entry in case.get("task_tools", ())),
        terminal_tool=case.get("terminal_tool"),
        supports_score_group=case.get("supports_score_group", False),
    )


def contract(case: dict[str, Any]) -> Contract:
    """The contract of a case; raises the error that it is refused with."""
    return build(snapshot(case), allow_partial=case.get("allow_partial", False))


def module(name: str) -> str:
    """The text of the module of a case."""
    return render(contract(read(name)), name.replace("-", "_"))


def loaded(source: str, name: str = "golden_adapter") -> types.ModuleType:
    """Import the text of a module."""
    module = types.ModuleType(name)
    sys.modules[name] = module  # `get_type_hints` looks names up there
    exec(compile(source, f"<{name}>", "exec", dont_inherit=True), module.__dict__)
    return module


def adapter_of(source: str, contract: Contract) -> type[RolloutAdapter]:
    """The adapter class in the text of a module."""
    adapter: type[RolloutAdapter] = getattr(loaded(source), contract.class_name)
    return adapter


def tools_of(adapter: type[RolloutAdapter]) -> dict[str, Any]:
    """The functions that TRL would treat as tools, by name."""
    import inspect

    members = inspect.getmembers(adapter, inspect.isfunction)
    return {
        function.__name__: function
        for name, function in members
        if name not in ("reset", "get_reward") and not name.startswith("_")
    }


def outcome(name: str) -> Iterator[tuple[str, str]]:
    """The files that a case produces, by name."""
    from transformers.utils import get_json_schema

    try:
        made = contract(read(name))
    except OrlCodegenError as error:
        yield "error.txt", f"{type(error).__name__}: {error}\n"
        return
    source = render(made, name.replace("-", "_"))
    tools = tools_of(adapter_of(source, made))
    visible = [get_json_schema(tools[tool.wire_name]) for tool in made.tools]
    yield "adapter.py", source
    yield "visible.json", json.dumps(visible, indent=2, ensure_ascii=True) + "\n"
    yield "notes.txt", "".join(f"{note.kind}: {note.tool}: {note.message}\n" for note in made.notes)


def main() -> None:
    """Write every file of every case again."""
    for name in CASES:
        folder = FOLDER / name
        for path in folder.iterdir():
            if path.name != "case.json":
                path.unlink()
        for file, text in outcome(name):
            (folder / file).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
