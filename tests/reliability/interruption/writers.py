"""Several runs that write in one folder at the same time, and somebody who reads there."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from orl_codegen.generator.output import writing
from orl_codegen.generator.output.folder import read_pair
from tests.reliability.interruption.projects import OUT, Texts, texts
from tests.reliability.interruption.running import command, run_together

TIMES = 25


def round_of_writers(
    home: Path, urls: Sequence[str], alone: Mapping[tuple[str, str], Texts], seed: int, number: int
) -> list[str]:
    """What is wrong after two runs for one name, four for one name, or two for two names, in turn.

    Args:
        home: Where the folder is made.
        urls: The servers of the environment in its states.
        alone: What the run for each server and name leaves, when it is the only one.
        seed: Determines who writes.
        number: The number of the round.
    """
    chosen = random.Random(f"{seed} writers {number}")
    asked = chosen.sample(list(urls), 4 if number % 3 == 1 else 2)
    names = ["made", "other"] if number % 3 == 2 else ["made"] * len(asked)
    root = home / f"writers {number}"
    _fill(root / OUT, alone[chosen.choice(list(urls)), "made"])
    subjects = [
        command(("generate", url, "-o", OUT, "--name", name, "--no-type-check"), root)
        for url, name in zip(asked, names, strict=True)
    ]
    reader = command(("check", "--offline", "-o", OUT, "--no-type-check"), root)
    ended = run_together([*subjects, reader])
    faults = [f"status {run.status}: {run.errors.strip()}" for run in ended if run.status]
    faults += _not_one_of(texts(root / OUT), [dict(alone[pair]) for pair in zip(asked, names, strict=True)])
    shutil.rmtree(root)
    return [f"round {number} of --seed {seed}: {fault}" for fault in faults]


def _not_one_of(found: Texts, results: Sequence[Texts]) -> Iterator[str]:
    """What is wrong with a folder: it holds the result of one for each name, and nothing else."""
    names = {name.partition(".")[0] for result in results for name in result}
    for name in names:
        pair = {file: text for file, text in found.items() if file.partition(".")[0] == name}
        if pair not in results:
            yield f"the pair {name} is of no run alone"
    if more := [file for file in found if file.partition(".")[0] not in names]:
        yield f"left over: {more}"


def hammered(home: Path, pairs: Sequence[Texts], seed: int, number: int) -> list[str]:
    """What is wrong while and after four processes write their pairs, and a fifth reads.

    Mostly once, as they start at the same moment then: they meet most often. Every tenth time, again and again.
    """
    times = TIMES if number % 10 == 0 else 1
    folder = home / f"hammered {number}" / OUT
    _fill(folder, pairs[0])
    chosen = random.Random(f"{seed} hammered {number}")
    order = chosen.sample(range(len(pairs)), len(pairs))
    writers = [_writer(folder, pairs[position], times) for position in order]
    ended = run_together([*writers, _reader(folder, pairs, times)])
    faults = [f"status {run.status}: {run.errors.strip()}" for run in ended if run.status]
    faults += _not_one_of(texts(folder), pairs)
    shutil.rmtree(folder.parent)
    return [f"time {number} of --seed {seed}: {fault}" for fault in faults]


def _writer(folder: Path, pair: Texts, times: int) -> Callable[[], object]:
    def write() -> None:
        for _ in range(times):
            writing.write(folder, lambda: writing.changes(folder, pair), lambda text: None)

    return write


def _reader(folder: Path, pairs: Sequence[Texts], times: int) -> Callable[[], object]:
    known = {(pair["made.py"], pair["made.json"]) for pair in pairs}

    def read() -> None:
        for _ in range(times):
            if read_pair(folder, "made") not in known:
                raise SystemExit("a pair of two writers was read")

    return read


def _fill(folder: Path, pair: Texts) -> None:
    folder.mkdir(parents=True)
    for name, text in pair.items():
        (folder / name).write_text(text, "utf-8")
