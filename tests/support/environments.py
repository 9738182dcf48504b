"""Environment classes made to order: any tool specs, any task tools, for tests of what goes over the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from openreward.environments import (
    Environment,
    ListToolsOutput,
    RunToolOutput,
    RunToolSuccess,
    TerminalToolSpec,
    TextBlock,
    ToolOutput,
    ToolSpec,
)

Spec = Mapping[str, Any]


def spec(name: str, description: str = "Does a thing.", **properties: Any) -> dict[str, Any]:
    """A tool spec whose parameters, all required, have the given schemas."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "input_schema": schema}


def environment(
    tools: Sequence[Spec],
    *,
    name: str = "Made",
    tasks: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    task_tools: Mapping[int, Sequence[Spec]] | None = None,
    terminal: TerminalToolSpec | None = None,
) -> type[Environment]:
    """An environment class that offers exactly these specs and answers each call with its input, as JSON.

    Args:
        tools: Shared tools, verbatim.
        name: Name of the class, and in lower case its variant.
        tasks: Task specs by split; by default three tasks in `train`.
        task_tools: Further specs, by the `index` field of the task that offers them.
        terminal: The terminal tool.
    """
    by_split = tasks if tasks is not None else {"train": [{"index": index} for index in range(3)]}
    extra = task_tools or {}

    class Made(Environment):
        calls: list[tuple[str, dict[str, Any]]] = []  # noqa: RUF012 - shared on purpose: tests read it

        @classmethod
        def list_splits(cls) -> Sequence[str]:
            return list(by_split)

        @classmethod
        def list_tasks(cls, split: str) -> Sequence[Any]:
            return by_split[split]

        def get_prompt(self) -> list[TextBlock]:
            return [TextBlock(text=f"Task {self.task_spec}")]

        @classmethod
        def list_tools(cls) -> ListToolsOutput:
            return ListToolsOutput(tools=[_spec(tool) for tool in tools], terminal_tool=terminal)

        def list_task_tools(self) -> ListToolsOutput:
            return ListToolsOutput(tools=[_spec(tool) for tool in extra.get(self.task_spec.get("index"), ())])

        async def _call_tool(self, name: str, input: Any) -> RunToolOutput:
            type(self).calls.append((name, dict(input)))
            return RunToolOutput(RunToolSuccess(output=ToolOutput(blocks=[TextBlock(text=json.dumps(input))])))

    Made.__name__ = Made.__qualname__ = name
    return Made


def source_of(name: str, tool: str = "go") -> str:
    """The source of a module that defines one environment."""
    return f"""
from openreward.environments import Environment, TextBlock, ToolOutput, tool

class {name}(Environment):
    @classmethod
    def list_splits(cls): return ["train"]
    @classmethod
    def list_tasks(cls, split): return [{{}}]
    def get_prompt(self): return [TextBlock(text="Go.")]
    @tool
    def {tool}(self) -> ToolOutput:
        "Go."
        return ToolOutput(blocks=[])
"""


def _spec(tool: Spec) -> ToolSpec:
    return ToolSpec(name=tool["name"], description=tool["description"], input_schema=tool["input_schema"])
