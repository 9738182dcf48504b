"""Does TRL read the calls that the model is taught to write?

The chat template writes a call of each tool as it would stand in a conversation, and TRL's parser reads it. Where the
two do not agree, TRL takes calls for plain text: no tool is ever called, and nothing says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orl_codegen.trl.preflight.setting import Setting

USER = {"role": "user", "content": "hi"}

SAMPLES: Mapping[str, Any] = {
    "string": "text",
    "integer": 7,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
}


def unread_calls(setting: Setting) -> Iterator[str]:
    """The names of the tools whose calls TRL does not read as they were written: another name, or other parameters."""
    opening = setting.rendered([USER], add_generation_prompt=True)
    for schema in setting.tool_schemas:
        name, arguments = schema["function"]["name"], _arguments(schema["function"])
        if _read(setting, opening, schema, arguments) != [(name, sorted(arguments))]:
            yield name


def _arguments(function: Mapping[str, Any]) -> dict[str, Any]:
    """A value for each parameter whose type says what it could be."""
    properties = function.get("parameters", {}).get("properties", {})
    types = {key: schema.get("type") for key, schema in properties.items()}
    return {key: SAMPLES[type_] for key, type_ in types.items() if isinstance(type_, str) and type_ in SAMPLES}


def _read(setting: Setting, opening: str, schema: Any, arguments: dict[str, Any]) -> list[tuple[Any, list[str]]]:
    """The calls that TRL reads where the template has written one: the name and the parameters of each."""
    from trl.chat_template_utils import parse_response

    call = {"type": "function", "function": {"name": schema["function"]["name"], "arguments": arguments}}
    whole = setting.rendered([USER, {"role": "assistant", "content": "", "tool_calls": [call]}])
    written = len(_common_prefix(opening, whole))  # some templates open with a thought that they leave out afterwards
    completion = whole[written:]
    end = str(setting.tokenizer.eos_token)
    if end in completion:
        completion = completion.partition(end)[0] + end
    prefix = setting.ids(whole[:written])
    message = parse_response(setting.tokenizer, setting.ids(completion), prefix=prefix, tools=[schema])
    functions = [call["function"] for call in message.get("tool_calls") or []]
    return [(function["name"], sorted(function["arguments"])) for function in functions]


def _common_prefix(one: str, other: str) -> str:
    pairs = zip(one, other, strict=False)
    length = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    return one[:length]
