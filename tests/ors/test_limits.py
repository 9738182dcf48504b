"""What docs/commands.md and docs/reliability.md say about waits and sizes is what the constants hold."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from orl_codegen.ors import limits

ROOT = Path(__file__).parents[2]
COMMANDS = (ROOT / "docs" / "commands.md").read_text()
LIMITS = re.findall(r"^\| (.+) \| ([\d,]+) \| `([\w.]+)` \|$", (ROOT / "docs" / "reliability.md").read_text(), re.M)
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}


@pytest.mark.parametrize(
    ("row", "seconds"),
    [
        ("each step of opening a session", limits.OPEN_WITHIN),
        ("questions that need no sandbox", limits.ANSWER_WITHIN),
        ("a tool call, while the server answers pings", limits.CALL_WITHIN),
        ("closing a session", limits.CLOSE_WITHIN),
    ],
)
def test_the_table_of_waits(row: str, seconds: float) -> None:
    """Each row names the seconds of its limit."""
    [found] = re.findall(rf"\| {re.escape(row)}.*\| (\d+) s", COMMANDS)
    assert float(found) == seconds


def test_the_other_figures() -> None:
    """Pings, the end of the process and sizes."""
    assert f"pings, one every {limits.PING_EVERY:g} s" in COMMANDS and limits.PINGS_LOST == 5
    assert f"{limits.EXIT_WITHIN:g} s for all of them when the process ends" in COMMANDS
    assert f"A cassette holds up to {limits.CASSETTE_BYTES >> 20} MiB" in COMMANDS
    assert f"up to {limits.ANSWER_BYTES >> 20} MiB" in COMMANDS and f"up to {limits.TASKS_BYTES >> 20} MiB" in COMMANDS


def test_pauses_grow_to_a_limit() -> None:
    """Doubled each time, and never beyond the longest, however many attempts there were."""
    pauses = [limits.pause(attempt) for attempt in (1, 2, 3, 4, 5, 10_000)]
    assert pauses == [1, 2, 4, 8, 10, 10]


def test_the_table_of_limits_is_read() -> None:
    """The page has a row for each limit of the generator."""
    assert len(LIMITS) >= 12


@pytest.mark.parametrize(("what", "amount", "where"), LIMITS)
def test_the_table_of_limits(what: str, amount: str, where: str) -> None:
    """Each row names the value of the constant that it names."""
    module, _, name = where.rpartition(".")
    value = getattr(import_module(f"orl_codegen.{module}"), name)
    assert value == int(amount.replace(",", "")) * UNITS.get(what.split()[0], 1)
