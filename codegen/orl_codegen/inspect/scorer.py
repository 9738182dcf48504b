"""The scorer: the reward that the environment gave."""

from __future__ import annotations

from typing import Literal

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from orl_codegen.inspect.rollout import Rollout, kept

Reward = Literal["last", "sum", "trace"]


@scorer(metrics=[mean(), stderr()])
def reward(which: Reward = "last") -> Scorer:
    """Gives a rollout the last of its rewards, their sum, or all of them; none where the environment gave none."""

    async def score(state: TaskState, target: Target) -> Score:
        played = kept(state.store)
        if played is None or played.reward is None:
            return Score.unscored(reason="no_reward")
        return Score(value=_value(played, which))

    return score


def _value(played: Rollout, which: Reward) -> float | list[float]:
    given = [each for each in played.rewards if each is not None]
    if which == "trace":
        return given
    return sum(given) if which == "sum" else given[-1]
