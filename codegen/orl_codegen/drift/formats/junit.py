"""For test reports: JUnit XML, where each environment is a suite and each comparison a test case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from orl_codegen.drift.findings import Checked, Comparison, Finding, Report, by_tool, counted
from orl_codegen.drift.rules import SEVERITIES
from orl_codegen.errors import printable


def junit_report(report: Report) -> str:
    """A suite for each environment. The findings that `--fail-on` counts make a comparison fail."""
    limit = SEVERITIES.index(report.fail_on)
    lines = ['<?xml version="1.0" encoding="utf-8"?>', '<testsuites name="orl-codegen">']
    for checked in report.checked:
        lines += _suite(checked, limit)
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _suite(checked: Checked, limit: int) -> Iterator[str]:
    outcomes = [comparison.outcome for comparison in checked.comparisons]
    failures = sum(bool(_severe(comparison, limit)) for comparison in checked.comparisons)
    errors, skipped = outcomes.count("failed"), outcomes.count("left out")
    counts = f'tests="{len(outcomes)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    yield f"  <testsuite name={_attribute(checked.name)} {counts}>"
    for comparison in checked.comparisons:
        yield from _case(checked, comparison, limit)
    yield "  </testsuite>"


def _case(checked: Checked, comparison: Comparison, limit: int) -> Iterator[str]:
    yield f"    <testcase classname={_attribute(checked.name)} name={_attribute(comparison.name)}>"
    severe = _severe(comparison, limit)
    if comparison.outcome == "left out":
        yield f"      <skipped message={_attribute(comparison.note)}/>"
    if comparison.outcome == "failed":
        yield f"      <error message={_attribute(comparison.note)}/>"
    if severe:
        lines = _by_tool(severe)
        summary = _attribute(f"{len(severe)} finding{'' if len(severe) == 1 else 's'}")
        yield f'      <failure message={summary} type="drift">{_content(lines)}</failure>'
    mild = [finding for finding in comparison.findings if finding not in severe]
    if mild:
        yield f"      <system-out>{_content(_by_tool(mild))}</system-out>"
    yield "    </testcase>"


def _severe(comparison: Comparison, limit: int) -> list[Finding]:
    return [finding for finding in counted(comparison) if SEVERITIES.index(finding.severity) <= limit]


def _by_tool(findings: Iterable[Finding]) -> str:
    """A line for each finding, those about a tool together."""
    return "\n".join(_line(finding) for group in by_tool(findings) for finding in group.findings)


def _line(finding: Finding) -> str:
    severity = "accepted" if finding.accepted is not None else finding.severity
    return (
        f"{finding.file}:{finding.line}: {severity}: {finding.message} {finding.note}".rstrip()
        + f" [{finding.change.rule}]"
    )


def _attribute(text: str) -> str:
    return quoteattr(printable(text, 1000))


def _content(text: str) -> str:
    return "\n".join(escape(printable(line, 2000)) for line in text.split("\n"))
