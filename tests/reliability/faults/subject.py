"""What the faults are tried on: a real environment that counts what it carries out, and the adapter for it."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from openreward.environments import Environment, GroupCandidate, TextBlock, ToolOutput, tool
from pydantic import BaseModel

from orl_codegen.runtime import Environment as Recorded
from orl_codegen.runtime import RolloutAdapter, ToolResult
from orl_codegen.runtime import tool as bound

TASKS = [{"word": f"word{number}"} for number in range(3)]
REWARD = 0.5
SCORES = [1.0, 0.0]


class Note(BaseModel):
    """Input of `note`."""

    text: str
    seconds: float = 0.0


class Noting(Environment):
    """Notes are taken down, each for half a reward, and counted: `carried_out` says how often."""

    carried_out: ClassVar[Counter[str]] = Counter()
    _counting: ClassVar[threading.Lock] = threading.Lock()

    @classmethod
    def list_splits(cls) -> Sequence[str]:
        """One split."""
        return ["train"]

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[Any]:
        """Three tasks."""
        return TASKS

    def get_prompt(self) -> list[TextBlock]:
        """The word."""
        return [TextBlock(text=f"Note {self.task_spec['word']}.")]

    @tool
    async def note(self, params: Note) -> ToolOutput:
        """Note a text."""
        with Noting._counting:
            Noting.carried_out[params.text] += 1
        await asyncio.sleep(params.seconds)
        return ToolOutput(blocks=[TextBlock(text=params.text)], reward=REWARD)

    async def score_group(self, candidates: Sequence[GroupCandidate]) -> Sequence[float]:
        """The first one wins."""
        return [float(place == 0) for place, _ in enumerate(candidates)]


class NotingAdapter(RolloutAdapter):
    """Note a word."""

    _environment = Recorded(
        target="tests.reliability.faults.subject:Noting", variant="noting", digest="sha256:0", group_scoring=True
    )

    @bound("note")
    def note(self, *, text: str, seconds: float = 0.0) -> ToolResult:
        """Note a text.

        Args:
            text: What to note.
            seconds: How long to take for it.
        """
        return self._call("note", {"text": text, "seconds": seconds})
