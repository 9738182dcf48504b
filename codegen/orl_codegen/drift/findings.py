"""What a check has found, as data: findings, the comparisons that produced them, and the report of a whole run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from orl_codegen.drift.acceptance import Acceptance
from orl_codegen.drift.change import Change
from orl_codegen.drift.rules import SEVERITIES, Profile, Severity

Outcome = Literal["same", "different", "left out", "failed"]


@dataclass(frozen=True)
class Finding:
    """A change, weighed.

    Attributes:
        change: What changed.
        environment: Slug of the environment in which it changed, as acceptances name it.
        severity: error, warning or info.
        message: One sentence, safe to print.
        file: The committed file that it points to, relative to the working directory, with forward slashes.
        line: The line of the generated method, from 1.
        accepted: The reason why it is accepted, or None if it counts.
        note: Anything else a reader should know, such as that an acceptance has expired.
    """

    change: Change
    environment: str
    severity: Severity
    message: str
    file: str
    line: int = 1
    accepted: str | None = None
    note: str = ""


@dataclass(frozen=True)
class ToolFindings:
    """What was found about one tool, or about the environment where `tool` is None, and the place it points to."""

    tool: str | None
    file: str
    line: int
    findings: tuple[Finding, ...]


def by_tool(findings: Iterable[Finding]) -> tuple[ToolFindings, ...]:
    """Findings under their tools, in the order in which the tools first appear."""
    groups: dict[tuple[str | None, str, int], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.change.tool, finding.file, finding.line), []).append(finding)
    return tuple(ToolFindings(*place, tuple(found)) for place, found in groups.items())


@dataclass(frozen=True)
class Comparison:
    """One named comparison and its outcome; the note says why it was left out or failed."""

    name: str
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Checked:
    """Everything about one environment.

    Attributes:
        name: The slug, or another name for it in the output.
        target: The target, safe to print.
        comparisons: In the order in which they are reported.
        regenerate: The command that fixes the files, or an empty string.
        purpose: What that command does.
        diff: The unified diff of the module, if it was requested.
    """

    name: str
    target: str
    comparisons: tuple[Comparison, ...]
    regenerate: str = ""
    diff: str = ""
    purpose: str = "To write the files again"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of every comparison that count."""
        return tuple(finding for comparison in self.comparisons for finding in counted(comparison))


@dataclass(frozen=True)
class Report:
    """A whole run.

    Attributes:
        checked: Each environment.
        profile: The profile whose severities count.
        fail_on: The mildest severity that fails.
        verbose: Print what the rules mean, if the format has room for that.
        unused: Acceptances that no longer cover anything; empty if the run did not look at everything.
        accept_blocks: Print the blocks that accept what fails, if the format has room for that.
    """

    checked: tuple[Checked, ...]
    profile: Profile
    fail_on: Severity
    verbose: bool = False
    unused: tuple[Acceptance, ...] = ()
    accept_blocks: bool = False

    def __iter__(self) -> Iterator[tuple[Checked, Comparison, Finding]]:
        """Every finding, including accepted ones, with the environment and the comparison it comes from."""
        for checked in self.checked:
            for comparison in checked.comparisons:
                for finding in comparison.findings:
                    yield checked, comparison, finding

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings that count."""
        return tuple(finding for checked in self.checked for finding in checked.findings)

    @property
    def accepted(self) -> tuple[Finding, ...]:
        """The findings that were accepted."""
        return tuple(finding for _, _, finding in self if finding.accepted is not None)

    @property
    def failures(self) -> tuple[str, ...]:
        """Why comparisons could not be made."""
        comparisons = (comparison for checked in self.checked for comparison in checked.comparisons)
        return tuple(comparison.note for comparison in comparisons if comparison.outcome == "failed")

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The findings that count and are at least as severe as `fail_on`."""
        limit = SEVERITIES.index(self.fail_on)
        return tuple(finding for finding in self.findings if SEVERITIES.index(finding.severity) <= limit)

    @property
    def failed(self) -> bool:
        """Whether there is drift that fails."""
        return bool(self.failing)

    @property
    def summary(self) -> str:
        """The counts in one line: `2 errors, 1 warning, 1 accepted`."""
        words = []
        for severity in ("error", "warning", "info"):
            count = sum(finding.severity == severity for finding in self.findings)
            plural = "" if severity == "info" or count == 1 else "s"
            words += [f"{count} {severity}{plural}"] if count else []
        words += [f"{len(self.accepted)} accepted"] if self.accepted else []
        words += [f"{len(self.failures)} not compared"] if self.failures else []
        return ", ".join(words) or "no drift"


def counted(comparison: Comparison) -> tuple[Finding, ...]:
    """The findings of a comparison that were not accepted."""
    return tuple(finding for finding in comparison.findings if finding.accepted is None)
