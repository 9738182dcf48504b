"""What holds for any two snapshots: found by hypothesis over whole lists of tool specs.

`ORL_EXAMPLES=20000 pytest tests/drift/test_properties.py` is the long run.
"""

from __future__ import annotations

import copy
import os
from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from orl_codegen.drift.comparison.compare import compare_snapshots
from orl_codegen.drift.policy import Policy
from orl_codegen.errors import SchemaError, printable
from orl_codegen.generator.contract.contract import build
from orl_codegen.generator.snapshot import Snapshot
from orl_codegen.schema.json_values import canonical
from tests.drift.cases import snapshot
from tests.drift.test_rules import MIRROR
from tests.generator import specs

thorough = settings(
    max_examples=int(os.environ.get("ORL_EXAMPLES", "40")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@st.composite
def edits(draw: st.DrawFn) -> tuple[Snapshot, Snapshot]:
    """A snapshot, and the same one after a few edits of one tool, as a server's next release would have them."""
    tools = draw(specs.tool_specs())
    edited = copy.deepcopy(tools)
    tool = draw(st.sampled_from(edited))
    schema = tool["input_schema"]
    if not isinstance(schema, dict) or not schema.get("properties"):
        tool["input_schema"] = draw(specs.input_schemas())
        return snapshot({"tools": tools}), snapshot({"tools": edited})
    name = draw(st.sampled_from(sorted(schema["properties"])))
    for edit in draw(
        st.lists(st.sampled_from(["schema", "remove", "add", "require", "more", "describe"]), min_size=1, max_size=3)
    ):
        if edit == "schema":
            schema["properties"][name] = draw(specs.SCHEMAS)
        elif edit == "remove":
            schema["properties"].pop(name, None)
        elif edit == "add":
            schema["properties"][draw(specs.NAMES)] = draw(specs.SCHEMAS)
        elif edit == "require":
            schema["required"] = sorted({*schema.get("required", ()), name})
        elif edit == "more" and isinstance(schema["properties"].get(name), dict):
            schema["properties"][name] |= draw(specs._annotations())
        elif edit == "describe":
            tool["description"] = draw(specs.TEXT)
    return snapshot({"tools": tools}), snapshot({"tools": edited})


def changes_of(old: Snapshot, new: Snapshot) -> Any:
    """The changes; specs that are rightly refused do not count as examples."""
    try:
        return compare_snapshots(old, new)
    except SchemaError:
        assume(False)


@thorough
@given(specs.tool_specs())
def test_the_same_tools_are_no_change(tools: list[dict[str, Any]]) -> None:
    """Tools compared with an equal copy in another order have no findings."""
    old = snapshot({"tools": tools})
    new = replace(old, tools=tuple(copy.deepcopy(tools)[::-1]), target="http://127.0.0.1:2")
    assert [change.rule for change in changes_of(old, new)] == ["target-changed"]


@thorough
@given(edits())
def test_every_finding_is_unique_and_printable(pair: tuple[Snapshot, Snapshot]) -> None:
    """No change is reported twice, every message is one line that is safe to print, and values are JSON."""
    changes = changes_of(*pair)
    assert len({change.fingerprint for change in changes}) == len(changes)
    for finding in Policy().judge(changes, "kitchen", "a.py", {}):
        assert finding.message == printable(finding.message, 10_000) and finding.message.endswith(".")
        canonical([finding.change.old, finding.change.new])


@thorough
@given(edits())
def test_a_change_of_what_the_model_sees_is_found(pair: tuple[Snapshot, Snapshot]) -> None:
    """If the text, a type or the requiredness of a tool's method differs, there is a finding about that tool."""
    changes = changes_of(*pair)
    old, new = ({tool.wire_name: tool for tool in build(side).tools} for side in pair)
    for name in old.keys() & new.keys():
        seen = [
            (tool.docstring, [(parameter.name, parameter.required) for parameter in tool.parameters])
            for tool in (old[name], new[name])
        ]
        assert seen[0] == seen[1] or name in {change.tool for change in changes}


@thorough
@given(edits())
def test_every_finding_has_its_mirror(pair: tuple[Snapshot, Snapshot]) -> None:
    """With old and new swapped, each finding becomes its mirror: added is removed, narrower is wider."""
    there, back = changes_of(*pair), changes_of(*reversed(pair))
    assert Counter(map(mirrored, (change.rule for change in there))) == Counter(
        map(directed, (change.rule for change in back))
    )


def directed(rule: str) -> str:
    """A rule without the part that its mirror does not have."""
    return rule.replace("param-added-required", "param-added").replace("param-added-optional", "param-added")


def mirrored(rule: str) -> str:
    """What a rule becomes when old and new are swapped."""
    pairs = {**{b: a for a, b in MIRROR.items()}, **MIRROR, "removed": "added"}
    rule = directed(rule)
    ending = next((ending for ending in pairs if rule.endswith(f"-{ending}")), None)
    return rule if ending is None else rule.removesuffix(ending) + pairs[ending]
