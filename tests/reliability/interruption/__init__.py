"""Interruption: whatever ends a process, or cuts it off, leaves no session, no half of a file and no child behind."""

from __future__ import annotations

from collections.abc import Iterator

from tests.reliability.figures import Figure


def measure(seed: int, share: float) -> Iterator[Figure]:
    """Files under SIGKILL and on bad disks, then signals in every state, then forks."""
    from tests.reliability.interruption.files import files
    from tests.reliability.interruption.forks import forks
    from tests.reliability.interruption.signals import signals

    yield from files(seed, share)
    yield from signals(seed, share)
    yield from forks(seed, share)
