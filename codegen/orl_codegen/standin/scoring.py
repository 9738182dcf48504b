"""The rewards of a stand-in, and when its episodes end: as a script says, or drawn from a seed."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orl_codegen.errors import UsageError, printable
from orl_codegen.schema.json_values import canonical

Row = Sequence[float | None]
Rewards = Row | Mapping[str, Row]
"""The rewards of a session's calls, in order, None for a call without one; or those of each task, by its id."""

EVERY_OTHER = "*"
"""The id that stands for every task that a script does not name."""

SHORTEST, LONGEST = 2, 5
"""Calls of an episode whose end no script sets, if the environment has no terminal tool."""

_FORM = "a list of numbers and nulls, or an object of such lists, by the id of a task (`train-0`) or `*` for all others"


@dataclass(frozen=True)
class Scoring:
    """How calls are scored.

    Attributes:
        seed: What rewards are drawn from that no script sets.
        script: The rewards by the id of the task.
    """

    seed: int = 0
    script: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)

    def outcome(self, task: str, position: int, call: Any, graded: bool | None) -> tuple[float | None, bool]:
        """The reward of a call, and whether it ends the episode.

        Args:
            task: The id of the task.
            position: How many calls were carried out before it in the session.
            call: Its name and its input.
            graded: Whether it is a call of the terminal tool; None if the environment has none.
        """
        row = self.script.get(task, self.script.get(EVERY_OTHER))
        if row is not None:
            last = graded is True or (graded is None and position >= len(row) - 1)
            return row[-1 if last else min(position, len(row) - 1)], last
        last = graded is True or (graded is None and position >= self._length(task) - 1)
        return (self.drawn(task, position, call) if last else None), last

    def drawn(self, *of: Any) -> float:
        """A number from 0 to 1 with two digits, the same for the same things everywhere."""
        return self._number(of) % 101 / 100

    def _length(self, task: str) -> int:
        return SHORTEST + self._number(task) % (LONGEST - SHORTEST + 1)

    def _number(self, of: Any) -> int:
        digest = hashlib.sha256(canonical([self.seed, of]).encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big")


def scoring_of(seed: int, rewards: Rewards | None, where: str = "rewards") -> Scoring:
    """The scoring that a seed and a script make.

    Raises:
        UsageError: The script has another form; `where` it stands is said.
    """
    if rewards is None:
        return Scoring(seed)
    rows = rewards if isinstance(rewards, Mapping) else {EVERY_OTHER: rewards}
    for task, row in rows.items():
        wrong = not isinstance(row, Sequence) or isinstance(row, str) or not row
        if wrong or not isinstance(task, str) or not all(map(_is_reward, row)):
            raise UsageError(f"{where} is invalid ({printable(repr({task: row}), 80)}). Pass {_FORM}; none is empty.")
    return Scoring(seed, {task: tuple(row) for task, row in rows.items()})


def _is_reward(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def read_rewards(path: Path) -> Rewards:
    """The script in a JSON file; what it holds is checked by `scoring_of`.

    Raises:
        UsageError: There is no such file, or it is not JSON.
    """
    try:
        read = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(
            f"The rewards in {printable(path)} cannot be read: {printable(reason)}. Write {_FORM}."
        ) from None
    if not isinstance(read, (list, dict)):
        raise UsageError(f"The rewards in {printable(path)} are {printable(repr(read), 40)}. Write {_FORM}.")
    return read
