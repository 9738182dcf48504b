"""For GitHub Actions: workflow commands that become annotations on the lines of the generated methods."""

from __future__ import annotations

from orl_codegen.drift.findings import Finding, Report
from orl_codegen.errors import printable_lines

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def github_report(report: Report) -> str:
    """One workflow command for each finding that counts, and the summary."""
    failures = (f"::error title=orl-codegen::{_data(failure)}" for failure in report.failures)
    lines = [*map(_command, report.findings), *failures]
    return "".join(f"{line}\n" for line in [*lines, f"orl-codegen: {report.summary}"])


def _command(finding: Finding) -> str:
    message = " ".join(filter(None, [finding.message, finding.note]))
    properties = f"file={_value(finding.file)},line={finding.line},title={_value(finding.change.rule)}"
    return f"::{_COMMANDS[finding.severity]} {properties}::{_data(message)}"


def _data(text: str) -> str:
    """Text that can neither end a command nor begin another."""
    return printable_lines(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    """The same for a property, where commas and colons are special too."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
