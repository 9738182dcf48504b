"""An evaluation that is interrupted leaves no session: in Python, by the command, and where a task is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import inspect_ai
import pytest
from inspect_ai.log import read_eval_log
from inspect_ai.model import get_model

from generated.kitchen import Kitchen
from orl_codegen import OpenRewardSpec
from orl_codegen.environments import kitchen
from orl_codegen.inspect import evaluation
from orl_codegen.inspect.scripted import scripted
from tests.support.applications import hanging
from tests.support.servers import RunningServer, running, serving_application

ROOT = Path(__file__).parents[2]

READS = {"calls": [{"name": "read_recipe", "arguments": {"dish": "risotto"}}]}
TURNS = {"train-0": ["I give up."], "*": [READS]}


class SlowKitchen(kitchen.Kitchen):
    """Reading a recipe takes longer than any test."""

    @classmethod
    def name(cls) -> str:
        """The name of the demo."""
        return "kitchen"

    async def _call_tool(self, name: str, input: Any) -> Any:
        if name == "read_recipe":
            await asyncio.sleep(600)
        return await super()._call_tool(name, input)


@pytest.fixture
def slow() -> Iterator[RunningServer]:
    with running(SlowKitchen) as server:
        yield server


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(TURNS), "utf-8")
    return path


def three_are_called(server: RunningServer) -> bool:
    """Whether one rollout has ended, and the three others wait for a recipe."""
    return server.paths().count("POST /kitchen/call") == len(server.live_sessions) == 3


def interrupt(server: RunningServer, process: int) -> bool:
    """Send a process a SIGINT while three rollouts wait for a recipe; returns whether they did, within a minute."""
    deadline = time.monotonic() + 60
    while not (ready := three_are_called(server)) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process, signal.SIGINT)
    return ready


def test_ctrl_c_in_a_program(slow: RunningServer, script: Path, tmp_path: Path) -> None:
    """Inspect takes Ctrl-C and returns. The program goes on, and no session does."""
    task = evaluation(OpenRewardSpec(Kitchen, base_url=slow.url))
    with ThreadPoolExecutor() as pool:
        interruption = pool.submit(interrupt, slow, os.getpid())
        with contextlib.suppress(KeyboardInterrupt):
            inspect_ai.eval(task, scripted(script), log_dir=str(tmp_path), display="none")
        assert interruption.result()
    assert slow.wait_for_sessions(0) == 0


def test_the_command_says_where_the_finished_rollouts_are(slow: RunningServer, script: Path, tmp_path: Path) -> None:
    """One line, the exit status of an interruption, no session, and a log with the rollout that had ended."""
    module, logs = ROOT / "generated" / "kitchen.py", tmp_path / "logs"
    options = ("--base-url", slow.url, "--split", "train", "--model", f"scripted:{script}", "--log-dir", logs)
    command = [sys.executable, "-m", "orl_codegen", "eval", str(module), *map(str, options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert interrupt(slow, process.pid)
    output, errors = process.communicate(timeout=30)
    assert (process.returncode, output) == (130, "")
    assert errors == f"orl-codegen: interrupted; what was finished is in the logs in {logs}.\n"
    assert slow.live_sessions == []
    (log,) = logs.iterdir()
    assert "train-0" in [sample.id for sample in read_eval_log(str(log)).samples or () if sample.error is None]


def cancelled(server: RunningServer, model: Any, folder: Path, when: Any) -> None:
    """Cancel an evaluation in an event loop, once the server says so."""
    task = evaluation(OpenRewardSpec(Kitchen, base_url=server.url))

    async def play() -> None:
        playing = asyncio.create_task(inspect_ai.eval_async(task, model, log_dir=str(folder)))
        async with asyncio.timeout(30):
            while not when() and not playing.done():
                await asyncio.sleep(0.02)
        assert when()
        playing.cancel()
        await asyncio.wait([playing], timeout=30)
        assert playing.done()

    asyncio.run(play())


def test_a_cancelled_task_leaves_no_session_in_a_call(slow: RunningServer, script: Path, tmp_path: Path) -> None:
    """Three rollouts wait for a tool when the task is cancelled."""
    cancelled(slow, scripted(script), tmp_path, lambda: three_are_called(slow))
    assert slow.wait_for_sessions(0) == 0


def test_nor_while_the_model_writes(slow: RunningServer, tmp_path: Path) -> None:
    """Four rollouts wait for a model that never answers."""
    with serving_application(hanging()) as model_server:
        model = get_model("openai-api/local/x", base_url=f"{model_server.url}/v1", api_key="none", memoize=False)
        cancelled(slow, model, tmp_path, lambda: len(model_server.requests) == len(slow.live_sessions) == 4)
    assert slow.wait_for_sessions(0) == 0
