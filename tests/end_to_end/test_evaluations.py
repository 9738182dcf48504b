"""Evaluations from end to end: a mock model, a language model behind a server, and the same model in GRPO."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import trl
from inspect_ai.log import EvalLog
from inspect_ai.model import get_model
from transformers import AutoTokenizer, Qwen3ForCausalLM

from orl_codegen import OpenRewardSpec
from tests.end_to_end.rollouts import ALL, JSON, LAST_WORD, Played, conversation, played, problems, rewards, said
from tests.support.servers import RunningServer
from tests.support.tiny_models import Served, note_prompts

EACH = pytest.mark.parametrize("number", range(len(ALL)), ids=[what.adapter.__name__ for what in ALL])


@pytest.fixture(scope="module")
def logs(environments: RunningServer, model_server: Served, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Everything played by the tiny model behind its server: each log, and the prompts that the model was given."""
    folder, found = tmp_path_factory.mktemp("logs"), []
    name = f"openai-api/local/{model_server.model}"
    model = get_model(name, base_url=model_server.url, api_key="none", memoize=False)
    for what in ALL:
        model_server.prompts.clear()
        found.append((played(what, environments.url, model, folder), [*model_server.prompts]))
    return found


@EACH
def test_a_mock_model_earns_what_the_environment_gives(number: int, mocked: list[EvalLog]) -> None:
    """Each rollout has the reward of its task, and the calls that were not carried out are known."""
    assert_as_played(mocked[number], ALL[number])


@EACH
def test_so_does_a_language_model_behind_a_server(number: int, logs: list[Any], server: RunningServer) -> None:
    """`transformers serve` renders the tools, the model writes its calls token by token, and they earn the same."""
    log, prompts = logs[number]
    assert_as_played(log, ALL[number])
    (usage,) = log.stats.model_usage.values()
    assert usage.input_tokens == sum(map(len, prompts))


def assert_as_played(log: EvalLog, what: Played) -> None:
    assert [sample.error for sample in log.samples or ()] == [None] * 2 * len(what.turns)
    assert rewards(log) == sorted([*what.rewards.items()] * 2)
    assert problems(log) == what.problems


@dataclass
class Trained:
    """The rollouts of a GRPO step: their tasks, rewards and completions, and the prompts that the model was given."""

    rewards: list[tuple[str, float]] = field(default_factory=list)
    completions: list[tuple[str, list[JSON]]] = field(default_factory=list)
    prompts: list[list[int]] = field(default_factory=list)


def trained(spec: OpenRewardSpec[Any], split: str, weights: Path, folder: Path) -> Trained:
    """Take a step of `GRPOTrainer` in which the model always writes what is likeliest."""
    found = Trained()

    def noted(environments: Any, completions: Any, task_index: Any, **columns: Any) -> Any:
        given = spec.reward_funcs(environments=environments, completions=completions, **columns)
        tasks = [f"{split}-{index}" for index in task_index]
        found.rewards += zip(tasks, given, strict=True)
        found.completions += zip(tasks, [[said(message) for message in each] for each in completions], strict=True)
        return given

    rollouts = 2 * len(spec.train_dataset)
    arguments = trl.GRPOConfig(
        output_dir=str(folder),
        per_device_train_batch_size=rollouts,
        num_generations=2,
        max_completion_length=1024,
        max_steps=1,
        top_k=1,
        gradient_checkpointing=False,
        report_to="none",
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        disable_tqdm=True,
    )
    model = Qwen3ForCausalLM.from_pretrained(weights)
    note_prompts(model, found.prompts)
    trl.GRPOTrainer(
        model=model,
        processing_class=AutoTokenizer.from_pretrained(weights, padding_side="left"),
        args=arguments,
        train_dataset=spec.train_dataset,
        environment_factory=spec.environment_factory,
        reward_funcs=noted,
    ).train()
    return found


@EACH
def test_training_sees_the_same_rollouts_and_rewards(
    number: int, logs: list[Any], server: RunningServer, weights: Path, tmp_path: Path
) -> None:
    """GRPO's own rewards, and every message of its rollouts, are those of the evaluation of the same weights; and the
    model reads the same tokens, those of the tools among them."""
    what, (log, prompts) = ALL[number], logs[number]
    step = trained(what.spec(server.url), what.split, weights, tmp_path)
    assert sorted(step.rewards) == rewards(log)
    evaluated = [(str(sample.id), conversation(sample)[1:]) for sample in log.samples]
    in_order = sorted(step.completions, key=lambda each: each[0])
    for (task, seen), (same_task, messages) in zip(in_order, sorted(evaluated, key=lambda each: each[0]), strict=True):
        assert task == same_task
        assert seen == messages or seen == [*messages, LAST_WORD]
    assert {tuple(each) for each in prompts} <= {tuple(each) for each in step.prompts}
