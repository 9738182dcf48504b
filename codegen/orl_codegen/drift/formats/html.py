"""For people, in a browser: the findings of each environment and tool, with the old and the new value side by side.

One page without scripts. The server's texts reach the template as plain text and are escaped there; should one still
become markup, the page's own policy has the browser load nothing and apply no style but the page's.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orl_codegen.drift.acceptance import Acceptance
from orl_codegen.drift.findings import Checked, Comparison, Finding, Report, by_tool
from orl_codegen.drift.formats.sides import sides
from orl_codegen.drift.remedies import acceptance_blocks
from orl_codegen.drift.rules import RULES
from orl_codegen.errors import defused, printable

if TYPE_CHECKING:
    from jinja2 import Template

KINDS = ("error", "warning", "info", "accepted")
"""What a reader can show and hide, the most severe first."""

_OUTCOMES = {"same": "ok", "different": "differs", "left out": "left out", "failed": "could not be compared"}


def html_report(report: Report) -> str:
    """The report as one HTML page that needs nothing else."""
    style, template = _assets()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return template.render(
        style=style,
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        report=report,
        clean=not (report.failed or report.failures),
        kinds=_kinds(finding for _, _, finding in report),
        environments=[_environment(checked) for checked in report.checked],
        acceptance=acceptance_blocks(report.failing),
        unused=[*map(_unused, report.unused)],
    )


@cache
def _assets() -> tuple[str, Template]:
    """The text of the style, whose digest the policy names, and the template."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    here = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(here), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return (here / "report.css").read_text("utf-8"), environment.get_template("report.html.jinja")


def _kinds(findings: Iterable[Finding]) -> Mapping[str, int]:
    """How many findings there are of each kind that there is, the most severe first."""
    counts = Counter(map(_kind, findings))
    return {kind: counts[kind] for kind in KINDS if counts[kind]}


def _kind(finding: Finding) -> str:
    return "accepted" if finding.accepted is not None else finding.severity


def _environment(checked: Checked) -> dict[str, Any]:
    return {
        "name": checked.name,
        "target": checked.target,
        "kinds": _kinds(finding for comparison in checked.comparisons for finding in comparison.findings),
        "comparisons": [*map(_comparison, checked.comparisons)],
        "purpose": checked.purpose,
        "regenerate": checked.regenerate if checked.findings else "",
        "diff": [(_LINES.get(line[:1], "same"), line) for line in checked.diff.rstrip("\n").split("\n")],
    }


_LINES = {"+": "added", "-": "removed", "@": "place"}


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "name": comparison.name,
        "outcome": _OUTCOMES[comparison.outcome],
        "failed": comparison.outcome == "failed",
        "note": defused(comparison.note),
        "tools": [
            {
                "name": None if group.tool is None else printable(group.tool),
                "place": f"{group.file}:{group.line}",
                "kinds": _kinds(group.findings),
                "findings": [*map(_finding, group.findings)],
            }
            for group in by_tool(comparison.findings)
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    change, rule = finding.change, RULES[finding.change.rule]
    message = re.split(r"`([^`]*)`", defused(" ".join(filter(None, [finding.message, finding.note]))))
    return {
        "kind": _kind(finding),
        "message": [(bool(position % 2), part) for position, part in enumerate(message)],
        "sides": sides(change),
        "accepted": None if finding.accepted is None else defused(finding.accepted),
        "rule": rule,
        "path": printable(change.path, 1000),
        "fingerprint": change.fingerprint,
    }


def _unused(entry: Acceptance) -> str:
    words = filter(None, (entry.environment, entry.rule, entry.tool, entry.path, entry.fingerprint))
    return f"{' '.join(map(printable, words))}: {printable(entry.reason)}"
