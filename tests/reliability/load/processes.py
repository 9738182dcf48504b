"""One spec in forked children, in spawned children and in threads, all at the same time."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from tests.reliability.figures import Figure
from tests.reliability.load.bench import Bench, elsewhere
from tests.reliability.load.readings import becomes
from tests.reliability.load.rollouts import play
from tests.reliability.load.scripts import Judge, scripted

CHILDREN, THREADS = 4, 32
CALLS, ROLLOUTS = 5, 20
FIRST, ROUND = 100, 2000
"""The first task, and the first round: no call has the name of one in another part."""

WITHIN = 60.0


def processes(bench: Bench) -> Iterator[Figure]:
    """The figures, and what is left on the servers once all processes have ended. Each leaves sessions open."""
    figures = [*elsewhere(at_once, bench)]
    left = becomes(0, bench.live)
    yield from figures
    yield Figure("once these processes have ended, each with sessions open", f"{left} sessions left", left == 0)


def at_once(bench: Bench) -> Iterator[Figure]:
    """Play in all of them, from a process that has a session open and goes on with it afterwards."""
    rollouts = max(1, round(ROLLOUTS * bench.share))
    factories = [spec.environment_factory for spec in bench.specs()]
    inherited = factories[0]()
    inherited.reset(task_index=0)
    judge = Judge()
    of_each = CHILDREN if bench.share >= 0.1 else 1
    kinds = ["fork"] * of_each + ["spawn"] * of_each
    with ThreadPoolExecutor(THREADS) as pool:
        numbers = range(FIRST, FIRST + THREADS)
        threads = [pool.submit(work, factories[task % 2], bench.seed, task, rollouts) for task in numbers]
        children = [
            Child(kind, factories[task % 2], inherited, bench.seed, task, rollouts)
            for task, kind in enumerate(kinds, FIRST + THREADS)
        ]
        found = [fault for thread in threads for fault in thread.result()]
        found += [fault for child in children for fault in child.faults()]
    for task in range(FIRST, FIRST + THREADS + len(kinds)):
        for number in range(rollouts):
            judge.expect(scripted(bench.seed, task, ROUND + number, CALLS))
    judge.audit(*(server.books() for server in bench.servers), rounds=range(ROUND, ROUND + rollouts))
    if "noted" not in inherited.note(task=0, round=ROUND - 1, number=0, ends="well"):
        found.append(f"the session of the parent: {inherited.failure}")
    faults = tuple(f"{fault}; {bench.command}" for fault in [*found, *judge.faults])
    yield Figure(
        f"{of_each} forked and {of_each} spawned children and {THREADS} threads at once, {rollouts} rollouts each",
        f"{len(faults)} wrong results, rewards, failures or counts",
        not faults,
        faults,
    )


def work(factory: Any, seed: int, task: int, rollouts: int) -> list[str]:
    """Play rollouts with an adapter of its own, and leave the session of the last one open."""
    adapter, judge = factory(), Judge()
    for number in range(rollouts):
        script = scripted(seed, task, ROUND + number, CALLS)
        judge.compare(script, *play(adapter, script), adapter)
    _left_open.append(adapter)
    return judge.faults


_left_open: list[Any] = []


class Child:
    """A child process that works."""

    def __init__(self, kind: str, factory: Any, inherited: Any, seed: int, task: int, rollouts: int) -> None:
        self._what = f"{kind}, task {task}"
        self._answer, theirs = multiprocessing.Pipe(duplex=False)
        of_parent = inherited if kind == "fork" else None
        arguments = (theirs, factory, of_parent, seed, task, rollouts)
        self._process = multiprocessing.get_context(kind).Process(target=_work, args=arguments)  # type: ignore[attr-defined]
        self._process.start()
        theirs.close()

    def faults(self) -> list[str]:
        """What was wrong there; waits until the child has ended."""
        found = self._answer.recv() if self._answer.poll(WITHIN) else ["it did not answer"]
        self._process.join(10)
        self._process.kill()  # without effect on one that has ended
        self._process.join()
        if self._process.exitcode != 0:
            found.append(f"it ended with {self._process.exitcode}")
        return [f"{self._what}: {fault}" for fault in found]


def _work(answer: Connection, factory: Any, inherited: Any, seed: int, task: int, rollouts: int) -> None:
    try:
        found = work(factory, seed, task, rollouts)
        if inherited is not None and inherited.reset(task_index=2) != "Task 2.":
            found.append(f"the adapter of the parent: {inherited.failure}")
    except Exception as error:
        found = [f"{type(error).__name__}: {error}"]
    answer.send(found)
