"""For programs: JSON that follows `docs/findings.schema.json`."""

from __future__ import annotations

import json
from typing import Any

from orl_codegen.drift.acceptance import Acceptance
from orl_codegen.drift.findings import Checked, Comparison, Finding, Report
from orl_codegen.errors import json_escape, printable_lines


def json_report(report: Report) -> str:
    """The report as JSON; old and new values are the server's own, escaped where a CI runner would obey."""
    content = {
        "version": 1,
        "profile": report.profile,
        "fail_on": report.fail_on,
        "failed": report.failed,
        "environments": [_environment(checked) for checked in report.checked],
        "findings": [_finding(*found) for found in report if found[2].accepted is None],
        "accepted": [
            {**_finding(*found), "reason": found[2].accepted} for found in report if found[2].accepted is not None
        ],
        "unused_acceptances": [_acceptance(entry) for entry in report.unused],
    }
    return printable_lines(json.dumps(content, indent=2), json_escape) + "\n"


def _acceptance(entry: Acceptance) -> dict[str, Any]:
    keys = ("environment", "rule", "tool", "path", "fingerprint", "reason")
    return {key: getattr(entry, key) for key in keys}


def _environment(checked: Checked) -> dict[str, Any]:
    return {
        "name": checked.name,
        "target": checked.target,
        "comparisons": [
            {"name": comparison.name, "outcome": comparison.outcome, "note": comparison.note}
            for comparison in checked.comparisons
        ],
        "regenerate": checked.regenerate,
        "diff": checked.diff,
    }


def _finding(checked: Checked, comparison: Comparison, finding: Finding) -> dict[str, Any]:
    change = finding.change
    return {
        "rule": change.rule,
        "severity": finding.severity,
        "tool": change.tool,
        "path": change.path,
        "old": change.old,
        "new": change.new,
        "fingerprint": change.fingerprint,
        "message": " ".join(filter(None, [finding.message, finding.note])),
        "environment": checked.name,
        "comparison": comparison.name,
        "file": finding.file,
        "line": finding.line,
    }
