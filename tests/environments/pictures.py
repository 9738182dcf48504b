"""Environments that show pictures, and one whose prompt is a conversation."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

from openreward.environments import Environment, ImageBlock, Message, TextBlock, ToolOutput, tool
from openreward.environments.types import ReasoningBlock, ToolCallBlock, ToolResultBlock
from PIL import Image


def picture(color: str) -> ImageBlock:
    """A small picture of one color."""
    data = io.BytesIO()
    Image.new("RGB", (8, 6), color).save(data, "PNG")
    return ImageBlock(data=base64.b64encode(data.getvalue()).decode(), mimeType="image/png")


class Gallery(Environment):
    """Look at pictures."""

    @classmethod
    def list_splits(cls) -> Sequence[str]:
        """One split."""
        return ["train"]

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[Any]:
        """A task without a picture, then two with one."""
        return [{"color": None}, {"color": "red"}, {"color": "blue"}]

    def get_prompt(self) -> list[Any]:
        """A picture, if there is one, between two lines."""
        color = self.task_spec["color"]
        return [TextBlock(text="Look:"), *([picture(color)] if color else []), TextBlock(text="What do you see?")]

    @tool
    async def look(self) -> ToolOutput:
        """Look at a picture, and at one that is broken."""
        broken = ImageBlock(data=base64.b64encode(b"no picture").decode(), mimeType="image/png\x1b[31m")
        return ToolOutput(blocks=[TextBlock(text="green"), picture("green"), broken])

    @tool
    async def nothing(self) -> ToolOutput:
        """Answer nothing at all."""
        return ToolOutput(blocks=[])


class Dialogue(Gallery):
    """Go on with a conversation in which tools were called."""

    def get_messages(self) -> list[Message]:
        """A system turn, a question, a call, its result, and the next question."""
        return [
            Message(role="system", blocks=[TextBlock(text="Be brief.")]),
            Message(role="user", blocks=[TextBlock(text="What is in the box?")]),
            Message(
                role="assistant",
                blocks=[
                    ReasoningBlock(text="I should look."),
                    ToolCallBlock(id="1", name="look", input={"where": "box"}),
                ],
            ),
            Message(
                role="user",
                blocks=[
                    ToolResultBlock(tool_call_id="1", blocks=[TextBlock(text="a cat")]),
                    TextBlock(text=f"Is it {self.task_spec['color']}?"),
                ],
            ),
        ]
