"""The scorer: the reward that the environment gave."""

from __future__ import annotations

from typing import Literal

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from orl_codegen.inspect.rollout import Rollout, kept

Counted = Literal["last", "sum"]


@scorer(metrics=[mean(), stderr()])
def reward(counted: Counted = "last") -> Scorer:
    """Gives a rollout the last of its rewards that was not null, or their sum. The whole trace stands in the metadata
    of the score. A rollout in which the environment gave no reward stays unscored: that is not 0."""

    async def score(state: TaskState, target: Target) -> Score:
        played = kept(state.store)
        if played is None or played.reward is None:
            return Score.unscored(reason="no_reward")
        return Score(value=_value(played, counted), metadata={"rewards": list(played.rewards)})

    return score


def _value(played: Rollout, counted: Counted) -> float:
    given = [each for each in played.rewards if each is not None]
    return sum(given) if counted == "sum" else given[-1]
