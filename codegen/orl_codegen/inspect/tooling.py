"""The tools of an adapter for Inspect: what the model is shown of them, and what is called.

The two are apart, because Inspect would check and convert the arguments of a call by what is shown, and answer in words
of its own. What the model writes has to reach the adapter as it is.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from inspect_ai.model import ChatMessage, Content, Model, execute_tools
from inspect_ai.tool import ContentImage, ContentText, ToolCall, ToolDef, ToolInfo, ToolParams
from pydantic import PrivateAttr, model_serializer

from orl_codegen.episodes.episode import Episode
from orl_codegen.episodes.formats import tools
from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.runtime.vocabulary import ToolResult


class ExactParams(ToolParams):
    """The parameters of a tool, which are sent as they are. Inspect's own class drops keywords that it does not know,
    such as the `nullable` and `prefixItems` of transformers, adds others, and has an order of its own: all that would
    change the tokens that the model reads."""

    _schema: dict[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def of(cls, schema: dict[str, Any]) -> ExactParams:
        """Those that a schema describes."""
        made = cls.model_validate(schema)
        made._schema = schema
        return made

    @model_serializer(mode="plain")
    def _sent(self) -> dict[str, Any]:
        return copy.deepcopy(self._schema)


class ExactInfo(ToolInfo):
    """A tool as it is sent. The log has it as Inspect's own class."""

    parameters: ExactParams


def tool_infos(adapter: type[RolloutAdapter]) -> list[ToolInfo]:
    """What the model is shown: exactly what trainers show it."""
    return [_info(**tool["function"]) for tool in tools(adapter)]


def _info(name: str, description: str, parameters: dict[str, Any]) -> ToolInfo:
    return ExactInfo(name=name, description=description, parameters=ExactParams.of(parameters))


def showing_exactly(model: Model) -> Model:
    """The same model, where its provider would add `"strict": true` to each tool: chat templates show the model that,
    and servers that go by it want every parameter to be required. A `strict_tools` that was passed stays."""
    if hasattr(model.api, "strict_tools") and "strict_tools" not in model.model_args:
        from openai import omit

        model.api.strict_tools = omit
    return model


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
