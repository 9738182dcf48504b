"""Overlapping resets: everything is as with TRL's own `GRPOTrainer`, only faster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trl

from orl_codegen import combine
from orl_codegen.errors import SessionError
from orl_codegen.ors import limits
from orl_codegen.trl import GRPOTrainer
from orl_codegen.trl.overlapping import OverlappingResets
from tests.environments.echo import Echo, MoodyEcho, SlowEcho
from tests.runtime import adapters
from tests.runtime.test_overlapping import Played, both, spec_of
from tests.support.grpo import play_echo, train
from tests.support.servers import RunningServer, running

BROKEN = 1
"""The task of `MoodyEcho` whose session cannot be opened."""


@pytest.fixture
def slow() -> Iterator[RunningServer]:
    """A server whose sandboxes take a second to come up."""
    with running(SlowEcho) as server:
        yield server
        assert server.wait_for_sessions(0) == 0, "a session was left behind"


@pytest.fixture
def moody(monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningServer]:
    """A server some of whose sandboxes do not come up."""
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.05)
    with running(MoodyEcho) as server:
        yield server
        assert server.wait_for_sessions(0) == 0, "a session was left behind"


def test_resets_of_a_batch_overlap(slow: RunningServer, tmp_path: Path) -> None:
    """Eight rollouts whose sandboxes take a second each are reset in less than a third of the time."""
    plain, ours = both(slow, play_echo, tmp_path, adapter=adapters.SlowEcho)
    assert plain.resets > 8.0
    assert ours.resets < plain.resets / 3
    assert slow.paths().count("POST /create") == 2 * 8
    assert ours.trainer._opens_ahead


def test_prompts_in_the_dataset(server: RunningServer, tmp_path: Path) -> None:
    """Nothing waits for such sessions, so none is opened ahead."""
    opened = []

    class Watched(GRPOTrainer):  # type: ignore[misc, valid-type]
        def _open_ahead(self, inputs: Any, ahead: list[Any]) -> None:
            super()._open_ahead(inputs, ahead)
            opened.extend(ahead)

    spec = spec_of(server, prompts="dataset")
    played = Played(Watched, spec, play_echo, tmp_path)
    assert not opened and played.trainer._opens_ahead
    assert [rollout[0] for rollout in played.rollouts] == [1.0] * 4


def test_several_environments(tmp_path: Path) -> None:
    """Each row's session is opened by the adapter that TRL resets with it."""
    with running(Echo, SlowEcho) as server:
        specs = combine({"echo": spec_of(server, num_tasks=2), "slow": spec_of(server, adapters.SlowEcho, num_tasks=2)})
        plain, ours = (
            Played(trainer, specs, play_echo, tmp_path, batch=8) for trainer in (trl.GRPOTrainer, GRPOTrainer)
        )
        assert (ours.completions, ours.rollouts, ours.log) == (plain.completions, plain.rollouts, plain.log)
        assert server.paths().count("POST /slowecho/call") == server.paths().count("POST /echo/call") == 2 * 4
        assert ours.trainer._opens_ahead
        assert ours.resets < plain.resets / 2
        assert server.wait_for_sessions(0) == 0


def test_sessions_that_cannot_be_opened(moody: RunningServer, tmp_path: Path) -> None:
    """The rollouts without one go unscored, and the others are as ever."""
    options: dict[str, Any] = {"indices": [0, BROKEN], "num_tasks": None, "on_reset_failure": "unscored"}
    plain, ours = (
        Played(trainer, spec_of(moody, adapters.MoodyEcho, **options), play_hello, tmp_path)
        for trainer in (trl.GRPOTrainer, GRPOTrainer)
    )
    assert (ours.completions, ours.rollouts, ours.log) == (plain.completions, plain.rollouts, plain.log)
    assert sorted(rollout[5] is None for rollout in ours.rollouts) == [False, False, True, True]


@pytest.mark.parametrize("trainer_class", [trl.GRPOTrainer, GRPOTrainer])
def test_a_reset_that_ends_the_training(moody: RunningServer, tmp_path: Path, trainer_class: Any) -> None:
    """It raises where TRL resets the rollout: the ones before it have been reset, and the ones after it have not. The
    sessions of the latter, which are open by then, are closed."""
    reset: list[tuple[int, Any]] = []

    class Counted(adapters.MoodyEcho):
        def reset(self, /, *, task_index: int, **row: Any) -> Any:  # type: ignore[override]
            reset.append((task_index, self))
            return super().reset(task_index=task_index, **row)

    spec = spec_of(moody, Counted, indices=[0, BROKEN, 3, 4], num_tasks=None)
    with pytest.raises(SessionError, match="no sandbox for you"):
        train(spec, play_hello, tmp_path, trainer_class=trainer_class, batch=8)
    assert [task_index for task_index, _ in reset] == [0, 0, BROKEN]
    assert moody.wait_for_sessions(2) == 2
    for _, rollout in reset:
        rollout._close()


def test_ctrl_c_while_sessions_open(slow: RunningServer, tmp_path: Path) -> None:
    """It ends the training, and the sessions that nobody has taken are closed."""

    class Interrupted(adapters.SlowEcho):
        def reset(self, /, **row: Any) -> Any:
            slow.wait_for_sessions(8)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(spec_of(slow, Interrupted), play_echo, tmp_path, trainer_class=GRPOTrainer, batch=8)
    assert slow.paths().count("POST /create") == 8


def test_adapters_that_play_another_task(
    server: RunningServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """They get the session of the task that they ask for. The one that was opened for the row is closed, which the
    trainer says once; from then on it opens nothing ahead."""

    class Next(adapters.Echo):
        def reset(self, /, *, task_index: int, **row: Any) -> Any:  # type: ignore[override]
            return super().reset(task_index=task_index + 1, **row)

    spec = spec_of(server, Next, num_tasks=2)
    plain, ours = (
        Played(trainer, spec, play_echo, tmp_path, eval_dataset=spec.train_dataset)
        for trainer in (trl.GRPOTrainer, GRPOTrainer)
    )
    assert (ours.completions, ours.rollouts, ours.log) == (plain.completions, plain.rollouts, plain.log)
    assert server.paths().count("POST /create") == 8 + 4 + 8
    said = [record.message for record in caplog.records if "do not overlap" in record.message]
    assert len(said) == 1 and said[0].startswith("Resets") and "not reset with the row" in said[0]
    assert not ours.trainer._opens_ahead


def test_a_session_that_was_opened_for_another_row(server: RunningServer) -> None:
    """`reset` takes the session of its own row only, once, and closes any other."""
    rollout = spec_of(server).environment_factory()
    ahead = rollout._open_ahead(task_index=3, word="word3")
    assert ahead is not None and server.wait_for_sessions(1) == 1
    assert rollout.reset(task_index=3) == "Echo 'word3' to win." and ahead.taken
    assert server.paths().count("POST /create") == 1
    rollout._open_ahead(task_index=3)
    assert rollout.reset(task_index=4) == "Echo 'word4' to win."
    assert rollout.reset(task_index=3) == "Echo 'word3' to win."
    assert server.wait_for_sessions(1) == 1
    rollout._close()


class Step:
    """Stands in for a version of TRL that keeps its environments in another way."""

    def _generate_and_score_completions(self, inputs: list[int]) -> int:
        return sum(inputs)


class Overlapping(OverlappingResets, Step):
    """The same, with overlapping resets."""


class WithoutEnvironments(Overlapping):
    """A training without environments."""

    environment_factories = None


def test_versions_without_the_seams(caplog: pytest.LogCaptureFixture) -> None:
    """They say so once, and reset one after another; a training without environments has nothing to say."""
    trainer, without = Overlapping(), WithoutEnvironments()
    for _ in range(2):
        assert trainer._generate_and_score_completions([1, 2]) == 3
        assert without._generate_and_score_completions([1, 2]) == 3
    assert [record.message.partition(",")[0] for record in caplog.records] == ["Resets do not overlap"]


def play_hello(prompt: str) -> str:
    """Echo the word, unless there is no environment to ask for one."""
    return play_echo(prompt) if "Echo '" in prompt else "Done"
