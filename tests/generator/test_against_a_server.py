"""End to end, for every tool of every golden case: a real server, its snapshot, the module, the calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from transformers.utils import get_json_schema

from orl_codegen import OpenRewardSpec
from orl_codegen.generator.options import Job, Options
from orl_codegen.generator.pipeline import Adapter, generate
from orl_codegen.generator.target import parse_target
from tests.generator import golden
from tests.support.environments import environment
from tests.support.servers import running


def specs() -> list[dict[str, Any]]:
    """Every spec that is not refused, each name once; a server of the SDK needs all three keys."""
    cases = [case for case in golden.CASES if not case.startswith(("refused", "left-out"))]
    by_name = {
        spec["name"]: spec
        for case in cases
        for spec in golden.read(case)["tools"]
        if spec.get("input_schema") is not True
    }
    return [{"description": "", "input_schema": None, **spec} for spec in by_name.values()]


def made(url: str) -> Adapter:
    """The adapter of the server at `url`, verified but not written."""
    (adapter,) = generate([Job(parse_target(url), Options())], Path())
    return adapter


def test_every_tool_of_a_real_server_is_bound_described_and_called() -> None:
    """The model is offered the server's names, and each call reaches the server with exactly its arguments."""
    with running(environment(specs(), name="Everything")) as server:
        adapter = made(server.url)
        contract = adapter.contract
        rollout = OpenRewardSpec(golden.adapter_of(adapter.module, contract)).environment_factory()
        rollout.reset(task_index=0)
        assert {tool.wire_name for tool in contract.tools} == {spec["name"] for spec in specs()}
        for tool in contract.tools:
            method = getattr(rollout, tool.name)
            assert get_json_schema(method)["function"]["name"] == tool.wire_name
            values = {parameter.name: {"value": i} for i, parameter in enumerate(tool.parameters)}
            assert json.loads(method(**values)) == {p.key: values[p.name] for p in tool.parameters}
        rollout._close()
        assert server.wait_for_sessions(0) == 0
