"""An environment whose texts are long: one prompt, and the results of its tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openreward.environments import Environment, TextBlock, ToolOutput, tool
from pydantic import BaseModel, Field

from tests.environments.pictures import picture


class Lines(BaseModel):
    """Input of `read`."""

    lines: int = Field(description="How many lines to read")


class Library(Environment):
    """Read a book."""

    @classmethod
    def list_splits(cls) -> Sequence[str]:
        """One split."""
        return ["train"]

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[Any]:
        """Three tasks with a short prompt, and one with a long one."""
        return [{"words": 5}, {"words": 6}, {"words": 7}, {"words": 300}]

    def get_prompt(self) -> list[TextBlock]:
        """As many words as the task says."""
        return [TextBlock(text="read " * self.task_spec["words"])]

    @tool
    async def read(self, params: Lines) -> ToolOutput:
        """Read lines of the book, each of ten characters."""
        text = "\n".join(f"line {number:04}" for number in range(params.lines))
        return ToolOutput(blocks=[TextBlock(text=text)], reward=float(params.lines), metadata={"text": text})

    @tool
    async def leaf(self, params: Lines) -> ToolOutput:
        """Read lines around a picture."""
        half = "\n".join(f"line {number:04}" for number in range(params.lines // 2))
        return ToolOutput(blocks=[TextBlock(text=half), picture("red"), TextBlock(text=half)], reward=1.0)
