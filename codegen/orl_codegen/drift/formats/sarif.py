"""For code scanning: SARIF 2.1.0."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from orl_codegen.drift.findings import Finding, Report, by_tool
from orl_codegen.drift.rules import RULES, Profile, Rule
from orl_codegen.errors import json_escape, printable_lines
from orl_codegen.version import __version__

_LEVELS = {"error": "error", "warning": "warning", "info": "note", "off": "none"}


def sarif_report(report: Report) -> str:
    """One run with the rules that it names; accepted findings are suppressed results."""
    found = [finding for group in by_tool(finding for _, _, finding in report) for finding in group.findings]
    rules = [rule for rule in RULES.values() if any(finding.change.rule == rule.id for finding in found)]
    driver = {
        "name": "orl-codegen",
        "version": __version__,
        "rules": [_rule(rule, report.profile) for rule in rules],
    }
    order = {rule.id: index for index, rule in enumerate(rules)}
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(report.failures)],
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, order) for finding in found],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return printable_lines(json.dumps(log, indent=2), json_escape) + "\n"


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def _invocation(failures: Sequence[str]) -> dict[str, Any]:
    notes = [{"level": "error", "message": {"text": failure}} for failure in failures]
    return {"executionSuccessful": not failures, "toolExecutionNotifications": notes}


def _rule(rule: Rule, profile: Profile) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.meaning},
        "fullDescription": {"text": f"{rule.meaning} {rule.why}"},
        "help": {"text": rule.react},
        "defaultConfiguration": {"level": _LEVELS[rule.severity(profile)]},
        "properties": {"category": rule.category},
    }


def _result(finding: Finding, order: dict[str, int]) -> dict[str, Any]:
    change = finding.change
    suppressed = finding.accepted is not None
    return {
        "ruleId": change.rule,
        "ruleIndex": order[change.rule],
        "level": _LEVELS[finding.severity],
        "message": {"text": " ".join(filter(None, [finding.message, finding.note]))},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(finding.file)},
                    "region": {"startLine": finding.line},
                },
                "logicalLocations": [{"name": change.tool or "", "fullyQualifiedName": change.path}],
            }
        ],
        "partialFingerprints": {"change/v1": change.fingerprint},
        **({"suppressions": [{"kind": "external", "justification": finding.accepted}]} if suppressed else {}),
    }
