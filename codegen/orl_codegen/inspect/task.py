"""`evaluation`: an adapter as an Inspect task."""

from __future__ import annotations

from typing import Any

from inspect_ai import Epochs, Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import mean_score, pass_at

from orl_codegen.inspect.scorer import Counted, score_of
from orl_codegen.inspect.solver import rollout
from orl_codegen.trl.spec import OpenRewardSpec


def evaluation(
    spec: OpenRewardSpec[Any],
    *,
    max_turns: int = 20,
    reward: Counted = "last",
    epochs: int = 1,
    passing: float = 1.0,
) -> Task:
    """An Inspect task whose samples are rollouts in the environment: the same tools, texts and rewards as in training.

    Args:
        spec: The environment, the split and the tasks, and how rollouts are run.
        max_turns: How many messages the model may write in a rollout.
        reward: What the score of a rollout is: its last reward, the sum of its rewards, or the whole trace, which is
            both of them and the reward of each turn. The log has all rewards in any case.
        epochs: How many rollouts of each task.
        passing: The reward from which a rollout counts as passed, for pass@k.

    Raises:
        UsageError: There is no such split, or index.
        ServerError: The server could not be reached.
    """
    plan = spec._plan
    samples = [_sample(plan.split, index, task) for index, task in spec.tasks]
    return Task(
        dataset=MemoryDataset(samples, name=f"{spec._adapter.__name__}:{plan.split}"),
        solver=rollout(spec, max_turns),
        scorer=score_of(reward, max_turns),
        epochs=Epochs(epochs, [mean_score(), *(pass_at(k, value=passing) for k in _counts(epochs))]),
        fail_on_error=False,
        name=spec._adapter.__name__,
        metadata={"split": plan.split, "digest": plan.environment.digest, "reward": reward},
    )


def _counts(epochs: int) -> list[int]:
    """The k of pass@k: powers of two, and the number of rollouts of a task."""
    return sorted({*(2**i for i in range(epochs.bit_length())), epochs}) if epochs > 1 else []


def _sample(split: str, index: int, task: dict[str, Any]) -> Sample:
    metadata = {"split": split, "task_index": index, "task": task}
    return Sample(id=f"{split}-{index}", input=f"Task {index} of {split}", metadata=metadata)
