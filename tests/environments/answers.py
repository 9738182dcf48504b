"""Environments that grade the model's last message: one without any other tool, one with, one that scores groups."""

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


def said(text: str, reward: float | None = None, finished: bool = False) -> ToolOutput:
    """What a tool answers: one block of text."""
    return ToolOutput(blocks=[TextBlock(text=text)], reward=reward, finished=finished)


class Quiz(Environment):
    """Sums. The plain answer is the only thing there is to do, and the only thing that is graded."""

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
        return said("right" if right else "wrong", float(right), finished=True)


class Riddle(Environment):
    """Guesses before the answer, which is graded by how many there were: a state that only the right session holds."""

    def __init__(self, task_spec: Any = {}, secrets: dict[str, str] = {}) -> None:  # noqa: B006 - as the base class
        super().__init__(task_spec, secrets)
        self.guesses = 0

    list_splits, list_tasks, get_prompt = Quiz.list_splits, Quiz.list_tasks, Quiz.get_prompt

    @tool
    async def guess(self, params: Guess) -> ToolOutput:
        """Guess a number."""
        self.guesses += params.number
        return said("noted")

    @terminal
    @tool
    async def submit(self) -> ToolOutput:
        """Grade the guesses."""
        return said("graded", float(self.guesses), finished=True)


class Contest(Quiz):
    """The same sums; the shortest answer of a group wins."""

    async def score_group(self, candidates: Sequence[GroupCandidate]) -> Sequence[float]:
        """One for the shortest answer, zero for the others."""
        lengths = [len(candidate.messages[-1].blocks[-1].text) for candidate in candidates]
        return [float(length == min(lengths)) for length in lengths]
