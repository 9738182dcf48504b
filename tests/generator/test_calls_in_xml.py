"""Chat templates with XML calls carry every argument as text; the type of the parameter decides what it becomes."""

from __future__ import annotations

from typing import Any

import pytest

from orl_codegen.generator.contract.contract import build
from orl_codegen.generator.output.rendering import render
from orl_codegen.generator.snapshot import Snapshot
from tests.generator import golden
from tests.support.grpo import tokenizer

SCHEMAS: dict[str, Any] = {
    "count": {"type": "integer"},
    "ratio": {"type": "number"},
    "fast": {"type": "boolean"},
    "zip": {"type": "string"},
    "days": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
    "level": {"enum": [1, 2, 3]},
    "names": {"type": "array", "items": {"type": "string"}},
    "place": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "out-path": {"type": "string"},
    "_": {"type": "integer"},
    "_x": {"type": "str"},
}

WRITTEN = {
    "count": ("7", 7),
    "ratio": ("0.5", 0.5),
    "fast": ("true", True),
    "zip": ("75001", "75001"),
    "days": ("3", 3),
    "level": ("2", 2),
    "names": ('["7", "x"]', ["7", "x"]),
    "place": ('{"city": "Lyon"}', {"city": "Lyon"}),
    "out-path": ("7", "7"),
    "_": ("7", 7),
    "_x": ("7", "7"),
}
"""What the model writes for each key, and what must reach the server."""


@pytest.mark.parametrize("template", ["qwen3_5_nothink", "qwen3_8"])
def test_arguments_get_the_type_that_the_environment_asks_for(template: str) -> None:
    """Parsed by TRL with the method of the adapter as a tool, the input has the types of the server's schema."""
    from trl.chat_template_utils import add_response_schema, parse_response

    spec = {"name": "survey", "description": "", "input_schema": {"type": "object", "properties": SCHEMAS}}
    made = build(Snapshot("http://127.0.0.1:1", "v", "train", tools=(spec,)))
    survey = golden.tools_of(golden.adapter_of(render(made, "adapter"), made))["survey"]
    names = {parameter.key: parameter.name for parameter in made.tools[0].parameters}
    parameters = "".join(f"<parameter={names[key]}>\n{text}\n</parameter>\n" for key, (text, _) in WRITTEN.items())
    fast = add_response_schema(tokenizer(template))
    call = f"<tool_call>\n<function=survey>\n{parameters}</function>\n</tool_call><|im_end|>"
    ids = fast(call, add_special_tokens=False)["input_ids"]
    prefix = fast("<|im_start|>assistant\n", add_special_tokens=False)["input_ids"]
    message = parse_response(fast, ids, prefix=prefix, tools=[survey])
    arguments = message["tool_calls"][0]["function"]["arguments"]
    sent: list[dict[str, Any]] = []
    survey(type("Recorder", (), {"_call": lambda self, name, input: sent.append(input)})(), **arguments)
    assert sent == [{key: value for key, (_, value) in WRITTEN.items()}]
