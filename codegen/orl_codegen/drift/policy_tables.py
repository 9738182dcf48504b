"""What pyproject.toml says about severities and acceptances, checked.

[tool.orl-codegen.severity]
param-order-changed = "error"

[[tool.orl-codegen.accept]]
environment = "kitchen"
rule = "tool-description-changed"
tool = "search"
path = "/description"
reason = "reviewed in #12"
expires = 2027-01-31

[[tool.orl-codegen.accept]]
fingerprint = ["0123456789ab", "ba9876543210"]
reason = "reviewed in #13"
"""

from __future__ import annotations

import datetime
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from orl_codegen.drift.acceptance import UNEDITED, Acceptance
from orl_codegen.drift.rules import RULES, SEVERITIES, Severity
from orl_codegen.errors import ConfigError, printable

Choice = TypeVar("Choice", bound=str)

_SEVERITY = "[tool.orl-codegen.severity]"
_ACCEPT = "[[tool.orl-codegen.accept]]"
ACCEPT_KEYS = tuple(Acceptance.__dataclass_fields__)


def read_choice(key: str, value: str, choices: Sequence[Choice]) -> Choice:
    """One of a few words.

    Raises:
        ConfigError: It is not one of them.
    """
    for choice in choices:
        if value == choice:
            return choice
    raise ConfigError(f"[tool.orl-codegen]: {key} must be one of {', '.join(choices)}, not {printable(value)}.")


def read_severities(table: object) -> Mapping[str, Severity]:
    """The project's own severities, by rule.

    Raises:
        ConfigError: A rule or a severity does not exist, or the rule cannot be switched off.
    """
    if not isinstance(table, Mapping):
        raise ConfigError(f"{_SEVERITY} must be a table of rules and severities.")
    for rule, severity in table.items():
        _require_rule(rule, _SEVERITY)
        if severity not in SEVERITIES:
            raise ConfigError(
                f"{_SEVERITY}: {printable(severity)} is not a severity for {rule}; use {', '.join(SEVERITIES)}."
            )
        if severity == "off":
            _refuse_file_rule(rule, _SEVERITY, "switched off")
    return MappingProxyType(dict(table))


def read_acceptances(entries: object) -> tuple[Acceptance, ...]:
    """What the project has accepted.

    Raises:
        ConfigError: An entry has no reason, has an unknown key or rule, does not identify what it accepts, or is about
            generated files.
    """
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise ConfigError(f"{_ACCEPT} must be a list of tables.")
    return tuple(_acceptance(one) for entry in entries for one in _each(entry))


def _each(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """An entry with a list of fingerprints is one for each of them."""
    fingerprints = entry.get("fingerprint")
    if not isinstance(fingerprints, list):
        yield entry
    elif not fingerprints:
        raise ConfigError(f"{_ACCEPT}: a list of fingerprints is empty. Remove the entry.")
    else:
        yield from ({**entry, "fingerprint": fingerprint} for fingerprint in fingerprints)


def _acceptance(entry: Mapping[str, Any]) -> Acceptance:
    for key in entry:
        if key not in ACCEPT_KEYS:
            raise ConfigError(f"{_ACCEPT} has no key {printable(key)}.{_suggestion(key, ACCEPT_KEYS)}")
    values = {**entry, "expires": _date(entry.get("expires"))}
    if not all(isinstance(value, str) for key, value in entry.items() if key != "expires"):
        raise ConfigError(f"{_ACCEPT}: every value except `expires` must be a text.")
    if not values.get("reason", "").strip():
        raise ConfigError(f"{_ACCEPT}: each entry needs a `reason` that says why the change is accepted.")
    if values["reason"].strip() == UNEDITED:
        raise ConfigError(
            f"{_ACCEPT}: an entry still has the reason that check printed, {UNEDITED!r}. Replace it with the reason "
            "why the change is accepted."
        )
    if "rule" in values:
        _require_rule(values["rule"], _ACCEPT)
        _refuse_file_rule(values["rule"], _ACCEPT, "accepted")
    _require_change(values)
    return Acceptance(**values)


def _require_change(values: Mapping[str, Any]) -> None:
    """An entry names one change by its fingerprint, or all those of a place by rule and path."""
    if not re.fullmatch("[0-9a-f]{12}", values.get("fingerprint", "0" * 12)):
        raise ConfigError(f"{_ACCEPT}: a `fingerprint` has twelve hex digits; paste it as check prints it.")
    if "fingerprint" not in values and not ("rule" in values and "path" in values):
        raise ConfigError(
            f"{_ACCEPT}: name the change by `fingerprint`, or by `rule`, `tool` and `path`, as check prints it."
        )


def _date(value: object) -> datetime.date | None:
    if value is None or (isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)):
        return value
    try:
        return datetime.date.fromisoformat(str(value))
    except ValueError:
        raise ConfigError(
            f"{_ACCEPT}: {printable(value)} is not a date for `expires`; write it as 2027-01-31."
        ) from None


def _require_rule(rule: str, where: str) -> None:
    if rule not in RULES:
        raise ConfigError(
            f"{where}: there is no rule {printable(rule)}.{_suggestion(rule, RULES)} See `orl-codegen rules`."
        )


def _refuse_file_rule(rule: str, where: str, action: str) -> None:
    if RULES[rule].about_files:
        raise ConfigError(f"{where}: {rule} is about generated files and cannot be {action}. {RULES[rule].react}")


def _suggestion(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), 1)
    return f" Did you mean {close[0]}?" if close else ""
