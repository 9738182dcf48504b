"""What TRL logs of rollouts, in training and in evaluation: the figures that `orl-codegen eval` prints."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from orl_codegen import Episode, OpenRewardSpec
from orl_codegen.trl.batch_figures import REASONS, batch_figures
from orl_codegen.trl.rewards import last_reward
from tests.runtime.adapters import Echo, Quiz
from tests.support.grpo import call, train
from tests.support.servers import RunningServer


def stumble(prompt: str) -> str:
    """Call a tool that is not there, one with wrong arguments, and then the right one; or, in one task, nothing."""
    word = re.findall(r"Echo '(\w+)'", prompt)[-1]
    turns = [call("shout", "{}"), call("echo", '{"loud": 1}'), call("echo", f'{{"text": "{word}"}}'), "Done."]
    return "I give up." if word in ("word1", "beta") else turns[prompt.count("<tool_response>")]


def test_training_and_evaluation_log_the_same_figures(server: RunningServer, tmp_path: Path) -> None:
    """Shares, turns, calls and the reasons why calls were not carried out, under names that never change."""
    spec = OpenRewardSpec(Echo, base_url=server.url, num_tasks=2)
    held_out = OpenRewardSpec(Echo, base_url=server.url, split="test")
    trainer = train(spec, stumble, tmp_path, eval_dataset=held_out.train_dataset, max_completion_length=1024)
    (training,) = [entry for entry in trainer.state.log_history if "environment/calls" in entry]
    (evaluation,) = [entry for entry in trainer.state.log_history if "eval_environment/calls" in entry]
    figures = {
        "scored": 0.5,
        "finished": 0.5,
        "failed": 0.0,
        "passed": 0.5,
        "passed_by_any": 0.5,
        "turns": (4 + 1) / 2,
        "calls": 3 / 2,
        **{f"refused/{reason}": 0.0 for reason in REASONS},
        "refused/unknown_tool": pytest.approx(1 / 3),
        "refused/wrong_arguments": pytest.approx(1 / 3),
    }
    for logged, prefix in ((training, "environment/"), (evaluation, "eval_environment/")):
        names = [name for name in logged if name.startswith(prefix)]
        assert {name.removeprefix(prefix): logged[name] for name in names} == figures


def test_a_batch_and_its_episodes_agree(server: RunningServer) -> None:
    """What is logged of a call is what `Episode.calls` says of it, and a server's own reason is never a name."""
    spec = OpenRewardSpec(Echo, base_url=server.url)
    with Episode(spec) as episode:
        episode.reset(task_index=0)
        for name, arguments in (("shout", {}), ("echo", {}), ("step", {"number": "x"}), ("step", {"number": 1})):
            episode.call(name, arguments)
        episode.call("echo", {"text": "x"})
        episode.call("step", {"number": 2})
        figures = dict(batch_figures([episode.adapter], [[]], [0]))
    said = Counter(call.problem for call in episode.calls)
    assert said == episode.adapter._counts
    assert figures["environment/calls"] == len(episode.calls) == 6
    for reason in REASONS[:-1]:
        assert figures[f"environment/refused/{reason}"] == said[reason] / 6
    assert figures["environment/refused/other"] == said["episode_finished"] / 6 > 0


def test_the_terminal_tool_is_not_a_call_of_the_model(server: RunningServer) -> None:
    """It is called by the reward function, and the model does not know it."""
    logged: dict[str, float] = {}
    rollout = OpenRewardSpec(Quiz, base_url=server.url).environment_factory()
    rollout.reset(task_index=0)
    last_reward(environments=[rollout], completions=["2"], log_metric=logged.__setitem__)
    assert (logged["environment/scored"], logged["environment/calls"]) == (1.0, 0.0)
