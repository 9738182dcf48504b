"""The golden cases: for each kind of input that breaks adapters, the module and what the model sees of it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orl_codegen.generator.contract.contract import Contract, Tool
from orl_codegen.generator.output.reading import shown_tools
from orl_codegen.generator.output.rendering import render
from orl_codegen.generator.output.verification import audit, type_check
from orl_codegen.runtime import RolloutAdapter
from orl_codegen.runtime.vocabulary import ToolInfo, bound_tools
from tests.generator import golden

ROOT = Path(__file__).parents[2]

ACCEPTED = [case for case in golden.CASES if not (golden.FOLDER / case / "error.txt").exists()]


@pytest.mark.parametrize("case", golden.CASES)
def test_a_case_produces_its_golden_files(case: str) -> None:
    """The module, the schema that the model sees, and the report or refusal are as reviewed (`make golden`)."""
    folder = golden.FOLDER / case
    committed = {path.name: path.read_text("utf-8") for path in folder.iterdir() if path.name != "case.json"}
    assert dict(golden.outcome(case)) == committed


@pytest.mark.parametrize("case", ACCEPTED)
def test_every_method_sends_exactly_what_it_was_given(case: str) -> None:
    """A call with all arguments sends all wire keys; one with only the required ones sends only those; null is sent."""
    made = golden.contract(golden.read(case))
    for tool, adapter in _adapters(made):
        method = getattr(adapter, tool.name)
        for given in (tool.parameters, [p for p in tool.parameters if p.required]):
            values = {parameter.name: [i] for i, parameter in enumerate(given)}
            assert method(**values) == (tool.wire_name, {p.key: values[p.name] for p in given})
        nulls = {parameter.name: None for parameter in tool.parameters}
        assert method(**nulls) == (tool.wire_name, {p.key: None for p in tool.parameters})


@pytest.mark.parametrize("case", ACCEPTED)
def test_every_tool_is_one_that_trl_finds(case: str) -> None:
    """TRL lists the public functions of the class: they are exactly the tools, each under its wire name."""
    made = golden.contract(golden.read(case))
    adapter = golden.adapter_of((golden.FOLDER / case / "adapter.py").read_text("utf-8"), made)
    assert sorted(golden.tools_of(adapter)) == sorted(tool.wire_name for tool in made.tools)
    marks = {tool.wire_name: {p.name: p.key for p in tool.parameters if p.name != p.key} for tool in made.tools}
    assert {name: found.__tool__ for name, found in bound_tools(adapter).items()} == {
        name: ToolInfo(name, aliases) for name, aliases in marks.items()
    }


@pytest.mark.parametrize("case", ACCEPTED)
def test_a_module_is_read_back_under_wire_names(case: str) -> None:
    """Read as text, a module shows the tools of its contract, under a bare `@tool` and under one with a name."""
    made = golden.contract(golden.read(case))
    assert [tool.name for tool in shown_tools(_module(case))] == [tool.wire_name for tool in made.tools]


def test_the_golden_modules_type_check() -> None:
    """mypy --strict accepts every golden module."""
    type_check({f"{case.replace('-', '_')}.py": _module(case) for case in ACCEPTED})


def test_pyright_accepts_the_modules(tmp_path: Path) -> None:
    """Pyright, in strict mode, accepts every golden module and the committed adapters of the bundled environments."""
    for case in ACCEPTED:
        (tmp_path / f"{case.replace('-', '_')}.py").write_text(_module(case), "utf-8")
    for path in (ROOT / "generated").glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text("utf-8"), "utf-8")
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "pythonVersion": "3.11"}')
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--project", str(tmp_path)]
    report = subprocess.run(command, capture_output=True, text=True, check=False)
    assert report.returncode == 0, report.stdout


@pytest.mark.parametrize("case", ACCEPTED)
def test_the_golden_modules_hold_only_what_the_contract_says(case: str) -> None:
    """As syntax, a golden module has the statements of its contract and nothing else."""
    audit(_module(case), golden.contract(golden.read(case)))


def test_calls_that_a_case_spells_out() -> None:
    """An empty list and an explicit null are sent; an omitted argument is not."""
    made = golden.contract(golden.read("limits-and-defaults"))
    ((_, adapter),) = _adapters(made)
    assert adapter.measure(name="x", tags=[]) == ("measure", {"name": "x", "tags": []})
    assert adapter.measure(name="x", at=None) == ("measure", {"name": "x", "at": None})


def _module(case: str) -> str:
    return (golden.FOLDER / case / "adapter.py").read_text("utf-8")


def _adapters(made: Contract) -> list[tuple[Tool, Any]]:
    """Each tool with an instance of the adapter whose calls return what they would send."""
    from orl_codegen.runtime import UNSET

    adapter = golden.adapter_of(render(made, "adapter"), made)

    def sent(self: RolloutAdapter, name: str, input: dict[str, Any]) -> Any:
        return name, {key: value for key, value in input.items() if value is not UNSET}

    recording = type("Recording", (adapter,), {"_call": sent, "__init__": lambda self: None, "_session": None})
    assert inspect.isclass(recording)
    return [(tool, recording()) for tool in made.tools]
