"""Two evaluations side by side, task by task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inspect_ai import Task

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

    @property
    def tools_differ(self) -> bool:
        """Whether the two were played with adapters of different snapshots."""
        return self.before.digest != self.after.digest


def compare(before: Figures, after: Figures) -> SideBySide:
    """Pair the tasks of two evaluations that are `comparable`."""
    tasks = [*dict.fromkeys([*after.rewards, *before.rewards])]
    pairs = [TaskPair(task, before.rewards.get(task), after.rewards.get(task)) for task in tasks]
    risen = [pair.difference for pair in pairs if pair.difference is not None]
    return SideBySide(before, after, pairs, estimate(risen))


def comparable(before: Figures, task: Task) -> None:
    """Check that an earlier evaluation is of the same environment as a task of `evaluation` that will be played.

    Raises:
        UsageError: It is of another environment or split, or counts rewards in another way.
    """
    stated = task.metadata or {}
    old, new = _what(before.task, before.split, before.counted), _what(task.name, stated["split"], stated["reward"])
    if old != new:
        raise UsageError(
            f"The log for --compare is of {old}, and this evaluation of {new}: their rewards cannot be compared. Name "
            "a log of the same environment and split, with the same --reward."
        )


def _what(name: str, split: str, counted: str) -> str:
    return printable(f"{name}, split {split or '?'}, the {counted or '?'} of the rewards", 300)
