"""The environment by itself, without a server."""

from __future__ import annotations

import pytest
from till import TASKS, Change, Till, fewest


@pytest.mark.parametrize(("coins", "reward"), [([20], 1.0), ([10, 10], 0.5), ([50], 0.0), ([15, 5], 0.0), ([], 0.0)])
def test_the_reward(coins: list[int], reward: float) -> None:
    """The right sum in the fewest coins earns 1, the right sum in more coins a half, anything else nothing."""
    answer = Till(task_spec=TASKS["train"][0]).give_change(Change(coins=coins))
    assert (answer.reward, answer.finished) == (reward, True)


def test_the_fewest_coins() -> None:
    """388 cents take one coin of each kind."""
    assert fewest(388) == 8
