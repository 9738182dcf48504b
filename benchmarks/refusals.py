"""What the fidelity buys: how many of the calls that a model makes by what it is shown does a real server refuse?

    make fidelity

Three ways of showing a tool to the model and of calling it: a generated adapter, TRL's run-time binder, and the
vendor's bridge to Inspect (PyPI: inspect-openreward). For each, a model that obeys exactly what it is shown
(`reader.py`) draws calls, which go through the same code as a model's would, and what that sends is called on an
openreward server that checks the input against the tool's own schema. A tool that is not shown cannot be called; such
tools are counted apart.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import fidelity
from benchmarks.reader import Reader
from orl_codegen.ors.endpoint import Endpoint
from orl_codegen.ors.outputs import CallRefused
from orl_codegen.runtime import UNSET
from orl_codegen.schema.expansion import expand
from orl_codegen.sessions.handle import SessionHandle
from orl_codegen.sessions.slots import Slots
from orl_codegen.standin.inputs import Inputs
from tests.support.environments import environment
from tests.support.servers import running

Spec = dict[str, Any]
Input = dict[str, Any]

CALLS = 10  # of each tool
SEED = 7


class NotSent(Exception):
    """The binder has refused the call itself."""


@dataclass(frozen=True)
class Bound:
    """A tool as one of the binders has it.

    Attributes:
        shown: What the model is shown.
        send: What is sent for arguments that the model wrote; raises `NotSent`.
    """

    shown: dict[str, Any]
    send: Callable[[Input], Input]


@dataclass(frozen=True)
class Refused:
    """How the calls of one binder went.

    Attributes:
        tools: How many tools there are.
        bound: How many of these the model is shown.
        calls: How many calls it made.
        refused: How many of them were not carried out.
    """

    tools: int
    bound: int
    calls: int
    refused: int


def adapters(specs: Sequence[Spec]) -> list[Bound | None]:
    """The tools of generated adapters."""
    from transformers.utils import get_json_schema

    bound: list[Bound | None] = [None] * len(specs)
    for group in fidelity.environments(specs):
        adapter, tools = fidelity.generated([specs[i] for i in group])
        for i in group:
            method = tools[specs[i]["name"]]
            bound[i] = Bound(get_json_schema(method), _adapters_input(adapter, method))
    return bound


def _adapters_input(adapter: type[Any], method: Callable[..., Any]) -> Callable[[Input], Input]:
    def send(arguments: Input) -> Input:
        sent: list[Input] = []
        instance = adapter.__new__(adapter)
        instance._call = lambda name, input: sent.append(input)
        instance._count = lambda problem: None
        try:
            method(instance, **arguments)
        except TypeError as error:
            raise NotSent from error
        return {key: value for key, value in sent[0].items() if value is not UNSET}

    return send


def trl(specs: Sequence[Spec]) -> list[Bound | None]:
    """The tools of TRL's run-time binder."""
    return [_of_trl(spec, shown) for spec, shown in zip(specs, fidelity.trl(specs), strict=True)]


def _of_trl(spec: Spec, shown: dict[str, Any] | None) -> Bound | None:
    from trl.experimental.openreward.environment import _bind_tool_method

    if shown is None:
        return None
    sent: list[Input] = []
    kind = type("Adapter", (), {"_call_ors_tool": lambda self, name, input: sent.append(input)})
    _bind_tool_method(kind, {**spec, "input_schema": spec.get("input_schema") or {}})

    def send(arguments: Input) -> Input:
        sent.clear()
        try:
            getattr(kind(), spec["name"])(**arguments)
        except TypeError as error:
            raise NotSent from error
        return sent[0]

    return Bound(shown, send)


def bridge(specs: Sequence[Spec]) -> list[Bound | None]:
    """The tools of the vendor's bridge, as it makes them for an OpenAI-compatible model."""
    return [_of_bridge(spec) for spec in specs]


def _of_bridge(spec: Spec) -> Bound | None:
    from inspect_ai.tool import ToolDef
    from inspect_openreward import openreward_tool_to_inspect
    from openreward import ToolSpec

    session = _Session()
    try:
        wire = ToolSpec(spec["name"], str(spec.get("description") or ""), spec.get("input_schema"))
        tool = ToolDef(openreward_tool_to_inspect(wire, session, "openai"))
        shown = tool.parameters.model_dump(exclude_none=True)
    except Exception:  # it raises many kinds for schemas that Inspect's models cannot hold
        return None
    return Bound({"function": {"name": tool.name, "parameters": shown}}, _bridges_input(tool, session))


class _Session:
    """Keeps what the bridge would send."""

    def __init__(self) -> None:
        self.sent: Input = {}

    async def call_tool(self, name: str, input: Input) -> Any:
        self.sent = input
        return type("Output", (), {"blocks": []})


def _bridges_input(tool: Any, session: _Session) -> Callable[[Input], Input]:
    import asyncio

    from jsonschema import Draft7Validator

    validator = Draft7Validator(tool.parameters.model_dump(exclude_none=True))  # as Inspect does before each call

    def send(arguments: Input) -> Input:
        if not validator.is_valid(arguments):
            raise NotSent
        asyncio.run(tool.tool(**arguments))
        return session.sent

    return send


BINDERS: Mapping[str, Callable[[Sequence[Spec]], list[Bound | None]]] = {
    "TRL": trl,
    "inspect-openreward": bridge,
    "orl-codegen": adapters,
}


def measure(specs: Sequence[Spec], calls: int = CALLS, seed: int = SEED) -> dict[str, Refused]:
    """How the calls of each binder go."""
    found = {}
    with serving(specs) as call:
        for name, bind in BINDERS.items():
            bound = bind(specs)
            outcomes = [
                carried_out(call, i, each, Reader(each.shown, random.Random(f"{seed} {i} {number}")), specs[i])
                for i, each in enumerate(bound)
                if each is not None
                for number in range(calls)
            ]
            there = sum(each is not None for each in bound)
            found[name] = Refused(len(specs), there, len(outcomes), outcomes.count(False))
    return found


def carried_out(call: Callable[[int, Input], bool], i: int, bound: Bound, reader: Reader, spec: Spec) -> bool:
    """Whether a call that the reader draws reaches the server, and is carried out there."""
    arguments = reader.arguments(expand(spec.get("input_schema"), spec["name"]))
    try:
        return call(i, bound.send(arguments))
    except NotSent:
        return False


@contextmanager
def serving(specs: Sequence[Spec]) -> Iterator[Callable[[int, Input], bool]]:
    """Serve specs on an openreward server; yields a function that calls one by its index, and says whether the call was
    carried out."""
    groups = fidelity.environments(specs)
    classes = [_checking([specs[i] for i in group], f"Group{number}") for number, group in enumerate(groups)]
    with running(*classes) as server:
        sessions: dict[int, SessionHandle] = {}
        for number, group in enumerate(groups):
            name = f"group{number}"
            handle = SessionHandle(Endpoint(server.url, name, name), {"split": "train", "index": 0}, slots=Slots())
            handle.prompt()
            sessions |= dict.fromkeys(group, handle)

        def call(i: int, input: Input) -> bool:
            try:
                sessions[i].call(specs[i]["name"], input)()
            except CallRefused:
                return False
            return True

        try:
            yield call
        finally:
            for handle in sessions.values():
                handle.close_soon()
            server.wait_for_sessions(0)


def _checking(specs: Sequence[Spec], name: str) -> type[Any]:
    """An environment that checks the input of a call against the schema of the tool, as the SDK's server does with
    tools that are written in Python."""
    from openreward.environments import RunToolOutput
    from openreward.environments.types import RunToolError

    inputs = Inputs({spec["name"]: [spec] for spec in specs}, terminal=None)
    served = [{**spec, "description": str(spec.get("description") or ""), "input_schema": None} for spec in specs]
    made: Any = environment(served, name=name)

    class Checking(made):  # type: ignore[misc]
        async def _call_tool(self, name: str, input: Any) -> RunToolOutput:
            problems = inputs.problems(name, input)
            if not problems:
                return await super()._call_tool(name, input)
            return RunToolOutput(RunToolError(error=str(problems), reason="input_validation"))

    Checking.__name__ = Checking.__qualname__ = name
    return Checking


def corpora(files: Sequence[Path]) -> Iterator[tuple[str, list[Spec]]]:
    """The specs of the SDK's toolsets and of the golden cases, or those in files with one spec in a line."""
    if not files:
        yield "toolsets of the SDK", fidelity.toolset_specs()
        yield "golden cases", fidelity.case_specs()
    for path in files:
        yield path.name, [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.refusals", description=__doc__)
    parser.add_argument("files", metavar="FILE.jsonl", nargs="*", type=Path, help="specs, one in a line")
    print("| specs | binder | tools shown | calls | refused | refused or not shown |")
    print("|---|---|---|---|---|---|")
    for title, specs in corpora(parser.parse_args().files):
        for name, found in measure(specs).items():
            print(_row(title, name, found))


def _row(title: str, name: str, found: Refused) -> str:
    share = found.refused / found.calls if found.calls else 0.0
    hidden = (found.tools - found.bound) * CALLS
    lost = (found.refused + hidden) / (found.calls + hidden)
    cells = (title, name, f"{found.bound} of {found.tools}", found.calls, f"{share:.1%}", f"{lost:.1%}")
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
