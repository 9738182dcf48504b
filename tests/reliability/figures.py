"""What a suite yields: figures, each with the promise that it is held against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Figure:
    """One thing that was measured.

    Attributes:
        what: What was tried, with how many of it: "300 SIGKILLs of generate".
        found: What came of it: "0 files half-written".
        holds: Whether that is what docs/reliability.md promises.
        faults: What went wrong, a line each; empty where it holds.
    """

    what: str
    found: str
    holds: bool
    faults: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([f"{'ok  ' if self.holds else 'FAIL'} {self.what}: {self.found}", *self.faults])


class Suite(Protocol):
    """The `measure` of a suite."""

    def __call__(self, seed: int, share: float) -> Iterator[Figure]:
        """Measure, and yield each figure as soon as it is known.

        Args:
            seed: Determines everything that is random.
            share: How much of the suite to run; 1.0 is all of it. Every part runs at least once.
        """
