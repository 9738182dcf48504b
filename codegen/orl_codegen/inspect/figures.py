"""What an evaluation comes to: the figures of a log."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from inspect_ai.log import EvalLog, EvalSample, EvalScore

from orl_codegen.inspect.rollout import Rollout, rollout_of

STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""How many standard errors to either side of a mean hold the true one in 95 of 100 cases: Student's t, from 1 degree of
freedom on. Evaluations often have few tasks, where the 1.96 of large numbers would be too sure."""

REWARD = ("reward", "last")
"""What Inspect calls the reward of a rollout in its results: the score, or a part of the trace."""

GIVEN_UP = re.compile(r"RetryError\(<Future .* raised (\w+)>\)")


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval.

    Attributes:
        mean: The mean over tasks.
        error: Half the width of the interval; None where it takes more than one task to know.
        count: How many tasks.
    """

    mean: float
    error: float | None
    count: int


@dataclass(frozen=True)
class ToolFigures:
    """The calls of one tool, under the name that the model has used.

    Attributes:
        made: How many calls.
        problems: Of these, how many were not carried out, by reason (see `Call`).
    """

    made: int
    problems: Mapping[str, int]


@dataclass(frozen=True)
class Figures:
    """The figures of one evaluation.

    Attributes:
        task: The adapter.
        split: The split of the tasks.
        model: The model.
        digest: That of the tools.
        counted: What of the rewards of a rollout counts: "last", "sum", or "trace", of which `reward` and `passed` are
            those of the last.
        tasks: How many tasks.
        rollouts: How many rollouts, those that failed included.
        scored: How many of them have a reward.
        finished: How many were ended by a tool.
        failures: The rollouts that the infrastructure ended, by what was said.
        rewards: The mean reward of each task that has one, by the task's id.
        reward: The mean of these.
        by_turn: `{turn: mean reward}` for the turns in which there was any, where the whole trace counts.
        passed: `{k: pass@k}`, where there are several rollouts of a task.
        input_tokens: How many tokens the model has read.
        output_tokens: How many it has written.
        turns: How many messages it has written in a rollout, on average.
        tools: The calls of each tool.
    """

    task: str
    split: str
    model: str
    digest: str
    counted: str
    tasks: int
    rollouts: int
    scored: int
    finished: int
    failures: Mapping[str, int]
    rewards: Mapping[str, float]
    reward: Estimate | None
    by_turn: Mapping[int, float]
    passed: Mapping[int, float]
    input_tokens: int
    output_tokens: int
    turns: float
    tools: Mapping[str, ToolFigures]

    @property
    def failed(self) -> int:
        """How many rollouts the infrastructure ended."""
        return sum(self.failures.values())


def figures_of(log: EvalLog) -> Figures:
    """The figures of a log with its samples."""
    samples = log.samples or []
    played = [rollout for sample in samples if (rollout := rollout_of(sample)) is not None]
    rewards = _rewards(samples)
    usage = log.stats.model_usage.values()
    stated = log.eval.metadata or {}
    return Figures(
        task=log.eval.task,
        split=str(stated.get("split", "")),
        model=log.eval.model,
        digest=str(stated.get("digest", "")),
        counted=str(stated.get("reward", "")),
        tasks=len({sample.id for sample in samples}),
        rollouts=len(samples),
        scored=sum(_reward(sample) is not None for sample in samples),
        finished=sum(rollout.finished for rollout in played),
        failures=dict(Counter(reason_of(sample) for sample in samples if sample.error is not None)),
        rewards=rewards,
        reward=estimate([*rewards.values()]),
        by_turn=_by_turn(log),
        passed=_passed(log),
        input_tokens=sum(each.input_tokens for each in usage),
        output_tokens=sum(each.output_tokens for each in usage),
        turns=fmean(rollout.turns for rollout in played) if played else 0.0,
        tools=_tools(played),
    )


def estimate(values: Sequence[float]) -> Estimate | None:
    """The mean of one value for each task; None where there are none."""
    if not values:
        return None
    error = _sides(len(values) - 1) * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    return Estimate(fmean(values), error, len(values))


def _sides(freedom: int) -> float:
    # Beyond the table, the quantiles come as near to that of the normal distribution, within 0.2 %.
    return STUDENT[freedom - 1] if freedom <= len(STUDENT) else 1.96 + 2.4 / freedom


def _rewards(samples: Iterable[EvalSample]) -> dict[str, float]:
    """The mean reward of the rollouts of each task: those of one task say nothing about how tasks differ."""
    found: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        if (reward := _reward(sample)) is not None:
            found[str(sample.id)].append(reward)
    return {task: fmean(rewards) for task, rewards in found.items()}


def reason_of(sample: EvalSample) -> str:
    """Why a rollout failed: what the run time says, or what Inspect does where it was not the environment."""
    rollout = rollout_of(sample)
    said = None if rollout is None else rollout.failure
    if said or sample.error is None:
        return said or ""
    given_up = GIVEN_UP.match(sample.error.message)
    return f"the model did not answer ({given_up[1]})" if given_up else sample.error.message


def _reward(sample: EvalSample) -> float | None:
    scores = sample.scores or {}
    score = scores.get("reward", scores.get("trace"))
    value: Any = None if score is None or sample.error is not None else score.value
    if isinstance(value, Mapping):
        value = value["last"]
    return float(value) if isinstance(value, int | float) and not math.isnan(value) else None


def _by_turn(log: EvalLog) -> dict[int, float]:
    means = ((_number("turn", score.name), mean) for score, mean in _means(log) if score.reducer in (None, "mean"))
    return {turn: mean for turn, mean in means if turn is not None}


def _passed(log: EvalLog) -> dict[int, float]:
    means = ((_number("pass_at", score.reducer or ""), mean) for score, mean in _means(log) if score.name in REWARD)
    return {k: mean for k, mean in means if k is not None}


def _means(log: EvalLog) -> Iterator[tuple[EvalScore, float]]:
    """The mean over tasks of each score, or each part of it, by each reducer; not where no task has one."""
    for score in log.results.scores if log.results is not None else ():
        mean = score.metrics.get("mean")
        if mean is not None and not math.isnan(mean.value):
            yield score, float(mean.value)


def _number(kind: str, name: str) -> int | None:
    """The 3 of `turn_3`, if that is the kind."""
    before, _, number = name.rpartition("_")
    return int(number) if before == kind and number.isdigit() else None


def _tools(played: Iterable[Rollout]) -> dict[str, ToolFigures]:
    calls = [call for rollout in played for call in rollout.calls]
    made = Counter(name for name, _ in calls)
    problems: dict[str, Counter[str]] = defaultdict(Counter)
    for name, problem in calls:
        if problem is not None:
            problems[name][problem] += 1
    return {name: ToolFigures(count, dict(problems[name])) for name, count in made.most_common()}
