"""Every text that a server can write, hostile, on every way out: streams, formats, files, errors, logs and reprs."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

from orl_codegen import errors
from orl_codegen.generator import snapshot
from orl_codegen.generator.output import rendering
from tests.reliability.attack import answered, judges, written
from tests.reliability.attack.payloads import PAYLOADS, PLAIN
from tests.reliability.attack.written import Trial
from tests.reliability.figures import Figure
from tests.support.cli import orl_codegen

ANSWERS = 500
SERVED = 40
CONTROLLED = 30

SHOWN = re.compile(r"^(generate.*--diff|check|diff|show).*standard output$|^the snapshot$|^answers")
"""The channels on which a text of a server always stands."""

ENDINGS = (
    "print({!r})",
    "import sys; sys.exit({!r})",
    "raise RuntimeError({!r})",
    "raise type({!r}[:99], (Exception,), {{}})",
)
"""How the module of an environment may end what it is imported for."""


def channels(seed: int, share: float) -> Iterator[Figure]:
    """Two controls, in which there have to be faults, and then the figures, in which there must be none."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # it logs how many tasks it cancels at its end: none
    yield _readers()
    yield _without_escapes(seed)
    yield _written([*written.trials(seed, 0, share)], seed)
    answers = [*answered.trials(seed, max(CONTROLLED, round(ANSWERS * share)))]
    yield _figure(f"{len(answers)} hostile answers in generation and in training", answers, seed)
    ended = [*_served(max(2, round(SERVED * share)))]
    yield _figure(f"{len(ended)} environments with hostile last words", ended, seed)


def _written(trials: Sequence[Trial], seed: int) -> Figure:
    texts, names = max(trial.texts for trial in trials), {trial.channel for trial in trials if trial.texts}
    return _figure(f"{texts} hostile texts on {len(names)} channels of the command line and its files", trials, seed)


def _figure(what: str, trials: Sequence[Trial], seed: int) -> Figure:
    faults = [f"{trial.channel}: {fault} (attack --seed {seed})" for trial in trials for fault in trial.faults]
    return Figure(what, f"{len(faults)} commands, controls or breaks", not faults, tuple(faults))


def _readers() -> Figure:
    """Whether the judges see anything: printed raw, every payload harms a reader."""
    missed = [name for name, text in PAYLOADS.items() if name not in PLAIN and not judges.caught_by(text)]
    missed += [f"harmless text on {name}" for name, (judge, text) in judges.NAIVE.items() if [*judge(text)]]
    count = len(PAYLOADS) - len(PLAIN)
    return Figure(f"control: {count} payloads printed raw", f"{len(missed)} missed", not missed, tuple(missed))


def _without_escapes(seed: int) -> Figure:
    """Whether the trials see anything: without the escapes, every channel that shows a text has faults."""
    with _as_before():
        trials = [*written.trials(seed, 1, 0), *answered.trials(seed, CONTROLLED, written.ALWAYS[:1], ["a detail"])]
    shown = {trial.channel for trial in trials if SHOWN.search(trial.channel)}
    harmed = {trial.channel for trial in trials if trial.faults}
    missed = sorted(shown - harmed)
    found = f"{len(missed)} of {len(shown)} channels missed it"
    return Figure("control: escapes switched off", found, not missed, tuple(missed))


@contextlib.contextmanager
def _as_before() -> Iterator[None]:
    """orl-codegen without what it knows of runners, and of characters that files should not hold."""
    with contextlib.ExitStack() as stack:
        for module, name in [(errors, "_COMMAND"), (snapshot, "UNSEEN"), (rendering, "UNSEEN")]:
            stack.enter_context(patch.object(module, name, re.compile("(?!)")))
        yield


def _served(count: int) -> Iterator[Trial]:
    """Environments that end with a hostile text: on standard output, on standard error, in an exception."""
    with written.folder():
        for number, (name, text) in zip(range(count), PAYLOADS.items(), strict=False):
            Path("env.py").write_text(ENDINGS[number % len(ENDINGS)].format(text) + "\n", "utf-8")
            faults = (f"{name}: {fault}" for fault in written.failed(orl_codegen("generate", "env.py", "-o", "out")))
            yield Trial("generate", 1, tuple(faults))
