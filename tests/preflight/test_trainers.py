"""The preflight of real trainers: what stops them, what is logged, and what is left alone."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
import trl
from transformers.trainer_utils import IntervalStrategy

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import PreflightError
from orl_codegen.runtime import ToolResult, tool
from orl_codegen.trl import GRPOTrainer
from orl_codegen.trl.preflight.beginning import calling_trainer
from tests.preflight.adapters import Library
from tests.runtime import adapters
from tests.support import grpo
from tests.support.grpo import call, logged, model, play_echo, roll_out_asynchronously, tokenizer, train
from tests.support.servers import RunningServer

TRAINERS = pytest.mark.parametrize("trainer_class", [trl.GRPOTrainer, GRPOTrainer], ids=["TRL's", "ours"])


def spec_of(server: RunningServer, adapter: Any = adapters.Echo, **options: Any) -> OpenRewardSpec:
    return OpenRewardSpec(adapter, base_url=server.url, **options)


def read_much(prompt: str) -> str:
    """Read a hundred lines, then write `Done`."""
    return "Done" if "<tool_response>" in prompt else call("read", '{"lines": 100}')


def close(trainer: Any) -> None:
    """End the sessions of rollouts that did not finish, as the end of the process would."""
    for rollout in trainer.environments:
        rollout._close()


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the preflight has logged."""
    return [record.getMessage() for record in caplog.records if record.name.endswith("preflight.beginning")]


@TRAINERS
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"remove_unused_columns": True}, "every rollout plays the first task"),
        ({"per_device_eval_batch_size": 8, "eval_strategy": "steps"}, "plays 8 rollouts at once.*with max_sessions=4"),
    ],
)
def test_what_is_certain_to_fail_is_refused_before_a_session_opens(
    server: RunningServer, tmp_path: Path, trainer_class: Any, settings: Any, message: str
) -> None:
    """In TRL's own trainer and in ours."""
    spec = spec_of(server, num_tasks=2, max_sessions=4)
    with pytest.raises(PreflightError, match=message):
        train(spec, play_echo, tmp_path, trainer_class=trainer_class, eval_dataset=spec.train_dataset, **settings)
    assert "POST /create_session" not in server.paths()


def test_without_columns_every_rollout_would_play_the_first_task(server: RunningServer, tmp_path: Path) -> None:
    """What the check is there for, with an adapter that no preflight watches."""
    spec = spec_of(server, indices=[5, 6])
    words: list[str] = []

    def write(prompt: str) -> str:
        words.extend(re.findall(r"Echo '(\w+)'", prompt))
        return play_echo(prompt)

    class Unwatched:
        train_dataset, reward_funcs = spec.train_dataset, spec.reward_funcs

        @staticmethod
        def environment_factory() -> Any:
            rollout = spec.environment_factory()
            rollout._preflight = None
            return rollout

    train(Unwatched, write, tmp_path, remove_unused_columns=True)
    assert {*words} == {"word0"}


@pytest.fixture
def short_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `train` use a model with a context of 2048 tokens."""

    def shorter(fast: Any) -> Any:
        made = model(fast)
        made.config.max_position_embeddings = 2048
        return made

    monkeypatch.setattr(grpo, "model", shorter)


@pytest.mark.usefixtures("short_model")
@pytest.mark.parametrize(("prompts", "trainer_class"), [("dataset", trl.GRPOTrainer), ("session", GRPOTrainer)])
def test_a_prompt_that_is_too_long(
    server: RunningServer, tmp_path: Path, prompts: Any, trainer_class: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Known from the dataset, it is said before any rollout; known from a session, with the first one. TRL goes on, but
    drops the result of each tool call."""
    spec = spec_of(server, Library, indices=[3], prompts=prompts)
    trainer = train(spec, read_much, tmp_path, trainer_class=trainer_class, batch=2, max_completion_length=2000)
    close(trainer)
    said, dropped = [text for text in warnings_in(caplog) if "leaves" not in text]
    assert re.search(r"prompt length: The longest prompt that is known has 2\d\d\d tokens .*, of 2048 ", said)
    assert "TRL drops the result of every tool call" in said
    assert dropped.startswith("2 of 2 rollouts ended early")


def completions_of(trainer: Any, spec: OpenRewardSpec, folder: Path, **settings: Any) -> list[Any]:
    """What the reward functions of a step are given, with sessions that are closed afterwards."""
    kept: list[Any] = []

    def keep(completions: Any, **_: Any) -> list[float]:
        kept.extend(completions)
        return [0.0] * len(completions)

    functions = [keep, spec.reward_funcs]
    trained = train(spec, read_much, folder, trainer_class=trainer, reward_funcs=functions, **settings)
    assert logged(trained, "rewards/last_reward/mean") == 100.0, "rewards are those of the whole result"
    close(trained)
    return kept


def test_a_result_that_does_not_fit_is_logged(
    server: RunningServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """TRL takes the result away, and the rollout ends with its call; a line says so, once."""
    spec = spec_of(server, Library, num_tasks=2)
    completions = completions_of(trl.GRPOTrainer, spec, tmp_path)
    assert [completion[-1]["role"] for completion in completions] == ["assistant"] * 4
    assert all(completion[-1]["tool_calls"] for completion in completions)
    (said,) = warnings_in(caplog)
    assert said.startswith("4 of 4 rollouts ended early") and "max_completion_length=256" in said


def test_a_result_that_is_cut_fits(server: RunningServer, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With `max_tool_output` the model reads on, nothing is dropped, and nothing is logged."""
    spec = spec_of(server, Library, num_tasks=2, max_tool_output=50)
    completions = completions_of(GRPOTrainer, spec, tmp_path)
    assert [completion[-1].get("content") for completion in completions] == ["Done"] * 4
    assert not warnings_in(caplog)


class Quoting(adapters.Echo):
    """An adapter with a tool whose name Qwen's template writes as it is, into JSON."""

    @tool('say"it')
    def say_it(self, *, text: str) -> ToolResult:
        """Say something.

        Args:
            text: What to say.
        """
        return self._call("echo", {"text": text})


@pytest.mark.parametrize("play", ["synchronously", "asynchronously"])
def test_a_tool_that_the_template_cannot_carry(
    server: RunningServer, tmp_path: Path, play: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Training goes on, since the other tools can be called. The asynchronous trainer's own process says so, too."""
    spec = spec_of(server, Quoting, num_tasks=2, verify=False)
    if play == "synchronously":
        train(spec, play_echo, tmp_path)
    else:
        roll_out_asynchronously(spec, 4, play_echo)
    (said,) = warnings_in(caplog)
    assert said.startswith('tool calls: TRL does not read calls of say"it as the chat template writes them')


def test_a_template_whose_calls_are_not_read(
    server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TRL takes a parser that the tokenizer brings along, whatever its template writes. Without the check no tool is
    called, no reward is given, and nothing is said."""
    from trl.chat_template_utils import gemma4_template

    def mismatched() -> Any:
        fast = tokenizer()
        fast.response_template = gemma4_template
        return fast

    monkeypatch.setattr(grpo, "tokenizer", mismatched)
    spec = spec_of(server, num_tasks=2)
    with pytest.raises(PreflightError, match="does not read the calls that the chat template writes, of no tool"):
        train(spec, play_echo, tmp_path)
    monkeypatch.setattr(adapters.Echo, "_preflight", property(lambda self: None, lambda self, value: None))
    trainer = train(spec, play_echo, tmp_path)
    assert [rollout.rewards for rollout in trainer.environments] == [[]] * 4
    close(trainer)


def test_a_preflight_that_cannot_read_the_trainer_stops_nothing(
    server: RunningServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A trainer of another version, or one of the user's own, trains as ever; a line says that it was not checked."""

    class Odd(trl.GRPOTrainer):
        def _generate_and_score_completions(self, inputs: Any) -> Any:
            evaluated, self.args.per_device_eval_batch_size = self.args.per_device_eval_batch_size, "many"
            self.args.eval_strategy = IntervalStrategy.STEPS
            try:
                return super()._generate_and_score_completions(inputs)
            finally:
                self.args.per_device_eval_batch_size, self.args.eval_strategy = evaluated, IntervalStrategy.NO

    trainer = train(spec_of(server, num_tasks=2), play_echo, tmp_path, trainer_class=Odd)
    assert logged(trainer, "reward") == 1.0
    (said,) = warnings_in(caplog)
    assert said.startswith("The settings of the trainer could not be checked before the training: ")


def test_a_terminal_tool_alone_and_what_a_preflight_costs(server: RunningServer, tmp_path: Path) -> None:
    """Without tools there is no call to check, and no result to drop. A preflight is made once for a trainer, and takes
    milliseconds; an adapter that no trainer plays has none."""
    spec = spec_of(server, adapters.Quiz, num_tasks=2)
    trainer = train(spec, lambda prompt: "4", tmp_path)
    preflight = trainer.environments[0]._preflight
    assert all(rollout._preflight is preflight for rollout in trainer.environments)
    began = time.process_time()
    preflight._check(trainer.environments[0], None)
    assert time.process_time() - began < 0.5
    assert spec.environment_factory()._preflight is calling_trainer() is None
