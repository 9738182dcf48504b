"""Positive controls: subjects that are broken on purpose, each of which the suite has to catch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tests.reliability.figures import Figure
from tests.reliability.load.bench import Bench
from tests.reliability.load.readings import Reading, becomes, reading
from tests.reliability.load.scripts import Judge, Script, outcome

ROUND = 9000


def controls(bench: Bench) -> Iterator[Figure]:
    """Break something, and see whether it is found."""
    spec = bench.specs()[0]
    broken = {
        "a session that nobody closes": lambda: _left_open(bench, spec),
        "two rollouts that share an adapter": lambda: bool(_shared(spec.environment_factory())),
        "a call that is made twice": lambda: bool(_twice(bench, spec.environment_factory())),
        "a descriptor that stays open": lambda: "descriptors" in _grown(_descriptor),
        "memory that is kept": lambda: "memory" in _grown(lambda: bytearray(os.urandom(8 << 20))),
    }
    missed = [what for what, is_caught in broken.items() if not is_caught()]
    yield Figure(
        f"controls: {', '.join(broken)}",
        f"{len(broken) - len(missed)} of {len(broken)} caught",
        not missed,
        tuple(f"not caught: {what}" for what in missed),
    )


def _left_open(bench: Bench, spec: Any) -> bool:
    session = spec._plan.open(spec._plan.task(0))
    session.prompt()
    found = becomes(0, bench.live, within=0.5)
    session.close_soon()
    return found == 1 and becomes(0, bench.live) == 0


def _shared(adapter: Any) -> list[str]:
    script, judge = Script(0, ROUND, ("well",) * 3), Judge()
    prompt, _ = adapter.reset(task_index=0), adapter.reset(task_index=2)
    judge.compare(script, prompt, [outcome(partial(adapter.note, **script.arguments(n))) for n in range(3)], adapter)
    adapter._close()
    return judge.faults


def _twice(bench: Bench, adapter: Any) -> list[str]:
    script, judge = Script(0, ROUND + 1, ("well",)), Judge()
    adapter.reset(task_index=0)
    for _ in range(2):
        adapter.note(**script.arguments(0))
    adapter._close()
    judge.expect(script)
    judge.audit(bench.servers[0].books(), rounds=range(ROUND + 1, ROUND + 2))
    return judge.faults


def _grown(leak: Callable[[], Any]) -> dict[str, int]:
    before: Reading = reading()
    kept = leak()
    grown = before.growth(reading())
    if isinstance(kept, int):
        os.close(kept)
    return grown


def _descriptor() -> int:
    return os.open(os.devnull, os.O_RDONLY)
