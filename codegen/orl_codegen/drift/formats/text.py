"""For people: what was compared, what was found, how to accept it and how to regenerate, in colour."""

from __future__ import annotations

from collections.abc import Iterator

import click

from orl_codegen.drift.acceptance import Acceptance
from orl_codegen.drift.findings import Checked, Comparison, Finding, Report, ToolFindings, by_tool, counted
from orl_codegen.drift.remedies import acceptance_blocks
from orl_codegen.drift.rules import RULES
from orl_codegen.errors import printable

_COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}

_OUTCOMES = {
    "same": click.style("ok", fg="green"),
    "different": "",
    "left out": "left out",
    "failed": click.style("could not be compared", fg="red"),  # standard error says why
}


def text_report(report: Report) -> str:
    """The report in lines, with ANSI colours."""
    blocks = ["\n".join(_environment(checked, report.verbose)) for checked in report.checked]
    return "\n\n".join([*blocks, *_closing(report)]) + "\n"


def _environment(checked: Checked, verbose: bool) -> Iterator[str]:
    target = f" ({checked.target})" if checked.target != checked.name else ""
    yield f"{click.style(checked.name, bold=True)}{target}"
    width = max((len(comparison.name) for comparison in checked.comparisons), default=0)
    for comparison in checked.comparisons:
        yield f"  {comparison.name:<{width}}  {_outcome(comparison)}"
        for group in by_tool(comparison.findings):
            yield f"    {_heading(group)}"
            for finding in group.findings:
                yield from _finding(finding)
                yield from _meaning(finding) if verbose else ()
    if checked.diff:
        yield from ("", _coloured(checked.diff))


def _outcome(comparison: Comparison) -> str:
    found = len(counted(comparison))
    accepted = len(comparison.findings) - found
    words = [f"{found} finding{'' if found == 1 else 's'}"] if found else []
    words += [f"{accepted} accepted"] if accepted else []
    words += [comparison.note] if comparison.note and comparison.outcome != "failed" else []
    return ", ".join(filter(None, [_OUTCOMES[comparison.outcome], *words]))


def _heading(group: ToolFindings) -> str:
    name = [] if group.tool is None else [click.style(printable(group.tool), bold=True)]
    return "  ".join([*name, f"{group.file}:{group.line}"])


def _finding(finding: Finding) -> Iterator[str]:
    severity = "accepted" if finding.accepted is not None else finding.severity
    badge = click.style(f"{severity:<8}", fg=_COLOURS.get(severity), bold=True)
    yield f"      {badge} {finding.message} {finding.note}".rstrip()
    change = finding.change
    where = " ".join(filter(None, [change.rule, printable(change.path), change.fingerprint]))
    yield click.style(f"               {where}", dim=True)
    if finding.accepted is not None:
        yield f"               {printable(finding.accepted)}"


def _meaning(finding: Finding) -> Iterator[str]:
    rule = RULES[finding.change.rule]
    yield f"               Why: {rule.why}"
    yield f"               What to do: {rule.react}"


def _coloured(diff: str) -> str:
    colours = {"+": "green", "-": "red", "@": "cyan"}
    return "\n".join(click.style(line, fg=colours.get(line[:1])) for line in diff.rstrip("\n").split("\n"))


def _closing(report: Report) -> Iterator[str]:
    clean = not (report.failed or report.failures)
    yield click.style(f"{report.summary[:1].upper()}{report.summary[1:]}.", fg="green" if clean else None, bold=True)
    acceptable = [finding for finding in report.failing if not RULES[finding.change.rule].about_files]
    if acceptable and not report.accept_blocks:
        yield "To accept what was found, run the same command with --accept-block: it prints what to paste."
    elif acceptable:
        heading = "To accept what was found, paste this into pyproject.toml and say why:"
        yield f"{heading}\n\n{acceptance_blocks(acceptable)}"
    if report.unused:
        yield "\n".join(["Acceptances that cover nothing any more; remove them:", "", *map(_unused, report.unused)])
    yield from _commands(report)


def _commands(report: Report) -> Iterator[str]:
    """The commands to run, once each, under what they are for."""
    commands: dict[str, list[str]] = {}
    for checked in report.checked:
        if checked.findings and checked.regenerate:
            commands.setdefault(checked.purpose, []).append(f"    {checked.regenerate}")
    for purpose, lines in commands.items():
        yield "\n".join([f"{purpose}:", "", *dict.fromkeys(lines)])


def _unused(entry: Acceptance) -> str:
    words = filter(None, (entry.environment, entry.rule, entry.tool, entry.path, entry.fingerprint))
    return f"    {' '.join(map(printable, words))}: {printable(entry.reason)}"
