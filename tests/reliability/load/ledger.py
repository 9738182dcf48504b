"""An environment that keeps books of the calls that it carried out, and answers so that no two answers are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from openreward.environments import Environment, TextBlock, ToolOutput, tool
from pydantic import BaseModel, Field, model_validator

from tests.reliability.load.words import BROKEN_SETUP, TASKS, Call, answer_of, prompt_of, reward_of

carried_out: Counter[Call] = Counter()
raised: Counter[Call] = Counter()
refused: Counter[Call] = Counter()


class Entry(BaseModel):
    """Input of `note`."""

    task: int = Field(description="The task, as the rollout was told it")
    round: int = Field(description="Which round it is")
    number: int = Field(description="Which call of the round it is")
    ends: Literal["well", "raised", "refused", "cut", "lost"] = Field(description="How the call is to end")

    @model_validator(mode="after")
    def _refuse(self) -> Entry:
        if self.ends == "refused":
            refused[self.call] += 1
            raise ValueError(f"refused {self.call}")
        return self

    @property
    def call(self) -> Call:
        """Which call it is."""
        return self.task, self.round, self.number


class Ledger(Environment):
    """Note calls down."""

    def __init__(self, task_spec: Any = {}, secrets: dict[str, str] = {}) -> None:  # noqa: B006 - as the base class
        super().__init__(task_spec, secrets)
        self.noted = 0

    @classmethod
    def list_splits(cls) -> Sequence[str]:
        """One split."""
        return ["train"]

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[Any]:
        """Tasks that differ in their number."""
        return [{"number": number} for number in range(TASKS)]

    def setup(self) -> None:
        """Fail, in one task."""
        if self.task_spec["number"] == BROKEN_SETUP:
            raise RuntimeError("no sandbox for you")

    def get_prompt(self) -> list[TextBlock]:
        """The number of the task."""
        return [TextBlock(text=prompt_of(self.task_spec["number"]))]

    @tool
    async def note(self, params: Entry) -> ToolOutput:
        """Note a call down."""
        carried_out[params.call] += 1
        self.noted += 1
        if params.ends == "raised":
            raised[params.call] += 1
            raise RuntimeError(f"raised {params.call}")
        text = answer_of(self.task_spec["number"], params.call, self.noted)
        return ToolOutput(blocks=[TextBlock(text=text)], reward=reward_of(params.call))
