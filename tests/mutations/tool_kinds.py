# ruff: noqa: E501 - a row is a line
"""The table of changes that concern a tool as a whole, or which tools there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from orl_codegen.schema.pointer import escape
from tests.mutations import edits
from tests.mutations.tools import Tool

Found = tuple[str, str, str]
"""The rule, the tool and the pointer of a finding."""


@dataclass(frozen=True)
class ToolKind:
    """A kind of change of one tool in a list of tools.

    Attributes:
        name: What happens.
        fits: Which tools it fits.
        after: Edits the new list, given the place of the tool in it, and returns the findings that this must yield.
        before: What both sides get first.
    """

    name: str
    fits: Callable[[Tool], object]
    after: Callable[[list[Tool], int, Random], list[Found]]
    before: Callable[[Tool, Random], object] = lambda tool, rng: None


def _described(tool: Tool) -> bool:
    return bool((tool.get("description") or "").strip())


def _parameters(tool: Tool) -> list[str]:
    return sorted((tool["input_schema"] or {}).get("properties", {}))


def _describes(tool: Tool) -> list[str]:
    return [name for name in _parameters(tool) if tool["input_schema"]["properties"][name].get("description")]


def _on_tool(rule: str, path: str, edit: edits.Edit) -> Callable[[list[Tool], int, Random], list[Found]]:
    def after(tools: list[Tool], place: int, rng: Random) -> list[Found]:
        edit(tools[place], rng)
        return [(rule, tools[place]["name"], path)]

    return after


def _add(tools: list[Tool], place: int, rng: Random) -> list[Found]:
    properties = {"quartz": {"type": "string"}, "flint": {"type": "integer"}}
    added = {"name": "carve_stone", "description": edits.words(rng), "input_schema": {"properties": properties}}
    tools.insert(place, {**added, "input_schema": {"type": "object", **added["input_schema"]}})
    return [("tool-added", "carve_stone", "")]


def _remove(tools: list[Tool], place: int, rng: Random) -> list[Found]:
    return [("tool-removed", tools.pop(place)["name"], "")]


def _rename(tools: list[Tool], place: int, rng: Random) -> list[Found]:
    tools[place]["name"] = "carve_stone"
    return [("tool-renamed", "carve_stone", "/name")]


def _rename_and_describe(tools: list[Tool], place: int, rng: Random) -> list[Found]:
    edits.reword(tools[place], rng)
    return [*_rename(tools, place, rng), ("tool-description-changed", "carve_stone", "/description")]


def _rename_and_describe_parameter(tools: list[Tool], place: int, rng: Random) -> list[Found]:
    name = rng.choice(_describes(tools[place]))
    edits.reword(tools[place]["input_schema"]["properties"][name], rng)
    path = f"/input_schema/properties/{escape(name)}/description"
    return [*_rename(tools, place, rng), ("param-description-changed", "carve_stone", path)]


def _rename_and_add_parameter(tools: list[Tool], place: int, rng: Random) -> list[Found]:
    tools[place]["input_schema"]["properties"]["quartz"] = {"type": "string", "description": edits.words(rng)}
    return [*_rename(tools, place, rng), ("param-added-optional", "carve_stone", "/input_schema/properties/quartz")]


# fmt: off
TOOL_CHANGES: tuple[ToolKind, ...] = (
    ToolKind("tool added",               lambda tool: True, _add),
    ToolKind("tool removed",             lambda tool: True, _remove),
    ToolKind("tool renamed",             lambda tool: True, _rename),
    ToolKind("tool described",           lambda tool: True, _on_tool("tool-description-added", "/description", edits.describe), lambda tool, rng: tool.pop("description", None)),
    ToolKind("tool description changed", _described, _on_tool("tool-description-changed", "/description", edits.reword)),
    ToolKind("tool description removed", _described, _on_tool("tool-description-removed", "/description", edits.drop("description"))),
    ToolKind("metadata added",           lambda tool: "annotations" not in tool, _on_tool("tool-metadata-changed", "/annotations", edits.put(annotations={"readOnlyHint": True}))),
    ToolKind("tool renamed and described", lambda tool: _described(tool) and _parameters(tool), _rename_and_describe),
    ToolKind("tool renamed, parameter described", lambda tool: len(_parameters(tool)) > 1 and _describes(tool), _rename_and_describe_parameter),
    ToolKind("tool renamed, parameter added", lambda tool: len(_parameters(tool)) > 2, _rename_and_add_parameter),
)
# fmt: on
