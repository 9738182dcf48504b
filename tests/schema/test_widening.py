"""A tool that differs from task to task is shown the limits that accept what any of its specs accepts."""

from __future__ import annotations

from typing import Any

import pytest

from orl_codegen.schema.expansion import expand
from orl_codegen.schema.widening import widen


@pytest.mark.parametrize(
    "first, second, limits",
    [
        (
            {"type": "number", "maximum": 9, "exclusiveMaximum": True},
            {"type": "number", "maximum": 9, "exclusiveMaximum": False},
            {"maximum": 9},
        ),
        ({"type": "number", "minimum": 1}, {"type": "number", "exclusiveMinimum": 1}, {"minimum": 1}),
        ({"type": "number", "minimum": 1}, {"type": "number", "exclusiveMinimum": 0}, {"exclusiveMinimum": 0}),
        (
            {"type": "array", "contains": {"const": 1}, "minContains": 2, "maxContains": 3},
            {"type": "array", "contains": {"const": 1}, "minContains": 4, "maxContains": 5},
            {"contains": {"const": 1}, "minContains": 2, "maxContains": 5},
        ),
        (
            {"type": "array", "contains": {"const": 1}, "minContains": 2},
            {"type": "array", "contains": {"const": 3}, "minContains": 2},
            {},
        ),
    ],
    ids=[
        "an exclusive limit of draft 4",
        "an equal one",
        "a lower one",
        "contains and its limits",
        "limits of two different contains",
    ],
)
def test_the_wider_limit_is_kept(first: dict[str, Any], second: dict[str, Any], limits: dict[str, Any]) -> None:
    """Of two limits the wider one holds, whichever comes first; one that only a side has is dropped."""
    for sides in ((first, second), (second, first)):
        tools = [expand({"properties": {"x": side}}, "act") for side in sides]
        assert dict(widen(tools).properties["x"].facts) == limits
