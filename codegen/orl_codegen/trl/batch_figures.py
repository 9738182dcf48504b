"""What is logged of the rollouts of a batch, in training and in evaluation: the figures that `orl-codegen eval` prints.

The names are fixed, so that each figure is a mean over all steps; a reason that a server makes up counts as `other`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.runtime.vocabulary import bound_tools

PASSED = 1.0  # the reward from which a rollout counts as passed

REASONS = ("unknown_tool", "wrong_arguments", "not_offered", "input_validation", "tool_raised", "other")


def batch_figures(
    rollouts: Sequence[RolloutAdapter], completions: Sequence[Any], tasks: Sequence[Any]
) -> Iterator[tuple[str, float]]:
    """Name and value of each figure.

    Args:
        rollouts: The rollouts of the batch.
        completions: What the model wrote in each, as messages; others say nothing about turns and unknown tools.
        tasks: What tells the tasks of the rollouts apart.
    """
    rewards = [rollout._score() for rollout in rollouts]
    yield "environment/scored", fmean(reward is not None for reward in rewards)
    yield "environment/finished", fmean(rollout.finished for rollout in rollouts)
    yield "environment/failed", fmean(rollout.failure is not None for rollout in rollouts)
    passed = [reward is not None and reward >= PASSED for reward in rewards]
    yield "environment/passed", fmean(passed)
    if len(tasks) == len(rollouts):
        solved = {task for task, has_passed in zip(tasks, passed, strict=True) if has_passed}
        yield "environment/passed_by_any", len(solved) / len({*tasks})
    yield from _figures_of_calls(rollouts, completions)


def _figures_of_calls(rollouts: Sequence[RolloutAdapter], completions: Sequence[Any]) -> Iterator[tuple[str, float]]:
    written = [completion for completion in completions if isinstance(completion, list)]
    if written:
        yield "environment/turns", fmean(sum(map(_is_turn, completion)) for completion in written)
    counts = _counts(rollouts, completions)
    made = sum(counts.values())
    yield "environment/calls", made / len(rollouts)
    for reason in REASONS:
        yield f"environment/refused/{reason}", counts[reason] / made if made else 0.0


def _counts(rollouts: Sequence[RolloutAdapter], completions: Sequence[Any]) -> Counter[str | None]:
    """How many calls were carried out (None), and how many were not, by reason."""
    counts: Counter[str | None] = Counter()
    for rollout in rollouts:
        for problem, count in rollout._counts.items():
            counts[problem if problem is None or problem in REASONS else "other"] += count
    for rollout, completion in zip(rollouts, completions, strict=False):
        counts["unknown_tool"] += _unknown(completion, bound_tools(type(rollout)))
    return counts


def _unknown(completion: Any, known: Mapping[str, Any]) -> int:
    """How many calls name no tool of the adapter: trainers answer those themselves."""
    if not isinstance(completion, list):
        return 0
    calls = [call for message in completion for call in message.get("tool_calls") or ()]
    return sum((call.get("function") or {}).get("name") not in known for call in calls)


def _is_turn(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "assistant"
