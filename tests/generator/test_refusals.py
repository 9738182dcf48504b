"""The benchmark of refused calls: it counts what a model cannot help, and nothing else."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchmarks import fidelity, refusals
from benchmarks.reader import Reader
from benchmarks.refusals import Bound, adapters, measure, serving
from orl_codegen.schema.expansion import expand

LEVEL = {"type": "integer", "minimum": 1, "maximum": 3, "description": "How far to go."}
MODE = {"type": "object", "properties": {"fast": {"type": "boolean"}}, "required": ["fast"], "description": "How."}
SPEC: dict[str, Any] = {
    "name": "go",
    "description": "Go there.",
    "input_schema": {"type": "object", "properties": {"level": LEVEL, "mode": MODE}, "required": ["level", "mode"]},
}


def test_a_tool_that_is_told_in_full_is_called_without_refusal() -> None:
    """Limits and fields that stand in words are obeyed as keywords would be. TRL's binder tells neither of them."""
    found = measure([SPEC], calls=20)
    assert (found["orl-codegen"].calls, found["orl-codegen"].refused) == (20, 0)
    assert found["TRL"].refused > 10


def test_a_tool_that_is_not_shown_is_not_called() -> None:
    """It counts as not bound, and not as calls that went well."""
    found = measure([{**SPEC, "name": "go-there"}], calls=3)
    assert (found["TRL"].bound, found["TRL"].calls) == (0, 0)
    assert (found["orl-codegen"].bound, found["orl-codegen"].refused) == (1, 0)


def test_what_is_drawn_is_valid_for_what_is_shown() -> None:
    """The model writes no parameter that it does not know, and leaves none out that it is told to give."""
    specs = fidelity.case_specs()[:40]
    for spec, bound in zip(specs, adapters(specs), strict=True):
        assert bound is not None
        shown = bound.shown["function"]["parameters"]
        for seed in range(3):
            written = Reader(bound.shown, random.Random(seed)).arguments(expand(spec.get("input_schema"), spec["name"]))
            assert {*shown.get("required", [])} <= written.keys() <= shown["properties"].keys()


@pytest.mark.parametrize("loss", ["maximum", "null that nobody gave"])
def test_a_planted_loss_is_counted(loss: str) -> None:
    """A limit that is not told, and a null in place of an argument that was left out, are refused by the server."""
    (whole,) = adapters([SPEC])
    assert whole is not None
    shown = whole.shown
    if loss == "maximum":
        shown["function"]["parameters"]["properties"]["level"]["description"] = "How far to go."
    nulls = dict.fromkeys(["level", "mode"] if loss != "maximum" else [])
    spoilt = Bound(shown, lambda arguments: whole.send(arguments) | nulls)
    with serving([SPEC]) as call:
        outcomes = [
            refusals.carried_out(call, 0, spoilt, Reader(shown, random.Random(seed)), SPEC) for seed in range(10)
        ]
    assert outcomes.count(False) > 5
