"""SIGINT, SIGTERM and SIGHUP, at what a process is doing and at random moments: no session stays on the server.

A trial is a process and one signal. Which one a trial is, and when the signal comes, is determined by the seed and its
number.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product

from tests.reliability.figures import Figure
from tests.reliability.interruption.interrupted import SIGNALS, TRAINERS, Trial
from tests.reliability.interruption.odd_clients import grpo, served, stopped, without_handlers

AT_ONCE = 2

Attempt = Callable[[], str]
"""What went wrong, in a line; empty where nothing did."""


def signals(seed: int, share: float) -> Iterator[Figure]:
    """The figures of this module."""
    chosen = random.Random(seed)
    some = SIGNALS[: max(1, round(len(SIGNALS) * share))]
    groups: dict[str, list[Attempt]] = {
        "signals to TRL's GRPOTrainer in the middle of a step": [lambda number=number: grpo(number) for number in some],
        "signals to generate, check and training, in every state": _in_states(chosen, share),
        "signals to them at random moments": _at_random(chosen, max(2, round(45 * share))),
        "signals to generate while it serves a Python class": [lambda number=number: served(number) for number in some],
        "processes under load that are stopped and continued": [stopped for _ in some],
    }
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = {what: pool.map(_made, attempts) for what, attempts in groups.items()}
        controls = pool.map(without_handlers, some)
        for what, faults in running.items():
            yield _figure(what, len(groups[what]), [fault for fault in faults if fault])
        yield _control([*controls])


def _made(attempt: Attempt) -> str:
    return attempt()


def _figure(what: str, count: int, faults: list[str]) -> Figure:
    found = f"{len(faults)} left a session, a file or a process, or did not end as they should"
    return Figure(f"{count} {what}", found, not faults, tuple(faults))


def _control(left: list[int]) -> Figure:
    """Processes that close nothing: the count has to see what they leave."""
    what = f"control, {len(left)} signals to a process without handlers"
    return Figure(what, f"{sum(left)} of {3 * len(left)} sessions seen to be left", set(left) == {3})


def _in_states(chosen: random.Random, share: float) -> list[Attempt]:
    """That share of the trials in every state, but at least one of each command."""
    commands = product(("generate", "check"), ("opening", "asking", "closing"))
    trials = [
        Trial(what, state, number, chosen.random() * (0.5 if state == "under load" else 0.05))
        for what, state in [*commands, *(("training", state) for state in TRAINERS)]
        for number in SIGNALS
    ]
    some = chosen.sample(trials, max(1, round(len(trials) * share)))
    missing = {trial.what for trial in trials} - {trial.what for trial in some}
    return [trial.fault for trial in [*some, *(next(one for one in trials if one.what == what) for what in missing)]]


def _at_random(chosen: random.Random, count: int) -> list[Attempt]:
    kinds = ("generate", "check", "training", "training")
    return [
        Trial(chosen.choice(kinds), "", chosen.choice(SIGNALS), chosen.uniform(0.3, 2.2)).fault for _ in range(count)
    ]
