"""Environments with one word to echo: the plain one, one that is slow to set up, and one that misbehaves on demand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, ClassVar

from openreward.environments import Environment, RunToolOutput, TextBlock, ToolOutput, tool
from pydantic import BaseModel, Field

WORDS = [f"word{number}" for number in range(100)]


class Text(BaseModel):
    """Input of `echo`."""

    text: str = Field(description="The string to echo back")


class Pause(BaseModel):
    """Input of `wait`."""

    seconds: float = Field(description="How long to wait")


class Step(BaseModel):
    """Input of `step`."""

    number: int = Field(description="What to note down")


def reply(text: str, reward: float | None = None, finished: bool = False, **metadata: Any) -> ToolOutput:
    """The output of a tool: one block of text."""
    blocks = [TextBlock(text=text)]
    return ToolOutput(blocks=blocks, reward=reward, finished=finished, metadata=metadata or None)


class Sandbox:
    """Stands in for the sandbox in which the built-in toolsets run their commands."""

    async def run(self, command: str) -> tuple[str, int]:
        """Run nothing."""
        return f"ran {command}", 0


class Echo(Environment):
    """Echo the word of the task."""

    def __init__(self, task_spec: Any = {}, secrets: dict[str, str] = {}) -> None:  # noqa: B006 - as the base class
        super().__init__(task_spec, secrets)
        self.notes: list[int] = []
        self.sandbox = Sandbox()

    @classmethod
    def list_splits(cls) -> Sequence[str]:
        """Two splits."""
        return ["train", "test"]

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[Any]:
        """A hundred tasks for training, two for testing."""
        return [{"word": word, "level": len(word)} for word in (WORDS if split == "train" else ["alpha", "beta"])]

    def get_prompt(self) -> list[TextBlock]:
        """The word."""
        return [TextBlock(text=f"Echo '{self.task_spec['word']}' to win.")]

    @tool
    async def echo(self, params: Text) -> ToolOutput:
        """Submit a string."""
        match = params.text == self.task_spec["word"]
        return reply("match" if match else "no match", float(match), finished=True, length=len(params.text))

    @tool(concurrent=True)
    async def wait(self, params: Pause) -> ToolOutput:
        """Wait for a while."""
        await asyncio.sleep(params.seconds)
        return reply("waited")

    @tool(concurrent=True)
    async def step(self, params: Step) -> ToolOutput:
        """Note a number down, for half credit. The first calls take longest."""
        await asyncio.sleep(0.02 if len(self.notes) < 3 else 0)
        self.notes.append(params.number)
        return reply(" ".join(map(str, self.notes)), 0.5)


class SlowEcho(Echo):
    """The same, with a sandbox that takes a second to come up."""

    async def setup(self) -> None:
        """Come up."""
        await asyncio.sleep(1)


class LingeringEcho(Echo):
    """The same, with a sandbox that takes its time to go down."""

    async def teardown(self) -> None:
        """Go down. One after the other, sixteen of them would need four seconds."""
        await asyncio.sleep(0.25)


class MoodyEcho(Echo):
    """The same, with a task for each thing that can go wrong."""

    opened: int = 0
    _tasks_cache: ClassVar[dict[str, Any]] = {}  # otherwise the SDK uses the cache of the base class, with its tasks

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[Any]:
        """What goes wrong in each task."""
        moods = [
            "well",
            "broken setup",
            "broken once",
            "broken tool",
            "not a number",
            "another prompt each time",
            "minus",
        ]
        return [{"word": "hello", "mood": mood} for mood in moods]

    def setup(self) -> None:
        """Fail, in some tasks."""
        MoodyEcho.opened += 1
        mood = self.task_spec["mood"]
        if mood == "broken setup" or (mood == "broken once" and MoodyEcho.opened == 1):
            raise RuntimeError("no sandbox for you")

    def get_prompt(self) -> list[TextBlock]:
        """The word; in one task, with the time."""
        clock = f" at {time.monotonic()}" if self.task_spec["mood"] == "another prompt each time" else ""
        return [TextBlock(text=f"Echo 'hello'{clock} to win.")]

    @tool
    async def echo(self, params: Text) -> ToolOutput:
        """Submit a string."""
        match self.task_spec["mood"]:
            case "broken tool":
                raise RuntimeError("the sandbox is gone")
            case "minus":
                return reply("wrong", -1.0)
            case _:
                return reply("match", 1.0, finished=True)

    async def _call_tool(self, name: str, input: Any) -> RunToolOutput:
        output = await super()._call_tool(name, input)
        if self.task_spec["mood"] == "not a number" and output.root.ok:
            output.root.output.reward = float("nan")
        return output


# pydantic writes NaN as null; servers in other languages and frameworks write NaN, which Python parses.
RunToolOutput.model_config["ser_json_inf_nan"] = "constants"
RunToolOutput.model_rebuild(force=True)
