"""The environment: a till. A customer has paid for something; give the change, in as few coins as can be.

`python till.py` serves it on port 8080.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from openreward.environments import Blocks, Environment, JSONObject, Server, Split, TextBlock, ToolOutput, tool
from pydantic import BaseModel, Field

COINS = (200, 100, 50, 20, 10, 5, 2, 1)
PRICES = {"tea": 180, "coffee": 250, "cake": 325}
TASKS: dict[str, list[JSONObject]] = {
    "train": [
        {"item": "tea", "paid": 200},
        {"item": "coffee", "paid": 500},
        {"item": "cake", "paid": 400},
        {"item": "tea", "paid": 500},
    ],
    "test": [{"item": "cake", "paid": 500}],
}


class LookUp(BaseModel):
    item: Literal["tea", "coffee", "cake"] = Field(description="What was bought")


class Change(BaseModel):
    coins: list[int] = Field(description="The coins, in cents; there are coins of 1, 2, 5, 10, 20, 50, 100 and 200")


class Till(Environment):
    """Look up the price, and give the change."""

    @classmethod
    def list_splits(cls) -> Sequence[Split | str]:
        """The names of the splits."""
        return [Split(name="train", type="train"), Split(name="test", type="test")]

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[JSONObject]:
        """What is bought, and what the customer pays, in cents."""
        return TASKS[split]

    def get_prompt(self) -> Blocks:
        """What the model is told when a rollout begins."""
        return [TextBlock(text=f"A customer buys {self.task_spec['item']} and pays {self.task_spec['paid']} cents.")]

    @tool
    def look_up_price(self, bought: LookUp) -> ToolOutput:
        """Look up what something costs, in cents."""
        return ToolOutput(blocks=[TextBlock(text=str(PRICES[bought.item]))])

    @tool
    def give_change(self, change: Change) -> ToolOutput:
        """Give the change. This ends the task."""
        due = self.task_spec["paid"] - PRICES[self.task_spec["item"]]
        right = sum(change.coins) == due and set(change.coins) <= {*COINS}
        reward = (1.0 if len(change.coins) == fewest(due) else 0.5) if right else 0.0
        thanks = "Thank you." if right else "That is not my change."
        return ToolOutput(blocks=[TextBlock(text=thanks)], reward=reward, finished=True)


def fewest(cents: int) -> int:
    """The smallest number of coins that make a sum."""
    count = 0
    for coin in COINS:
        count, cents = count + cents // coin, cents % coin
    return count


if __name__ == "__main__":
    Server([Till]).run(port=8080)
