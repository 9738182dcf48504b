"""Reports to print: an ordinary one, and one in which every text from the server attacks whoever prints it."""

from __future__ import annotations

from collections.abc import Iterable

from orl_codegen.drift.acceptance import Acceptance
from orl_codegen.drift.change import Change
from orl_codegen.drift.comparison.compare import compare_snapshots
from orl_codegen.drift.findings import Checked, Comparison, Report
from orl_codegen.drift.policy import Policy
from tests.drift.cases import snapshot

HOSTILE = (
    "\n::error::x%0A\r]]>&<b>|`@someone` https://evil.example `|"
    "\x1b[31m\u202e**bold** [link](http://evil) <!-- {{ \ud7ff"
)

COMMANDS = "##[set-output name=report;]1\n::stop-commands::x ##vso[task.complete]\r  ::add-mask::e a::error::b"
"""Commands to the runners of CI, in the few characters of a text that a message shows."""


def report(changes: Iterable[Change], accepted: tuple[Acceptance, ...] = ()) -> Report:
    """A report of these changes of one environment, whose other comparisons were left out or failed."""
    findings = Policy(accepted=accepted).judge(changes, "kitchen", "generated/kitchen.py", {"search": 42, None: 7})
    comparisons = (
        Comparison("module ↔ snapshot", "same"),
        Comparison("snapshot ↔ live", "different", findings),
        Comparison("module types", "left out", note="switched off"),
    )
    return Report(
        (Checked("kitchen", "demo:Kitchen", comparisons, "orl-codegen generate demo:Kitchen"),), "training", "warning"
    )


ORDINARY = (
    Change("param-became-required", "search", "/input_schema/properties/query", False, True),
    Change("tool-description-changed", "search", "/description", "Find.", "Find recipes."),
    Change("split-added", None, "/splits/test", None, "test"),
)


def hostile(text: str = HOSTILE) -> tuple[Change, ...]:
    """The changes when a server puts an attack into every text that it controls."""
    attack = {"type": "string", "description": text, "enum": [text, "b"], "default": text, "pattern": text}
    schema = {"properties": {text: attack}, "required": [text]}
    old = {"tools": [{"name": text, "input_schema": {"properties": {text: {"type": "string"}}}}]}
    new = {"tools": [{"name": text, "description": text, "input_schema": schema}], "splits": [{"name": text}]}
    return compare_snapshots(snapshot(old), snapshot(new))


def unreachable(why: str = "http://127.0.0.1:1 could not be reached: refused.") -> Report:
    """A report of an environment whose server could not be reached."""
    comparison = Comparison("snapshot ↔ live", "failed", note=why)
    return Report((Checked("kitchen", "http://127.0.0.1:1", (comparison,)),), "training", "warning")
