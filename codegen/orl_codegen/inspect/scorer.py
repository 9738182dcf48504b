"""The scorers: the reward that the environment gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Literal

from inspect_ai.scorer import Score, Scorer, Target, Value, mean, scorer, stderr
from inspect_ai.solver import TaskState

from orl_codegen.inspect.rollout import kept

Counted = Literal["last", "sum", "trace"]

Turns = Sequence[Sequence[float]]
"""The rewards of each turn that were not null."""

UNSCORED = float("nan")  # Inspect's mark: what it is given for counts neither as 0 nor in a mean


def score_of(counted: Counted, max_turns: int) -> Scorer:
    """The scorer for a way to count rewards."""
    return trace(max_turns) if counted == "trace" else reward(counted)


@scorer(metrics=[mean(), stderr()])
def reward(counted: Literal["last", "sum"] = "last") -> Scorer:
    """Gives a rollout the last of its rewards that was not null, or their sum. The whole trace stands in the metadata
    of the score. A rollout in which the environment gave no reward stays unscored: that is not 0."""

    async def score(state: TaskState, target: Target) -> Score:
        return _score(state, lambda turns: _sum(turns) if counted == "sum" else _last(turns))

    return score


@scorer(metrics={"*": [mean(), stderr()]})
def trace(max_turns: int) -> Scorer:
    """Gives a rollout all that `reward` can, and the rewards of each of its turns: `last`, `sum`, and `turn_1` to
    `turn_N` for N = max_turns, each the sum of that turn's rewards. A turn without one stays unscored.
    All rollouts have the same keys because Inspect's reducers ask for it."""

    async def score(state: TaskState, target: Target) -> Score:
        return _score(state, lambda turns: {"last": _last(turns), "sum": _sum(turns)} | _by_turn(turns, max_turns))

    return score


def _score(state: TaskState, value: Callable[[Turns], Value]) -> Score:
    played = kept(state.store)
    if played is None or played.reward is None:
        return Score.unscored(reason="no_reward")
    turns = [[each for each in given if each is not None] for given in played.rewards]
    return Score(value=value(turns), metadata={"rewards": [[*given] for given in played.rewards]})


def _last(turns: Turns) -> float:
    return [*chain(*turns)][-1]


def _sum(turns: Turns) -> float:
    return sum(chain(*turns))


def _by_turn(turns: Turns, max_turns: int) -> dict[str, float]:
    all_turns = [*turns, *[()] * (max_turns - len(turns))]
    return {f"turn_{number}": sum(given) if given else UNSCORED for number, given in enumerate(all_turns, 1)}
