"""The tools of adapters in the formats of model servers."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from transformers.utils import get_json_schema

from generated.documents import Documents
from generated.kitchen import Kitchen
from orl_codegen import tools
from orl_codegen.episodes.formats import Format
from orl_codegen.errors import UsageError
from orl_codegen.runtime.vocabulary import bound_tools


@pytest.mark.parametrize("adapter", [Kitchen, Documents])
def test_openai_is_what_training_shows(adapter: Any) -> None:
    """Exactly what `get_json_schema` makes of each method, whether of the class or of an instance."""
    shown = [get_json_schema(method) for method in bound_tools(adapter).values()]
    assert tools(adapter) == shown == tools(adapter.__new__(adapter), "openai")


@pytest.mark.parametrize("format", get_args(Format))
def test_every_format_has_the_same_facts(format: Format) -> None:
    """Name, description and parameters; only where they stand differs."""
    places = {"anthropic": "input_schema", "mcp": "inputSchema"}
    for whole, shown in zip(tools(Kitchen), tools(Kitchen, format), strict=True):
        function = whole["function"]
        if format in places:
            rebuilt = {"name": shown["name"], "description": shown["description"], "parameters": shown[places[format]]}
        elif format == "json-schema":
            parameters = {key: value for key, value in shown.items() if key not in ("title", "description")}
            rebuilt = {"name": shown["title"], "description": shown["description"], "parameters": parameters}
        else:
            rebuilt = shown["function"]
        assert rebuilt == function


def test_an_unknown_format_is_refused() -> None:
    """With the ones there are."""
    with pytest.raises(UsageError, match=r'"openai" or "anthropic" or "mcp" or "json-schema"'):
        tools(Kitchen, "xml")  # type: ignore[arg-type]
