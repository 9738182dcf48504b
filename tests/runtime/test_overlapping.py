"""Overlapping tool calls: everything is as with TRL's own `GRPOTrainer`, only faster."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trl

from orl_codegen import OpenRewardSpec
from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.trl import GRPOTrainer
from orl_codegen.trl.overlapping import OverlappingToolCalls, overlapping_trainer
from tests.runtime import adapters
from tests.support.grpo import Write, call, play_echo, train
from tests.support.servers import RunningServer


class Played:
    """A step of a trainer: what its rollouts and its log hold, and how long the tools took."""

    def __init__(self, trainer_class: Any, spec: Any, write: Write, folder: Path, **options: Any) -> None:
        self.completions: list[Any] = []
        self.seconds = 0.0

        def reward(completions: list[Any], **columns: Any) -> list[float | None]:
            self.completions.extend(completions)
            return list(spec.reward_funcs(completions=completions, **columns))

        class Timed(trainer_class):  # type: ignore[misc]
            def _tool_call_loop(trainer, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
                began = time.perf_counter()
                try:
                    return super()._tool_call_loop(*args, **kwargs)
                finally:
                    self.seconds = time.perf_counter() - began

        self.trainer = train(spec, write, folder, reward_funcs=reward, trainer_class=Timed, **options)
        self.rollouts = [
            (one.reward, one.rewards, one.metadata, one.finished, one.last_output, one.failure)
            for one in self.trainer.environments
        ]
        self.log = {name: value for name, value in self.trainer.state.log_history[0].items() if _is_steady(name)}
        for rollout in self.trainer.environments:
            rollout._close()


def _is_steady(name: str) -> bool:
    """Whether a metric comes out the same whenever the same thing is played."""
    return name.startswith(("tools/", "completions/", "reward", "environment/", "num_tokens"))


def spec_of(server: RunningServer, adapter: Any = adapters.Echo, **options: Any) -> OpenRewardSpec:
    return OpenRewardSpec(adapter, base_url=server.url, **({"num_tasks": 4} | options))


def both(
    server: RunningServer, write: Any, folder: Path, adapter: Any = adapters.Echo, **options: Any
) -> tuple[Played, Played]:
    """The same step with TRL's trainer and with ours, which must not differ."""
    options = {"batch": 8, "max_completion_length": 1024} | options
    plain, ours = (
        Played(trainer, spec_of(server, adapter), write, folder, **options) for trainer in (trl.GRPOTrainer, GRPOTrainer)
    )
    assert ours.completions == plain.completions
    assert ours.rollouts == plain.rollouts
    assert ours.log == plain.log
    assert ours.trainer._overlaps
    return plain, ours


def turns(*texts: str) -> Write:
    """Writes a text for each turn, then `Done`."""

    def write(prompt: str) -> str:
        turn = prompt.count("<|im_start|>assistant") - 1
        return texts[turn] if turn < len(texts) else "Done"

    return write


def test_calls_of_different_rollouts_overlap(server: RunningServer, tmp_path: Path) -> None:
    """Eight rollouts that wait for half a second each take little longer than one."""
    plain, ours = both(server, turns(call("wait", '{"seconds": 0.5}')), tmp_path)
    assert plain.seconds > 4.0
    assert ours.seconds < 1.2


def test_calls_of_one_rollout_stay_in_order(server: RunningServer, tmp_path: Path) -> None:
    """The server runs these calls concurrently and the first ones take longest, so the notes show the order."""
    numbers = [call("step", f'{{"number": {number}}}') for number in range(6)]
    _, ours = both(server, turns("\n".join(numbers[:4]), "\n".join(numbers[4:])), tmp_path)
    assert {rollout[4] for rollout in ours.rollouts} == {"0 1 2 3 4 5"}
    assert ours.log["tools/call_frequency"] == 6.0


def test_finished_episodes(server: RunningServer, tmp_path: Path) -> None:
    """The calls after the one that ends an episode, in the same turn and in the next, are answered as ever."""

    def write(prompt: str) -> str:
        if prompt.count("<tool_response>") > 2:
            return "Done"
        again = call("step", '{"number": 1}')
        return again if "<tool_response>" in prompt else play_echo(prompt) + again

    _, ours = both(server, write, tmp_path)
    assert all(finished and rewards[0] == 1.0 for _, rewards, _, finished, _, _ in ours.rollouts)
    assert server.paths().count("POST /echo/call") == 2 * 8, "the later calls were not sent"


MALFORMED = [
    call("echo", '{"word": "x"}'),
    call("echo", '{"self": 1}'),
    call("echo", '{"text": "x", "text2": "y"}'),
    call("echo", "{}"),
    call("echo", '["text"]'),
    call("echo", '"text"'),
    call("echo", "null"),
    call("nonsense", '{"text": "x"}'),
    call("reset", "{}"),
    call("_call", '{"name": "echo", "input": {}}'),
]


@pytest.mark.parametrize("malformed", MALFORMED)
def test_calls_that_cannot_be_made(server: RunningServer, tmp_path: Path, malformed: str) -> None:
    """They fail in the same place with the same words, count as failures, and do not reach the server."""
    step = call("step", '{"number": 1}')
    plain, ours = both(server, turns(step + malformed + step), tmp_path, batch=2)
    assert plain.log == ours.log and ours.log["tools/failure_frequency"] == pytest.approx(1 / 3)
    assert server.paths().count("POST /echo/call") == 2 * 2 * 2
    assert {rollout[4] for rollout in ours.rollouts} == {"1 1"}


def test_calls_that_the_server_refuses(server: RunningServer, tmp_path: Path) -> None:
    """The model gets the same explanation, and the rollout goes on."""
    _, ours = both(server, turns(call("step", '{"number": "many"}'), call("step", '{"number": 2}')), tmp_path)
    assert {rollout[4] for rollout in ours.rollouts} == {"2"}


class Trapped(adapters.Echo):
    """An adapter with a tool that raises."""

    def trap(self, number: int) -> str:
        """Raise an exception.

        Args:
            number: What to raise it with.
        """
        raise LookupError(f"{number} for {self._turns!r}"[:5])


def test_exceptions(server: RunningServer, tmp_path: Path) -> None:
    """An exception reaches TRL where it makes the call, and the calls after it are made."""
    step = call("step", '{"number": 1}')
    _, ours = both(server, turns(step + call("trap", '{"number": 12}') + step), tmp_path, adapter=Trapped)
    assert [message["content"] for message in ours.completions[0] if message["role"] == "tool"] == [
        "1",
        "{'error': '12 fo'}",
        "1 1",
    ]


def test_tools_of_others_are_called_by_trl(server: RunningServer, tmp_path: Path) -> None:
    """In the main thread and in their place: an adapter's call after one is not made before it."""
    log: list[tuple[str, bool]] = []

    class Logged(adapters.Echo):
        def note(self) -> str:
            """Take a note."""
            log.append(("note", threading.current_thread() is threading.main_thread()))
            return "noted"

    def look() -> str:
        """Look."""
        log.append(("look", threading.current_thread() is threading.main_thread()))
        return "seen"

    async def listen() -> str:
        """Listen."""
        return "heard"

    write = turns("".join(call(name, "{}") for name in ("listen", "note", "look", "note")), call("note", "{}"))
    _, ours = both(server, write, tmp_path, adapter=Logged, batch=2, tools=[look, listen])
    played = log[len(log) // 2 :]
    assert sorted(played) == sorted(2 * [("note", False), ("look", True), ("note", True), ("note", False)])
    assert [main for name, main in played if name == "note"].count(True) == 2
    told = [message["content"] for message in ours.completions[0] if message["role"] == "tool"]
    assert told == ["noted", "seen", "noted", "heard", "noted"], "TRL adds what is asynchronous at the end of a turn"


def test_results_that_are_too_long(server: RunningServer, tmp_path: Path) -> None:
    """TRL drops such a result, and the call stands last again. It is not made once more in the turns of the others."""
    lengths = iter(8 * [0, 300] + 100 * [0])

    class Padded(adapters.Echo):
        def pad(self, width: int) -> str:
            """Answer with a text of this length.

            Args:
                width: The length.
            """
            made.append(width)
            return "x" * width

    made: list[int] = []

    def write(prompt: str) -> str:
        if prompt.count("<tool_response>") == 2:
            return "Done"
        return call("pad", f'{{"width": {900 * (int(prompt.rpartition("word")[2][0]) % 2)}}}')

    def numbered(prompt: str) -> str:
        number = int(prompt.partition("Echo 'word")[2][0])
        return "Done" if prompt.count("<tool_response>") >= 2 else call("pad", f'{{"width": {900 * (number % 2)}}}')

    both(server, numbered, tmp_path, adapter=Padded, max_completion_length=512)
    assert made.count(900) == 2 * 4 and made.count(0) == 2 * 4 * 2
