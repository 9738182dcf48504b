"""An environment with openreward's document toolsets: Excel, Word, PowerPoint and PDF, several dozen real tools.

It shows what these tools look like to a model. Calling them needs a sandbox, which this demo does not provide.
"""

from __future__ import annotations

from collections.abc import Sequence

from openreward.environments import Blocks, Environment, JSONObject, Split, TextBlock, ToolOutput, tool
from openreward.toolsets import ExcelToolset, PDFToolset, PowerPointToolset, WordToolset
from pydantic import BaseModel, Field


class Submit(BaseModel):
    file_path: str = Field(description="Path of the finished document")


class Documents(Environment):
    """Write, read and edit office documents."""

    toolsets = (ExcelToolset, WordToolset, PowerPointToolset, PDFToolset)

    @classmethod
    def list_splits(cls) -> Sequence[Split | str]:
        """One split."""
        return [Split(name="train", type="train")]

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[JSONObject]:
        """One task."""
        return [{"id": "report", "request": "Write the quarterly report as a document."}]

    def get_prompt(self) -> Blocks:
        """The request."""
        return [TextBlock(text=str(self.task_spec["request"]))]

    @tool(exclusive=True)
    def submit(self, document: Submit) -> ToolOutput:
        """Hand the finished document in. This ends the task."""
        return ToolOutput(blocks=[TextBlock(text=f"Received {document.file_path}.")], reward=1.0, finished=True)
