"""How changes are weighed: the profile, the project's own severities, and the list of what it has accepted."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from orl_codegen.drift.acceptance import Acceptance
from orl_codegen.drift.change import Change
from orl_codegen.drift.findings import Finding
from orl_codegen.drift.rules import RULES, SEVERITIES, Profile, Severity

DEFAULT_PROFILE: Profile = "training"
DEFAULT_FAIL_ON: Severity = "warning"


@dataclass(frozen=True)
class Policy:
    """What the command line and the configuration say about severities.

    Attributes:
        profile: The profile whose severities the catalogue gives.
        severities: The project's own severities, by rule.
        accepted: What the project has accepted.
        today: The day that expiry dates are compared with.
    """

    profile: Profile = DEFAULT_PROFILE
    severities: Mapping[str, Severity] = field(default_factory=lambda: MappingProxyType({}))
    accepted: tuple[Acceptance, ...] = ()
    today: datetime.date = field(default_factory=datetime.date.today)

    def judge(
        self, changes: Iterable[Change], environment: str, file: str, lines: Mapping[str | None, int]
    ) -> tuple[Finding, ...]:
        """The findings that changes amount to, the most severe first; those that are `off` are left out.

        Args:
            changes: What changed.
            environment: Slug of the environment in which it changed.
            file: The file that the findings point to.
            lines: The line of each tool in that file, by wire name; that of the adapter under None.
        """
        found = (
            self._finding(change, environment, file, lines.get(change.tool, lines.get(None, 1))) for change in changes
        )
        counted = (finding for finding in found if finding.severity != "off")
        return tuple(sorted(counted, key=lambda finding: SEVERITIES.index(finding.severity)))

    def unused(self, findings: Iterable[Finding]) -> tuple[Acceptance, ...]:
        """The acceptances that cover none of the findings, given every finding of the project."""
        found = [(finding.change, finding.environment) for finding in findings]
        return tuple(entry for entry in self.accepted if not any(entry.covers(*one) for one in found))

    def _finding(self, change: Change, environment: str, file: str, line: int) -> Finding:
        rule = RULES[change.rule]
        severity = self.severities.get(rule.id, rule.severity(self.profile))
        covering = [entry for entry in self.accepted if entry.covers(change, environment)]
        valid = next((entry for entry in covering if not entry.expired(self.today)), None)
        note = f"It was accepted until {covering[0].expires}." if covering and valid is None else ""
        message = change.sentence(rule.sentence)
        return Finding(change, environment, severity, message, file, line, valid.reason if valid else None, note)
