"""Environments that grade the model's last message: with no other tool, with another one, and by scoring groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openreward.environments import Environment, GroupCandidate, TextBlock, ToolOutput, terminal, tool
from pydantic import BaseModel, Field

QUESTIONS = [{"question": f"What is {number} + {number}?", "answer": str(2 * number)} for number in range(20)]


class Answer(BaseModel):
    """Input of the terminal tool."""

    answer: str


class Guess(BaseModel):
    """Input of `guess`."""

    number: int = Field(description="The guess")
    why_so: str = Field("", alias="why-so", description="The reason")


def reply(text: str, reward: float | None = None, finished: bool = False) -> ToolOutput:
    """The output of a tool: one block of text."""
    return ToolOutput(blocks=[TextBlock(text=text)], reward=reward, finished=finished)


class Quiz(Environment):
    """Sums. The answer is the only thing that can be given, and the only thing that is graded."""

    @classmethod
    def list_splits(cls) -> Sequence[str]:
        """One split."""
        return ["train"]

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[Any]:
        """Twenty sums."""
        return QUESTIONS

    def get_prompt(self) -> list[TextBlock]:
        """The sum."""
        return [TextBlock(text=str(self.task_spec["question"]))]

    @terminal
    @tool
    async def submit(self, params: Answer) -> ToolOutput:
        """Grade the answer."""
        right = params.answer.strip() == self.task_spec["answer"]
        return reply("right" if right else "wrong", float(right), finished=True)


class Riddle(Environment):
    """Guesses come before the answer, and their sum is the reward: state that only the right session holds."""

    def __init__(self, task_spec: Any = {}, secrets: dict[str, str] = {}) -> None:  # noqa: B006 - as the base class
        super().__init__(task_spec, secrets)
        self.guesses = 0

    list_splits, list_tasks, get_prompt = Quiz.list_splits, Quiz.list_tasks, Quiz.get_prompt

    @tool
    async def guess(self, params: Guess) -> ToolOutput:
        """Guess a number."""
        self.guesses += params.number
        return reply("noted")

    @terminal
    @tool
    async def submit(self) -> ToolOutput:
        """Grade the guesses."""
        return reply("graded", float(self.guesses), finished=True)


class Contest(Quiz):
    """The same sums; the shortest answer of a group wins."""

    async def score_group(self, candidates: Sequence[GroupCandidate]) -> Sequence[float]:
        """One for the shortest answer, zero for the others."""
        lengths = [len(candidate.messages[-1].blocks[-1].text) for candidate in candidates]
        return [float(length == min(lengths)) for length in lengths]
