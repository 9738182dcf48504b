"""The first session's tools are compared with the adapter, and the trainer hears of it where it listens."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import SchemaDrift, SessionError
from orl_codegen.generator.contract.contract import build
from orl_codegen.generator.output.rendering import render
from orl_codegen.generator.snapshot import Snapshot, TaskTool, dump
from orl_codegen.ors import limits
from orl_codegen.runtime.agreement import check_fit
from tests.runtime import adapters
from tests.support.environments import environment, spec
from tests.support.servers import RunningServer, running

SEARCH = spec("search", query={"type": "string"})
OVEN = spec("oven", celsius={"type": "integer"})


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A generated adapter beside its snapshot: a shared tool, and a tool of one task."""
    tools: Any = ({**SEARCH, "input_schema": {**SEARCH["input_schema"], "required": []}},)
    snapshot = Snapshot("http://127.0.0.1:1", "made", "train", tools, task_tools=(TaskTool(OVEN, (1,)),), probed=(0, 1))
    (tmp_path / "drifting.json").write_text(dump(snapshot))
    (tmp_path / "drifting.py").write_text(render(build(snapshot), "drifting"))
    monkeypatch.syspath_prepend(tmp_path)
    yield __import__("drifting").Made
    del sys.modules["drifting"]


def optional(tool: dict[str, Any], **properties: Any) -> dict[str, Any]:
    """A spec with parameters that may be left out."""
    schema = tool["input_schema"]
    return {**tool, "input_schema": {**schema, "properties": schema["properties"] | properties, "required": []}}


def reset(adapter: Any, tools: list[Any], **options: Any) -> str:
    """Reset once in an environment with these tools."""
    with running(environment(tools)) as server:
        rollout = OpenRewardSpec(adapter, base_url=server.url, **options).environment_factory()
        try:
            return str(rollout.reset())
        finally:
            rollout._close()
            assert server.wait_for_sessions(0) == 0


def test_an_environment_that_is_as_it_was(generated: Any, caplog: pytest.LogCaptureFixture) -> None:
    """No word. That the first task lacks another task's tool is not a difference."""
    reset(generated, [optional(SEARCH)])
    assert "differs" not in caplog.text


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ([OVEN], "the tool search is gone"),
        ([SEARCH], "the parameter query of search is required now"),
        ([spec("search", query={}, since={})], "the parameter since of search is required now"),
    ],
)
def test_calls_that_would_be_refused(generated: Any, tools: list[Any], expected: str) -> None:
    """Training stops before it starts, with the command that fixes it, and no session stays open."""
    with pytest.raises(SchemaDrift, match=f"{expected}.*orl-codegen generate http://127.0.0.1:1"):
        reset(generated, tools)


def test_without_verification(generated: Any) -> None:
    """`verify=False` looks at nothing."""
    assert reset(generated, [OVEN], verify=False).startswith("Task")


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ([optional(SEARCH), spec("fly")], "fly is new"),
        ([optional(SEARCH, since={})], "search has changed"),
        ([optional({**SEARCH, "description": "Does another thing."})], "search has changed"),
    ],
)
def test_what_does_no_harm_is_a_warning(
    generated: Any, tools: list[Any], expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One line, once, though every session could say it."""
    with running(environment(tools)) as server:
        factory = OpenRewardSpec(generated, base_url=server.url).environment_factory
        for rollout in (factory(), factory()):
            rollout.reset()
            rollout._close()
        assert server.paths().count("GET /made/task_tools") == 1
    assert caplog.text.count("differs from its environment") == 1
    assert f"{expected}. Generate it again" in caplog.text


def test_sessions_that_open_at_the_same_time_say_it_once(generated: Any, caplog: pytest.LogCaptureFixture) -> None:
    """As they do while the prompts are fetched into the dataset; each task is asked about once."""
    with running(environment([optional(SEARCH), spec("fly")])) as server:
        OpenRewardSpec(generated, base_url=server.url, prompts="dataset", indices=[0, 1, 2] * 5).train_dataset  # noqa: B018
        assert server.paths().count("GET /made/task_tools") == 3
    assert caplog.text.count("differs from its environment") == 1


def test_a_session_that_does_not_open_leaves_the_comparison_to_the_next(server: RunningServer) -> None:
    """It has listed no tools that could be compared."""
    rollout = OpenRewardSpec(adapters.Echo, base_url=server.url).environment_factory()
    for index in (10_000, 0, 0):
        with contextlib.suppress(SessionError):
            rollout.reset(task_index=index)
    assert server.paths().count("GET /echo/task_tools") == 1
    rollout._close()


def test_tools_that_could_not_be_listed_for_a_moment_are_asked_for_again(generated: Any) -> None:
    """An exception in the environment leaves one session without them, and not the whole run."""

    class Made(environment([optional(SEARCH)])):  # type: ignore[misc]
        refusals = 1

        def list_task_tools(self) -> Any:
            type(self).refusals -= 1
            if self.refusals >= 0:
                raise RuntimeError("not yet")
            return super().list_task_tools()

    with running(Made) as server:
        rollout = OpenRewardSpec(generated, base_url=server.url).environment_factory()
        for _ in range(3):
            rollout.reset(task_index=0)
        assert server.paths().count("GET /made/task_tools") == 2
        assert str(rollout.oven(celsius=180)).startswith("Error: oven was not called: this task does not offer it.")
        rollout._close()


def test_without_a_snapshot_a_missing_tool_may_belong_to_another_task(generated: Any, tmp_path: Path) -> None:
    """A parameter that became required is found all the same."""
    (tmp_path / "drifting.json").unlink()
    assert reset(generated, [OVEN]).startswith("Task")
    with pytest.raises(SchemaDrift, match="required now"):
        reset(generated, [SEARCH])


def test_a_snapshot_of_something_else_is_not_believed(generated: Any, tmp_path: Path) -> None:
    """Its digest is not the one that the adapter names."""
    other = json.loads((tmp_path / "drifting.json").read_text())
    (tmp_path / "drifting.json").write_text(json.dumps(other | {"digest": "sha256:other"}))
    assert reset(generated, [OVEN]).startswith("Task")


def test_behind_the_first_turn(generated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the prompts in the dataset, the dataset itself finds out."""
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.1)
    with running(environment([OVEN])) as server, pytest.raises(SchemaDrift):
        OpenRewardSpec(generated, base_url=server.url, prompts="dataset", indices=[0]).train_dataset  # noqa: B018


def test_a_million_new_tools_make_no_line_of_thirty_megabytes(caplog: pytest.LogCaptureFixture) -> None:
    """Of the differences, the first twenty are told, and how many more there are."""
    listing = [{"name": name} for name in ("echo", "wait", "step", *map(str, range(100_000)))]
    check_fit(adapters.Echo, listing)
    assert "0 is new; 1 is new; " in caplog.text and "19 is new; and 99,980 more. Generate it again" in caplog.text
    assert len(caplog.text) < 1_000
