"""What a model is shown of an adapter's tools, in the formats of model servers and agents."""

from __future__ import annotations

from typing import Any, Literal, get_args

from orl_codegen.errors import UsageError, printable
from orl_codegen.extras import require
from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.runtime.vocabulary import bound_tools

JSON = dict[str, Any]

Format = Literal["openai", "anthropic", "mcp", "json-schema"]


def tools(adapter: type[RolloutAdapter] | RolloutAdapter, format: Format = "openai") -> list[JSON]:
    """The tools of an adapter, exactly as trainers show them to the model: with what transformers' `get_json_schema`
    makes of each method.

    Args:
        adapter: A generated class, or an instance of one.
        format: `"openai"` gives that itself, `{"type": "function", "function": {"name", "description",
            "parameters"}}`. `"anthropic"` has `input_schema`, `"mcp"` has `inputSchema` for the parameters, without the
            outer dict. `"json-schema"` is the schema of the parameters, with the name as its `title`, and the
            description.

    Raises:
        UsageError: There is no such format.
        ExtraError: transformers is not installed.
    """
    if format not in get_args(Format):
        known = " or ".join(f'"{one}"' for one in get_args(Format))
        raise UsageError(f"format={printable(repr(format))} is invalid. Pass {known}.")
    require("eval", "What the model is shown of tools", ["transformers"])
    from transformers.utils import get_json_schema

    kind = adapter if isinstance(adapter, type) else type(adapter)
    return [_formatted(get_json_schema(method), format) for method in bound_tools(kind).values()]


def _formatted(schema: JSON, format: Format) -> JSON:
    if format == "openai":
        return schema
    shown: JSON = schema["function"]
    named: JSON = {"name": shown["name"], "description": shown["description"]}
    if format == "anthropic":
        return named | {"input_schema": shown["parameters"]}
    if format == "mcp":
        return named | {"inputSchema": shown["parameters"]}
    return {"title": shown["name"], "description": shown["description"], **shown["parameters"]}
