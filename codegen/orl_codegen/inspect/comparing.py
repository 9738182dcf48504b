"""Two evaluations side by side, task by task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orl_codegen.errors import UsageError, printable
from orl_codegen.inspect.figures import Estimate, Figures, estimate


@dataclass(frozen=True)
class TaskPair:
    """The mean reward of one task in two evaluations; None where it has none."""

    task: str
    before: float | None
    after: float | None

    @property
    def difference(self) -> float | None:
        """By how much it has risen."""
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True)
class SideBySide:
    """Two evaluations.

    Attributes:
        before: The figures of the earlier one.
        after: Those of the later one.
        pairs: The tasks that one of them has a reward for.
        difference: The mean of the differences between the tasks that both have; None where there are none.
    """

    before: Figures
    after: Figures
    pairs: Sequence[TaskPair]
    difference: Estimate | None


def compare(before: Figures, after: Figures) -> SideBySide:
    """Pair the tasks of two evaluations.

    Raises:
        UsageError: They are of different environments or splits.
    """
    if (before.task, before.split) != (after.task, after.split):
        raise UsageError(
            f"The log is of {_where(before)}, and this evaluation of {_where(after)}: there is nothing to compare. "
            "Name a log of the same environment and split."
        )
    tasks = [*dict.fromkeys([*after.rewards, *before.rewards])]
    pairs = [TaskPair(task, before.rewards.get(task), after.rewards.get(task)) for task in tasks]
    risen = [pair.difference for pair in pairs if pair.difference is not None]
    return SideBySide(before, after, pairs, estimate(risen))


def _where(figures: Figures) -> str:
    return printable(f"{figures.task}, split {figures.split or '?'}")
