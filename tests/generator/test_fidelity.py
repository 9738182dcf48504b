"""How much of the environments' tool specs reaches the model, as a share that must not fall."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import fidelity

SHARED = Path(__file__).parents[3] / "shared"


@pytest.mark.parametrize("specs", [fidelity.toolset_specs, fidelity.case_specs])
def test_the_model_is_told_what_the_environment_says(specs: Any) -> None:
    """Every tool of the SDK's toolsets and of the golden cases is bound, and 99.5 % of their facts are kept."""
    found = fidelity.score(specs(), fidelity.orl_codegen(specs()))
    assert found.bound == found.tools
    assert found.share >= 0.995


def test_the_measure_sees_a_loss() -> None:
    """A tool that is not bound, or whose parameter lost its type, its default or its name, scores less."""
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 5, "description": "how many"}}}
    spec = {"name": "count", "description": "Count it.", "input_schema": schema}
    (whole,) = fidelity.orl_codegen([spec])
    assert fidelity.score([spec], [whole]).share == 1
    assert fidelity.score([spec], [None]).share == 0
    for wrong in ({"type": "string"}, {"description": "how many"}):
        spoilt = json.loads(json.dumps(whole))
        spoilt["function"]["parameters"]["properties"]["n"].update(wrong)
        assert fidelity.score([spec], [spoilt]).share < 1


@pytest.mark.parametrize("corpus", ["sdk", "ors", "mcp", "bfcl"])
def test_the_corpus_of_real_tools_is_told_in_full(corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a thousand tools of public servers are bound and described, by a measure from outside the project."""
    if not (SHARED / "corpus" / f"{corpus}.jsonl").exists():
        pytest.skip("the corpus of real tool specs is not available")
    monkeypatch.setattr(sys, "path", [str(SHARED / "tools"), *sys.path])
    import fidelity as measure

    lines = (SHARED / "corpus" / f"{corpus}.jsonl").read_text("utf-8").splitlines()
    specs = [json.loads(line) for line in lines]
    by_environment: dict[str, list[int]] = {}
    for i, spec in enumerate(specs):
        by_environment.setdefault(spec["environment"], []).append(i)
    facts: list[tuple[str, str, bool]] = []
    for indices in by_environment.values():
        chosen = [specs[i] for i in indices]
        for spec, shown in zip(chosen, fidelity.orl_codegen(chosen), strict=True):
            facts += measure.facts_kept(spec, shown)
    assert all(kept for kind, _, kept in facts if kind == "bound")
    assert sum(kept for _, _, kept in facts) >= 0.995 * len(facts)
