"""Positive controls: clients that are broken on purpose, which the judge must catch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from orl_codegen.ors.outputs import Output
from tests.reliability.faults import training
from tests.reliability.faults.injections import INJECTIONS
from tests.reliability.faults.judging import Trial, faults_of, short_waits
from tests.reliability.faults.subject import Noting
from tests.reliability.figures import Figure
from tests.support.servers import running

GOOD = "http://127.0.0.1:1 answered /tools with HTTP 500: no disk. Check the server log."
BAD = (
    "Traceback (most recent call last):\n  ...\nKeyError: 'tools'",
    "The tools could not be read: ClientPayloadError. Check HTTP 500.",
    "Something went wrong: HTTP 500.",
    "Cannot connect. Check that the server is up.",
    "HTTP 500: \x1b[31mno. Check the server log.",
)

_numbers = itertools.count(10_000)


def figures() -> Iterator[Figure]:
    """What the judge makes of errors that no user should see, and of clients that do what none should."""
    caught = sum(bool(faults_of(text, "HTTP 500")) for text in BAD)
    right = caught == len(BAD) and not faults_of(GOOD, "HTTP 500")
    yield Figure(f"control, {len(BAD)} errors that no user should see", f"{caught} caught", right)
    with short_waits():
        repeats = patch("orl_codegen.ors.client.never_sent", lambda failure: True)
        repeated = _caught(repeats, "lost answer", "carried out 3 times")
        guesses = patch("orl_codegen.ors.session.output_of", _guessed)
        guessed = _caught(guesses, "values of other types", "[0.75]")
    yield Figure("control, a client that repeats a call", "caught" if repeated else "not caught", repeated)
    yield Figure("control, a client that guesses a reward", "caught" if guessed else "not caught", guessed)


def _caught(broken: AbstractContextManager[Any], fault: str, expected: str) -> bool:
    """Whether a trial of a call finds what a client does that is broken."""
    injection = next(one for one in INJECTIONS if one.name == fault)
    trial = Trial("control", next(_numbers), "call", fault)
    with broken, running(Noting) as server:
        wrong = training.Rollout(trial, injection, server, "http://127.0.0.1:9").run()
    return any(expected in line for line in wrong)


def _guessed(answer: Any, redacted: Any, shown: Any) -> Output:
    """An answer read as a lenient client would: whatever can be made a number is a reward."""
    return Output([{"type": "text", "text": "noted"}], float(answer["output"]["reward"]), None, False)
