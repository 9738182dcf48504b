"""Comparing takes time in proportion to the number of tools, whatever happened to them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from orl_codegen.drift.comparison.compare import compare_snapshots
from orl_codegen.generator.snapshot import Snapshot
from tests.drift.cases import snapshot


def tools(number: int, name: str, change: str) -> Snapshot:
    """Tools that share most of their words, and have one of their own."""
    described = "Search the recipes of kitchen number{} and return the best ones{}"
    query = {"type": "string", "description": "What to look for."}
    specs: list[dict[str, Any]] = [
        {"name": f"{name}{i}", "description": described.format(i, change), "input_schema": {"properties": {"q": query}}}
        for i in range(number)
    ]
    return snapshot({"tools": specs})


def others(number: int) -> Snapshot:
    """Tools that have nothing in common with those."""
    return snapshot({"tools": [{"name": f"boil{i}", "description": f"Heat water, pot{i}."} for i in range(number)]})


CHANGES: dict[str, Callable[[int], tuple[Snapshot, Snapshot]]] = {
    "changed": lambda number: (tools(number, "act", ""), tools(number, "act", " of all")),
    "renamed and changed": lambda number: (tools(number, "act", ""), tools(number, "move", " of all")),
    "replaced": lambda number: (tools(number, "act", ""), others(number)),
}


def seconds(pair: tuple[Snapshot, Snapshot]) -> float:
    """Processor time of a comparison, which other processes do not lengthen."""
    start = time.process_time()
    assert compare_snapshots(*pair)
    return time.process_time() - start


@pytest.mark.parametrize("change", CHANGES)
def test_four_times_the_tools_take_four_times_as_long(change: str) -> None:
    """Four times as many tools take about four times as long, and not sixteen times."""
    few, many = (min(seconds(CHANGES[change](number)) for _ in range(2)) for number in (500, 2000))
    assert many < 8 * few


def test_each_of_many_renamed_tools_is_recognised() -> None:
    """Tools that are all renamed and changed are told apart by the word that each has alone."""
    changes = compare_snapshots(*CHANGES["renamed and changed"](300))
    renamed = [(change.old, change.new) for change in changes if change.rule == "tool-renamed"]
    assert sorted(renamed) == sorted((f"act{i}", f"move{i}") for i in range(300))
