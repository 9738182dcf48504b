"""Load: thousands of calls, resets and failures, several processes at once, and nothing mixed up or left behind.

Each part plays in a fresh process against two real servers, which have a process each.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.reliability.figures import Figure
from tests.reliability.load.bench import bench, elsewhere
from tests.reliability.load.controls import controls
from tests.reliability.load.processes import processes
from tests.reliability.load.resets import resets
from tests.reliability.load.rollouts import rollouts


def measure(seed: int, share: float) -> Iterator[Figure]:
    """The figures of all parts."""
    with bench(seed, share) as shared:
        for part in (rollouts, resets):
            yield from elsewhere(part, shared)
        yield from processes(shared)
        yield from elsewhere(controls, shared)
