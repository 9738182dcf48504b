"""How findings are weighed: profiles, overrides, and the list of what is accepted."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from orl_codegen.drift.change import Change
from orl_codegen.drift.policy import DEFAULT_FAIL_ON, DEFAULT_PROFILE, Policy
from orl_codegen.drift.policy_tables import read_acceptances, read_severities
from orl_codegen.errors import ConfigError
from tests.support.cli import orl_codegen

CHANGE = Change("tool-description-changed", "search", "/description", "Find.", "Find recipes.")


def accepted(entry: dict[str, Any], today: str = "2026-11-29") -> bool:
    """Whether an entry of the accept list accepts the change on a day."""
    policy = Policy(accepted=read_acceptances([entry]), today=datetime.date.fromisoformat(today))
    [finding] = policy.judge([CHANGE], "kitchen", "a.py", {})
    return finding.accepted is not None


def test_a_place_is_accepted_whatever_changes_there() -> None:
    """Rule, tool and path accept what the rule reports at that place, and at no other."""
    entry = {"rule": CHANGE.rule, "tool": "search", "path": "/description", "reason": "fine"}
    assert accepted(entry)
    assert not accepted({**entry, "tool": "cook"})
    assert not accepted({**entry, "path": "/name"})
    assert not accepted({**entry, "rule": "tool-description-added"})


def test_a_fingerprint_accepts_one_change() -> None:
    """A fingerprint covers the old and the new value too, so the next change at the same place is a finding again."""
    assert accepted({"fingerprint": CHANGE.fingerprint, "reason": "fine"})
    assert not accepted({"fingerprint": "0" * 12, "reason": "fine"})


def test_a_list_of_fingerprints_accepts_each() -> None:
    """An entry may list fingerprints; those that cover nothing are unused one by one."""
    entries = read_acceptances([{"fingerprint": [CHANGE.fingerprint, "0" * 12], "reason": "fine"}])
    findings = Policy(accepted=entries).judge([CHANGE], "kitchen", "a.py", {})
    assert [finding.accepted for finding in findings] == ["fine"]
    assert [entry.fingerprint for entry in Policy(accepted=entries).unused(findings)] == ["0" * 12]


def test_an_acceptance_may_be_for_one_environment() -> None:
    """With `environment` an entry holds only there, by place and by fingerprint; without it, everywhere."""
    for entry in (
        {"rule": CHANGE.rule, "tool": "search", "path": "/description", "reason": "fine"},
        {"fingerprint": CHANGE.fingerprint, "reason": "fine"},
    ):
        assert accepted(entry) and accepted({**entry, "environment": "kitchen"})
        assert not accepted({**entry, "environment": "pantry"})


def test_a_fingerprint_is_the_same_everywhere() -> None:
    """The fingerprint depends on nothing but the change, so it can be committed."""
    assert CHANGE.fingerprint == "5ae15af7d0d6"


def test_an_acceptance_ends_with_its_last_day() -> None:
    """`expires` is the last day on which the entry holds, as a TOML date or as text."""
    entry = {"fingerprint": CHANGE.fingerprint, "reason": "fine", "expires": datetime.date(2026, 11, 30)}
    assert accepted(entry, "2026-11-30")
    assert not accepted(entry, "2026-12-01")
    assert accepted({**entry, "expires": "2026-11-30"}, "2026-11-30")


def test_findings_about_files_cannot_be_accepted() -> None:
    """A fingerprint of a finding about files accepts nothing: the next hand edit of the file has the same one."""
    edited = Change("module-modified", None, "/pantry.py")
    policy = Policy(accepted=read_acceptances([{"fingerprint": edited.fingerprint, "reason": "fine"}]))
    [finding] = policy.judge([edited], "kitchen", "pantry.py", {})
    assert finding.accepted is None


def test_a_rule_that_is_off_finds_nothing() -> None:
    """A rule that is off finds nothing, and every other severity may be chosen for it."""
    assert Policy(severities=read_severities({CHANGE.rule: "off"})).judge([CHANGE], "kitchen", "a.py", {}) == ()
    [finding] = Policy(severities=read_severities({CHANGE.rule: "error"})).judge([CHANGE], "kitchen", "a.py", {})
    assert finding.severity == "error"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"fingerprint": "0" * 12}, "reason"),
        ({"fingerprint": "0" * 12, "reason": " "}, "reason"),
        ({"fingerprint": "0" * 12, "reason": "reviewed: say why"}, "Replace it with the reason"),
        ({"reason": "fine"}, "name the change"),
        ({"rule": "tool-removed", "reason": "fine"}, "name the change"),
        ({"rule": "tool-remove", "path": "", "reason": "fine"}, "Did you mean tool-removed?"),
        ({"fingerprint": "0" * 12, "reason": "fine", "expire": "2026-11-30"}, "Did you mean expires?"),
        ({"fingerprint": "0" * 12, "reason": "fine", "expires": "soon"}, "not a date"),
        ({"fingerprint": 12, "reason": "fine"}, "text"),
        ({"fingerprint": "", "reason": "fine"}, "twelve hex digits"),
        ({"rule": "snapshot-missing", "path": "/pantry.json", "reason": "fine"}, "Generate it"),
        ("everything", "list of tables"),
    ],
)
def test_a_mistake_in_the_accept_list_is_an_error(entry: Any, message: str) -> None:
    """An invalid entry is refused, and the message says what is wrong with it."""
    with pytest.raises(ConfigError, match=message.replace("?", r"\?")):
        read_acceptances([entry])


@pytest.mark.parametrize("table", [{"tool-removed": "fatal"}, {"tool-gone": "off"}, {"snapshot-missing": "off"}, []])
def test_a_mistake_in_the_severities_is_an_error(table: Any) -> None:
    """A severity or a rule that does not exist is refused, and so is switching off a rule about files."""
    with pytest.raises(ConfigError):
        read_severities(table)


@pytest.mark.parametrize("command", ["check", "diff"])
def test_the_help_states_the_defaults(command: str) -> None:
    """The help takes the default profile and the default limit from the policy."""
    help_text = " ".join(orl_codegen(command, "--help").out.split())
    assert f"[default: {DEFAULT_PROFILE}]" in help_text and f"[default: {DEFAULT_FAIL_ON}]" in help_text
