"""How changes are weighed: the profile, severities of the project's own, and the list of what it has accepted.

[tool.orl-codegen.severity]
param-order-changed = "error"

[[tool.orl-codegen.accept]]
environment = "kitchen"
rule = "tool-description-changed"
tool = "search"
path = "/description"
reason = "reviewed in #12"
expires = 2027-01-31
"""

from __future__ import annotations

import datetime
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from orl_codegen.drift.change import Change
from orl_codegen.drift.findings import Finding
from orl_codegen.drift.rules import RULES, SEVERITIES, Profile, Severity
from orl_codegen.errors import ConfigError, printable

Choice = TypeVar("Choice", bound=str)


@dataclass(frozen=True)
class Acceptance:
    """A change that the project lives with: one fingerprint, or whatever a rule says of one place.

    Attributes:
        reason: Why.
        environment: Slug of the environment; None for every one that changes so.
        rule: Id of the rule.
        tool: Wire name; None for the environment itself.
        path: The JSON pointer of the finding.
        fingerprint: The finding's fingerprint; with it, rule, tool and path may be left out.
        expires: The last day on which it holds; None for no end.
    """

    reason: str
    environment: str | None = None
    rule: str | None = None
    tool: str | None = None
    path: str | None = None
    fingerprint: str | None = None
    expires: datetime.date | None = None

    def covers(self, change: Change, environment: str) -> bool:
        """Whether it is about this change of that environment; no acceptance is about our own files."""
        if RULES[change.rule].about_files or self.environment not in (None, environment):
            return False
        if self.fingerprint is not None:
            return self.fingerprint == change.fingerprint and self.rule in (None, change.rule)
        return (self.rule, self.tool, self.path) == (change.rule, change.tool, change.path)


@dataclass(frozen=True)
class Policy:
    """What the command line and the configuration say about severities.

    Attributes:
        profile: Whose severities the catalogue gives.
        severities: Severities of the project's own, by rule.
        accepted: What the project has accepted.
        today: The day that expiry dates are compared with.
    """

    profile: Profile = "training"
    severities: Mapping[str, Severity] = field(default_factory=lambda: MappingProxyType({}))
    accepted: tuple[Acceptance, ...] = ()
    today: datetime.date = field(default_factory=datetime.date.today)

    def judge(
        self, changes: Iterable[Change], environment: str, file: str, lines: Mapping[str | None, int]
    ) -> tuple[Finding, ...]:
        """The findings that changes amount to, the gravest first; those that are `off` are left out.

        Args:
            changes: What changed.
            environment: Slug of the environment that it changed in.
            file: The file that the findings are shown at.
            lines: The line of each tool in it, by wire name; that of the adapter under None.
        """
        found = (
            self._finding(change, environment, file, lines.get(change.tool, lines.get(None, 1))) for change in changes
        )
        counted = (finding for finding in found if finding.severity != "off")
        return tuple(sorted(counted, key=lambda finding: SEVERITIES.index(finding.severity)))

    def unused(self, findings: Iterable[Finding]) -> tuple[Acceptance, ...]:
        """The acceptances that cover none of the findings, which are all that there are."""
        found = [(finding.change, finding.environment) for finding in findings]
        return tuple(entry for entry in self.accepted if not any(entry.covers(*one) for one in found))

    def _finding(self, change: Change, environment: str, file: str, line: int) -> Finding:
        rule = RULES[change.rule]
        severity = self.severities.get(rule.id, rule.severity(self.profile))
        covering = [entry for entry in self.accepted if entry.covers(change, environment)]
        valid = next((entry for entry in covering if entry.expires is None or entry.expires >= self.today), None)
        note = f"It was accepted until {covering[0].expires}." if covering and valid is None else ""
        message = change.sentence(rule.sentence)
        return Finding(change, environment, severity, message, file, line, valid.reason if valid else None, note)


# --- reading the configuration -------------------------------------------------------------------------------------


def read_choice(key: str, value: str, choices: Sequence[Choice]) -> Choice:
    """One of a few words.

    Raises:
        ConfigError: It is none of them.
    """
    for choice in choices:
        if value == choice:
            return choice
    raise ConfigError(f"[tool.orl-codegen]: {key} is one of {', '.join(choices)}, and not {printable(value)}.")


def read_severities(table: object) -> Mapping[str, Severity]:
    """`[tool.orl-codegen.severity]`, checked.

    Raises:
        ConfigError: A rule or a severity that does not exist, or a rule that cannot be off.
    """
    if not isinstance(table, Mapping):
        raise ConfigError("[tool.orl-codegen.severity] must be a table of rules and severities.")
    for rule, severity in table.items():
        _known_rule(rule, "[tool.orl-codegen.severity]")
        if severity not in SEVERITIES:
            raise ConfigError(
                f"[tool.orl-codegen.severity]: {printable(severity)} is no severity for {rule}; use "
                f"{', '.join(SEVERITIES)}."
            )
        if severity == "off":
            _not_about_files(rule, "[tool.orl-codegen.severity]", "switched off")
    return MappingProxyType(dict(table))


def read_acceptances(entries: object) -> tuple[Acceptance, ...]:
    """`[[tool.orl-codegen.accept]]`, checked.

    Raises:
        ConfigError: An entry has no reason, an unknown key or rule, says too little of what it accepts, or is about
            our own files.
    """
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise ConfigError("[[tool.orl-codegen.accept]] must be a list of tables.")
    return tuple(_acceptance(entry) for entry in entries)


def _acceptance(entry: Mapping[str, Any]) -> Acceptance:
    values = dict(entry)
    for key in values:
        if key not in Acceptance.__dataclass_fields__:
            raise ConfigError(
                f"{_ACCEPT} has no key {printable(key)}.{_suggestion(key, Acceptance.__dataclass_fields__)}"
            )
    values["expires"] = _date(values.get("expires"))
    if not all(isinstance(value, str | None) for key, value in values.items() if key != "expires"):
        raise ConfigError(f"{_ACCEPT}: every value but `expires` is a text.")
    if not values.get("reason", "").strip():
        raise ConfigError(f"{_ACCEPT}: each entry needs a `reason` that says why the change is accepted.")
    if "rule" in values:
        _known_rule(values["rule"], _ACCEPT)
        _not_about_files(values["rule"], _ACCEPT, "accepted")
    if not re.fullmatch("[0-9a-f]{12}", values.get("fingerprint", "0" * 12)):
        raise ConfigError(f"{_ACCEPT}: a `fingerprint` has twelve hex digits; paste it as check prints it.")
    if "fingerprint" not in values and not ("rule" in values and "path" in values):
        raise ConfigError(
            f"{_ACCEPT}: name the change by `fingerprint`, or by `rule`, `tool` and `path`, as check prints it."
        )
    return Acceptance(**values)


_ACCEPT = "[[tool.orl-codegen.accept]]"


def _date(value: object) -> datetime.date | None:
    if value is None or (isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)):
        return value
    try:
        return datetime.date.fromisoformat(str(value))
    except ValueError:
        raise ConfigError(f"{_ACCEPT}: {printable(value)} is no date for `expires`; write 2027-01-31.") from None


def _known_rule(rule: str, where: str) -> None:
    if rule not in RULES:
        raise ConfigError(
            f"{where}: there is no rule {printable(rule)}.{_suggestion(rule, RULES)} `orl-codegen rules` lists all."
        )


def _not_about_files(rule: str, where: str, done: str) -> None:
    if RULES[rule].about_files:
        raise ConfigError(f"{where}: {rule} is about our own files and cannot be {done}. {RULES[rule].react}")


def _suggestion(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), 1)
    return f" Did you mean {close[0]}?" if close else ""
