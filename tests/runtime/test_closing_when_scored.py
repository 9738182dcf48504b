"""Sessions end once their rollouts are scored: none is held through the optimizer step, or between evaluations."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trl
from transformers import TrainerCallback

from orl_codegen import OpenRewardSpec, combine
from orl_codegen.trl.rewards import last_reward
from tests.runtime import adapters
from tests.support.grpo import call, train
from tests.support.servers import RunningServer

SCORED = "The rollout has been scored, and its session closed: this call was not carried out."


def spec_of(server: RunningServer, adapter: Any = adapters.Echo, **options: Any) -> OpenRewardSpec:
    return OpenRewardSpec(adapter, base_url=server.url, **(options or {"num_tasks": 2}))


def give_up(prompt: str) -> str:
    """Call a tool that ends no episode, then stop."""
    return "Done" if "<tool_response>" in prompt else call("step", '{"number": 1}')


def step_or_answer(prompt: str) -> str:
    """The same, where there is such a tool; elsewhere, answer at once."""
    return "Done" if "What is" in prompt else give_up(prompt)


class Watched:
    """A step of `GRPOTrainer` and an evaluation, and the sessions that the server had meanwhile."""

    def __init__(self, server: RunningServer, spec: Any, write: Any, folder: Path, reward_funcs: Any = None) -> None:
        self.while_scored: list[int] = []
        self.in_step, self.after_evaluation = -1, -1

        def look(completions: list[Any], **_: Any) -> list[None]:
            self.while_scored.append(len(server.live_sessions))
            return [None] * len(completions)

        class Look(TrainerCallback):  # type: ignore[misc]
            def on_pre_optimizer_step(callback, *args: Any, **kwargs: Any) -> None:
                self.in_step = server.wait_for_sessions(0, within=3.0)

        class Trainer(trl.GRPOTrainer):  # type: ignore[misc]
            def __init__(trainer, **arguments: Any) -> None:
                super().__init__(callbacks=[Look()], **arguments)

        functions = [look, *(reward_funcs or [spec.reward_funcs])]
        dataset = spec.train_dataset
        self.trainer = train(spec, write, folder, reward_funcs=functions, trainer_class=Trainer, eval_dataset=dataset)
        self.after_evaluation = server.wait_for_sessions(0, within=3.0)


@pytest.mark.parametrize("prompts", ["session", "dataset"])
def test_unfinished_rollouts_hold_no_session_once_they_are_scored(
    server: RunningServer, tmp_path: Path, prompts: Any
) -> None:
    """They have one while they are scored, and what they have earned counts and stays."""
    watched = Watched(server, spec_of(server, num_tasks=2, prompts=prompts), give_up, tmp_path)
    assert watched.while_scored[0] == 4
    assert (watched.in_step, watched.after_evaluation) == (0, 0)
    rollout = watched.trainer.environments[0]
    assert (rollout.reward, rollout.rewards, rollout.metadata) == (0.5, [0.5], [None])
    assert (rollout.finished, rollout.last_output, rollout.failure) == (False, "1", None)


@pytest.mark.parametrize("group_first", [False, True])
def test_several_environments_hold_no_session(server: RunningServer, tmp_path: Path, group_first: bool) -> None:
    """Groups are scored in sessions that they have, whichever function comes first; none is opened just for that."""
    both = combine({"echo": spec_of(server, indices=[0]), "contest": spec_of(server, adapters.Contest, indices=[3])})
    functions = [both.group_reward, both.reward_funcs] if group_first else [both.reward_funcs, both.group_reward]
    watched = Watched(server, both, step_or_answer, tmp_path, functions)
    assert (watched.in_step, watched.after_evaluation) == (0, 0)
    paths = server.paths()
    assert (paths.count("POST /create"), paths.count("POST /contest/score_group")) == (8, 2)


def test_a_call_after_the_score_is_answered_locally(server: RunningServer) -> None:
    """By a reward function that comes later, say. It makes no request and changes nothing; `reset` begins anew."""
    rollout = spec_of(server).environment_factory()
    rollout.reset()
    rollout.step(number=1)
    assert last_reward(completions=["Done"], environments=[rollout]) == [0.5]
    assert server.wait_for_sessions(0) == 0
    asked = server.paths().count("POST /echo/call")
    assert rollout.step(number=2) == SCORED
    assert server.paths().count("POST /echo/call") == asked
    assert (rollout.rewards, rollout.last_output, rollout.failure) == ([0.5], "1", None)
    assert last_reward(completions=["Done"], environments=[rollout]) == [0.5], "it may be asked for again"
    rollout.reset(task_index=1)
    assert rollout.echo(text="word1") == "match"


def test_a_call_that_is_under_way_when_the_rollout_is_scored(server: RunningServer) -> None:
    """It is broken off, and the rollout has not failed."""
    rollout = spec_of(server).environment_factory()
    rollout.reset()
    rollout.step(number=1)
    answers: list[Any] = []
    calling = threading.Thread(target=lambda: answers.append(rollout.wait(seconds=30)))
    calling.start()
    _wait_until(lambda: server.paths().count("POST /echo/call") == 2)
    assert last_reward(completions=["Done"], environments=[rollout]) == [0.5]
    calling.join(5)
    assert answers == [SCORED]
    assert (rollout.reward, rollout.failure) == (0.5, None)


def test_a_rollout_that_owns_its_reward(server: RunningServer) -> None:
    """As in `AsyncGRPOTrainer`: giving it ends the session, unless the rollout is handed on to the reward function."""
    echo = pickle.loads(pickle.dumps(spec_of(server).environment_factory))()
    echo.reset()
    echo.step(number=1)
    assert last_reward(completions=["Done"], environments=[echo]) == [None]
    assert len(server.live_sessions) == 1, "its reward is still to be asked for"
    assert echo.get_reward() == 0.5
    assert server.wait_for_sessions(0) == 0
    assert (echo.step(number=2), echo.reward) == (SCORED, 0.5)
    riddle = pickle.loads(pickle.dumps(spec_of(server, adapters.Riddle).environment_factory))()
    prompt = [{"role": "user", "content": "" + riddle.reset()}]
    assert riddle.get_reward() is None
    assert riddle.guess(number=1) == SCORED
    assert len(server.live_sessions) == 1, "the terminal tool still waits for the last message"
    assert last_reward(completions=["Done"], prompts=[prompt]) != [None]
    assert server.wait_for_sessions(0) == 0


def _wait_until(happened: Callable[[], bool], within: float = 5.0) -> None:
    deadline = time.monotonic() + within
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.01)
