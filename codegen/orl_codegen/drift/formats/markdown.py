"""For a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orl_codegen.drift.findings import Checked, Report, ToolFindings, by_tool, counted
from orl_codegen.errors import defused, printable

MARKER = "<!-- orl-codegen check -->"
"""The first line, by which a workflow finds its own comment to update it."""

MAX_LENGTH = 60_000
"""GitHub accepts comments of up to 65,536 characters."""

_SIGNS = {"error": "🛑 error", "warning": "⚠️ warning", "info": "info"}


def markdown_report(report: Report) -> str:
    """A heading with the summary, a table for each comparison with its findings under their tools, and what to do."""
    blocks = [
        MARKER,
        f"### orl-codegen: {report.summary}",
        *(block for checked in report.checked for block in _section(checked)),
    ]
    kept = _fitting(blocks)
    if len(kept) < len(blocks):
        kept.append("The rest does not fit into a comment: see the log of the check.")
    return "\n\n".join(kept) + "\n"


def _fitting(blocks: list[str]) -> list[str]:
    kept, length = [], 0
    for block in blocks:
        length += len(block) + 2
        if length > MAX_LENGTH:
            break
        kept.append(block)
    return kept


def _section(checked: Checked) -> Iterator[str]:
    failed = [comparison for comparison in checked.comparisons if comparison.outcome == "failed"]
    if not checked.findings and not failed:
        return
    yield f"#### {markdown_text(checked.name)} ({code_span(checked.target)})"
    for comparison in checked.comparisons:
        rows = [row for group in by_tool(counted(comparison)) for row in _rows(group)]
        head = f"**{comparison.name}**\n\n| Tool | | What changed | Rule | Fingerprint |\n|---|---|---|---|---|"
        for start in range(0, len(rows), 50):
            yield "\n".join([head, *rows[start : start + 50]])
    for comparison in failed:
        yield f"**{comparison.name}** could not be compared: {code_span(comparison.note)}"
    if checked.regenerate:
        yield f"{checked.purpose}: {code_span(checked.regenerate)}"
    if checked.diff:
        fence = "`" * (_longest_run(checked.diff) + 3)
        yield f"<details><summary>Diff of the module</summary>\n\n{fence}diff\n{checked.diff}{fence}\n\n</details>"


def _rows(group: ToolFindings) -> Iterator[str]:
    """A row for each finding; the first one names the tool."""
    tool = "" if group.tool is None else code_span(printable(group.tool))
    for position, finding in enumerate(group.findings):
        message = markdown_text(" ".join(filter(None, [finding.message, finding.note])))
        change = finding.change
        cells = (tool if position == 0 else "", _SIGNS[finding.severity], message)
        yield f"| {' | '.join(cells)} | `{change.rule}` | `{change.fingerprint}` |"


def markdown_text(text: str) -> str:
    """Text in which nothing from a server is markup, a mention or HTML; whatever is between backticks is code."""
    parts = re.split(r"`([^`]*)`", defused(text))
    return "".join(code_span(part) if i % 2 else _escape(part) for i, part in enumerate(parts))


def _escape(text: str) -> str:
    entities = re.sub(r"[&<>]", lambda sign: {"&": "&amp;", "<": "&lt;", ">": "&gt;"}[sign[0]], text)
    return re.sub(r"([\\`*_{}\[\]()#+!|~])", r"\\\1", entities).replace("@", "@\u200b")


def code_span(text: str) -> str:
    """A code span that also works in a table: nothing in it is markup."""
    text = defused(text)
    fence = "`" * (_longest_run(text) + 1)
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{padding}{text}{padding}{fence}".replace("|", "\\|") if text else "(nothing)"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
