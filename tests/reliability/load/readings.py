"""What this process holds on to, and whether that has grown."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from orl_codegen.ors import limits
from orl_codegen.sessions.loop import event_loop

PAGE = os.sysconf("SC_PAGE_SIZE")

MAY_GROW = {"memory": 4 << 20, "descriptors": 0, "threads": 0, "tasks": 0, "sessions": 0}
"""By how much each may grow from an early reading to the last one. Memory: what a longer run leaves between pages."""


@dataclass(frozen=True)
class Reading:
    """What the process holds.

    Attributes:
        memory: Bytes of resident memory.
        descriptors: Open files, sockets and pipes.
        threads: Threads.
        tasks: Tasks on the event loop of the sessions.
        sessions: Sessions that the event loop would still close at the end of the process.
    """

    memory: int
    descriptors: int
    threads: int
    tasks: int
    sessions: int

    def growth(self, later: Reading) -> dict[str, int]:
        """What has grown by more than it may, and by how much."""
        before, after = asdict(self), asdict(later)
        return {name: grown for name, limit in MAY_GROW.items() if (grown := after[name] - before[name]) > limit}


def reading() -> Reading:
    """What the process holds once idle connections are closed."""
    time.sleep(2 * limits.IDLE_FOR + 0.3)  # the connector looks for them that often
    gc.collect()
    tasks, sessions = event_loop().run(_on_the_loop())
    memory = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    return Reading(memory, sum(1 for _ in Path("/proc/self/fd").iterdir()), threading.active_count(), tasks, sessions)


async def _on_the_loop() -> tuple[int, int]:
    await asyncio.sleep(0)
    return len(asyncio.all_tasks()), len(event_loop().opened)


def becomes(value: int, of: Callable[[], int], within: float = 10.0) -> int:
    """Wait until something is as small as `value`, and return what it is then."""
    deadline = time.monotonic() + within
    while (found := of()) > value and time.monotonic() < deadline:
        time.sleep(0.02)
    return found
