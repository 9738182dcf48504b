"""What a project has accepted: a change that it has reviewed and does not want to hear of again."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from orl_codegen.drift.change import Change
from orl_codegen.drift.rules import RULES

UNEDITED = "reviewed: say why"
"""The reason in a block that is printed for pasting; it has to be replaced by a real one."""


@dataclass(frozen=True)
class Acceptance:
    """Accepts one change by its fingerprint, or every change that a rule reports at one place.

    Attributes:
        reason: Why the change is accepted.
        environment: Slug of the environment; None for every environment.
        rule: Id of the rule.
        tool: Wire name; None for the environment itself.
        path: The JSON pointer of the finding.
        fingerprint: The finding's fingerprint; with it, rule, tool and path may be left out.
        expires: The last day on which the acceptance holds; None if it never expires.
    """

    reason: str
    environment: str | None = None
    rule: str | None = None
    tool: str | None = None
    path: str | None = None
    fingerprint: str | None = None
    expires: datetime.date | None = None

    def covers(self, change: Change, environment: str) -> bool:
        """Whether it accepts this change of that environment; changes of generated files are never accepted."""
        if RULES[change.rule].about_files or self.environment not in (None, environment):
            return False
        if self.fingerprint is not None:
            return self.fingerprint == change.fingerprint and self.rule in (None, change.rule)
        return (self.rule, self.tool, self.path) == (change.rule, change.tool, change.path)

    def expired(self, today: datetime.date) -> bool:
        """Whether its last day is over."""
        return self.expires is not None and self.expires < today
