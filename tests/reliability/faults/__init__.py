"""A server that goes wrong in every way at every stage, in generation and in training.

A fault line names the side, the number of the trial, the fault and the stage. `python -m tests.reliability faults`
tries all of them; a smaller share is drawn by the seed. From a fifth on, each side has a process of its own.
"""

from __future__ import annotations

import math
import multiprocessing
import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass

import tests.conftest  # noqa: F401 - sets what the SDK reads when it is imported
from tests.reliability.faults import controls, generation, training
from tests.reliability.faults.injections import INJECTIONS, Injection, packed_bomb
from tests.reliability.faults.judging import Complaints, Trial, forget_peak, peak_memory, quiet, short_waits
from tests.reliability.faults.subject import Noting
from tests.reliability.figures import Figure
from tests.support.applications import answering
from tests.support.servers import RunningServer, running, serving_application

AT_ONCE = 8  # trials of training
OWN_PROCESSES_FROM = 0.2
MEMORY = 600
"""MiB that a huge answer may add: the tasks of a split may have 256, and are held twice while they are put together."""

Judged = Callable[[Trial, Injection, RunningServer, str], list[str]]


@dataclass(frozen=True)
class Outcome:
    """What came of the trials of one side.

    Attributes:
        side: Which.
        tried: How many trials each family of faults had.
        wrong: What went wrong in them.
        strayed: Requests that reached the host to which redirects led.
        complaints: What asyncio and aiohttp complained of.
        memory: MiB that huge answers added at the most.
    """

    side: str
    tried: dict[str, int]
    wrong: dict[str, list[str]]
    strayed: int
    complaints: list[str]
    memory: int


def measure(seed: int, share: float) -> Iterator[Figure]:
    """The figures of both sides, and whether the judge sees what it is there for."""
    quiet()
    yield from controls.figures()
    if share < OWN_PROCESSES_FROM:
        outcomes: Iterator[Outcome] = iter([_side(side, seed, share) for side in SIDES])
    else:
        outcomes = _in_processes(seed, share)
    for outcome in outcomes:
        yield from _figures(outcome)


def _in_processes(seed: int, share: float) -> Iterator[Outcome]:
    with ProcessPoolExecutor(len(SIDES), multiprocessing.get_context("spawn")) as pool:
        pending: list[Future[Outcome]] = [pool.submit(_side, side, seed, share) for side in SIDES]
        for future in pending:
            yield future.result()


def _training(trial: Trial, injection: Injection, server: RunningServer, elsewhere: str) -> list[str]:
    return training.Rollout(trial, injection, server, elsewhere).run()


SIDES: dict[str, tuple[Callable[..., Iterator[tuple[Trial, Injection]]], Judged, int]] = {
    "generate": (generation.trials, generation.run, 1),
    "training": (training.trials, _training, AT_ONCE),
}


def _side(side: str, seed: int, share: float) -> Outcome:
    """Run the trials of a side: those about memory one by one, the others at the same time where they can be."""
    quiet()
    trials, judged, at_once = SIDES[side]
    chosen = _chosen([*trials(INJECTIONS)], seed, share)
    tried: Counter[str] = Counter(injection.family for _, injection in chosen)
    wrong: dict[str, list[str]] = {}
    with (
        short_waits(),
        running(Noting) as server,
        serving_application(answering({})) as elsewhere,
        Complaints().listening() as complaints,
    ):

        def run(pair: tuple[Trial, Injection]) -> None:
            wrong.setdefault(pair[1].family, []).extend(judged(*pair, server, elsewhere.url))

        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(run, [pair for pair in chosen if not pair[1].large]))
        packed_bomb()
        before = forget_peak()
        for pair in chosen:
            if pair[1].large:
                run(pair)
        memory = peak_memory() - before
    return Outcome(side, dict(tried), wrong, len(elsewhere.requests), complaints.heard, memory)


def _figures(outcome: Outcome) -> Iterator[Figure]:
    for family, tried in outcome.tried.items():
        wrong = outcome.wrong.get(family, [])
        what = f"{outcome.side}, faults of {family}, {tried} trials"
        yield Figure(what, f"{len(wrong)} wrong", not wrong, tuple(wrong))
    strayed, complaints, memory = outcome.strayed, outcome.complaints, outcome.memory
    yield Figure(f"{outcome.side}, redirects to another host", f"{strayed} requests followed one", not strayed)
    yield Figure(f"{outcome.side}, lines of libraries", f"{len(complaints)} logged", not complaints, tuple(complaints))
    yield Figure(
        f"{outcome.side}, 100 MB and gzip bombs", f"{memory} MiB at the peak, at most {MEMORY}", memory <= MEMORY
    )


def _chosen(trials: list[tuple[Trial, Injection]], seed: int, share: float) -> list[tuple[Trial, Injection]]:
    """A share of the trials, with one of each fault at least."""
    drawn = random.Random(seed)
    by_fault: dict[str, list[tuple[Trial, Injection]]] = {}
    for pair in trials:
        by_fault.setdefault(pair[0].fault, []).append(pair)
    return [pair for pairs in by_fault.values() for pair in drawn.sample(pairs, max(1, math.ceil(share * len(pairs))))]
