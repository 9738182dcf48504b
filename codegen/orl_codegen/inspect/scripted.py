"""A model that says what a file says: for trying an evaluation, and for tests of an environment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo
from inspect_ai.util import store

from orl_codegen.errors import UsageError, printable
from orl_codegen.inspect.rollout import SAMPLE

FORM = (
    'It is a JSON object: {"test-0": [turn, ...], "*": [turn, ...]} has the turns of the model by task, "*" those for '
    'all others. A turn is a text, or {"text": "...", "calls": [{"name": "...", "arguments": {...}}, ...]}.'
)

Turn = str | Mapping[str, Any]


def scripted(path: Path) -> Model:
    """A model whose turns stand in a file. When they are over, it writes nothing, which ends the rollout.

    Raises:
        UsageError: The file cannot be read, or is not such a file.
    """
    scripts = _read(path)

    def output(
        messages: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        turns = scripts.get(store().get(SAMPLE, ""), scripts.get("*", []))
        number = sum(message.role == "assistant" for message in messages)
        return _output(turns[number] if number < len(turns) else "", number)

    return get_model("mockllm/scripted", custom_outputs=output, memoize=False)


def _output(turn: Turn, number: int) -> ModelOutput:
    said: Mapping[str, Any] = {"text": turn} if isinstance(turn, str) else turn
    calls = [
        ToolCall(id=f"call-{number}-{place}", function=call["name"], arguments=call.get("arguments", {}))
        for place, call in enumerate(said.get("calls", ()))
    ]
    message = ChatMessageAssistant(content=said.get("text", ""), tool_calls=calls or None, model="scripted")
    choice = ChatCompletionChoice(message=message, stop_reason="tool_calls" if calls else "stop")
    return ModelOutput(model="scripted", choices=[choice], usage=ModelUsage())  # or Inspect asks for a tokenizer


def _read(path: Path) -> dict[str, Sequence[Turn]]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"The script {printable(path)} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise UsageError(f"The script {printable(path)} is not JSON. {FORM}") from None
    if not (isinstance(found, dict) and all(map(_are_turns, found.values()))):
        raise UsageError(f"The script {printable(path)} does not have the form of one. {FORM}")
    return found


def _are_turns(turns: object) -> bool:
    return isinstance(turns, list) and all(map(_is_turn, turns))


def _is_turn(turn: object) -> bool:
    if not isinstance(turn, dict):
        return isinstance(turn, str)
    known = turn.keys() <= {"text", "calls"} and isinstance(turn.get("text", ""), str)
    calls = turn.get("calls", [])
    return known and isinstance(calls, list) and all(map(_is_call, calls))


def _is_call(call: object) -> bool:
    if not isinstance(call, dict) or not call.keys() <= {"name", "arguments"}:
        return False
    return isinstance(call.get("name"), str) and isinstance(call.get("arguments", {}), dict)
