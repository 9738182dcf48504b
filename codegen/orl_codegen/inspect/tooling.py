"""The tools of an adapter for Inspect: what the model is shown of them, and what is called.

The two are apart, because Inspect would check and convert the arguments of a call by what is shown, and answer in words
of its own. What the model writes has to reach the adapter as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from inspect_ai.model import ChatMessage, Content, execute_tools
from inspect_ai.tool import ContentImage, ContentText, ToolCall, ToolDef, ToolInfo, ToolParams
from inspect_ai.util import JSONSchema

from orl_codegen.episodes.episode import Episode
from orl_codegen.episodes.formats import tools
from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.runtime.vocabulary import ToolResult


class Exact(JSONSchema, extra="allow"):
    """A JSON Schema with every keyword that it has; Inspect's own class drops those that it does not know, such as the
    `nullable` and `prefixItems` of transformers."""

    items: Exact | None = None
    properties: dict[str, Exact] | None = None  # type: ignore[assignment]
    additionalProperties: Exact | bool | None = None
    anyOf: list[Exact] | None = None  # type: ignore[assignment]


class ExactParams(ToolParams):
    """The parameters of a tool, with every keyword."""

    properties: dict[str, Exact]  # type: ignore[assignment]
    required: list[str] | None = None  # type: ignore[assignment]
    additionalProperties: Exact | bool | None = None


class ExactInfo(ToolInfo):
    """A tool, with every keyword: in what providers send, but not in the log, which has Inspect's own class."""

    parameters: ExactParams


def tool_infos(adapter: type[RolloutAdapter]) -> list[ToolInfo]:
    """What the model is shown: exactly what trainers show it."""
    return [ExactInfo.model_validate(tool["function"]) for tool in tools(adapter)]


async def carry_out(episode: Episode[Any], call: ToolCall, messages: list[ChatMessage]) -> list[ChatMessage]:
    """Make one of the calls in the last message, as it was written. Inspect has its own answers to a call of a tool
    that does not exist, and to arguments that are not an object: with one tool for each call, neither comes to that.

    Returns:
        What is to be added to the messages.
    """
    *before, last = messages
    alone = last.model_copy(update={"tool_calls": [replace(call, parse_error=None)]})
    return (await execute_tools([*before, alone], [_tool(episode, call)])).messages


def _tool(episode: Episode[Any], call: ToolCall) -> ToolDef:
    async def execute(**kwargs: Any) -> Any:
        return content_of(await episode.acall(call.function, call.parse_error or kwargs))

    any_object = ToolParams(additionalProperties=True)
    return ToolDef(execute, call.function, call.function, any_object, max_output=0)


def content_of(result: ToolResult) -> str | list[Content]:
    """A prompt or a result as Inspect has it: text, or parts of which some are images."""
    if isinstance(result, str):
        return str(result)
    return [_part(block) for block in result]


def _part(block: dict[str, Any]) -> ContentText | ContentImage:
    if block["type"] == "text":
        return ContentText(text=block["text"])
    return ContentImage(image=_data_uri(block["image"]))


def _data_uri(image: Any) -> str:
    import base64
    import io

    written = io.BytesIO()
    image.save(written, format="PNG")
    return f"data:image/png;base64,{base64.b64encode(written.getvalue()).decode()}"
