"""Are files whole, whatever happens while `generate` writes? Kills, full disks, read-only folders, other writers."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import tests.conftest  # noqa: F401 - no key of the user's, and no log of the servers
from tests.reliability.figures import Figure
from tests.reliability.interruption import running as runs
from tests.reliability.interruption import small_disk
from tests.reliability.interruption.projects import (
    OUT,
    Project,
    Texts,
    finished,
    naive,
    projects,
    results,
    untouched,
    whole,
)
from tests.reliability.interruption.writers import hammered, round_of_writers

KILLS = {"offline": 120, "pruned": 50, "asked": 70, "new": 50, "offline, from scratch": 10}
FULL_DISKS, SMALL_DISKS, ROUNDS, HAMMERED = 60, 40, 150, 300
CONTROLS = 40

NO_ROOM = re.compile(r"orl-codegen: There is no room for \S+ in \S+ \((File too large|No space left on device)\)\. ")


@dataclass(frozen=True)
class Trial:
    """One run that is killed at one call: of a project, with everything imported or from scratch."""

    name: str
    project: Project
    from_scratch: bool
    at: int


def files(seed: int, share: float) -> Iterator[Figure]:
    """Measure, and yield each figure as soon as it is known."""
    with _servers() as urls, tempfile.TemporaryDirectory(prefix="orl-codegen-files-") as folder, _pool(urls[0]) as pool:
        home = Path(folder)
        kinds = projects(home, *urls[:2])
        yield _kills(pool, kinds, seed, share)
        yield _control(pool, kinds["asked"])
        yield _full_disks(pool, kinds, seed, share)
        yield small_disk.figure(seed, _some(SMALL_DISKS, share))
        yield _read_only(pool, kinds)
        alone = results(home, urls)
        yield _writers(pool, home, urls, alone, seed, share)
        yield _hammered(pool, home, [alone[url, "made"] for url in urls], seed, share)


@contextlib.contextmanager
def _servers() -> Iterator[list[str]]:
    """The URLs of four servers with four states of one environment."""
    from tests.support.environments import environment, spec  # not in the processes of the pool: it takes seconds
    from tests.support.servers import running

    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # it tells of each client that was killed
    states = [[spec(f"tool-{number}") for number in range(3 + state)] for state in range(4)]
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(running(environment(tools))).url for tools in states]


def _pool(url: str) -> ProcessPoolExecutor:
    """Two processes that have imported everything, without threads, so that they can fork runs."""
    return ProcessPoolExecutor(2, multiprocessing.get_context("spawn"), _warm_up, (url,))


def _warm_up(url: str) -> None:
    from tests.support.cli import orl_codegen

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for arguments in ([url], ["generate", "--offline"], ["check", "--offline"]):
            outcome = orl_codegen(*arguments, "-o", OUT, "--no-type-check")
            assert outcome.status == 0, outcome.err


def _some(count: int, share: float) -> int:
    return max(1, round(count * share))


def _kills(pool: ProcessPoolExecutor, kinds: dict[str, Project], seed: int, share: float) -> Figure:
    trials = [trial for kind, count in KILLS.items() for trial in _trials(pool, kinds, kind, seed, _some(count, share))]
    ended = [*pool.map(_killed, trials)]
    killed = sum(killed for killed, _ in ended)
    faults = tuple(fault for _, found in ended for fault in found)
    where = "system call of its main thread" if runs.can_trace() else "event that Python audits (no tracing here)"
    what = f"{len(trials)} SIGKILLs of generate, each at a random {where} ({killed} before it had ended)"
    return _figure(what, "no file half-written, git shows no other file, the next run mends all", faults)


def _trials(pool: ProcessPoolExecutor, kinds: dict[str, Project], kind: str, seed: int, count: int) -> Iterator[Trial]:
    """Three of four are killed while they write, the others anywhere."""
    project, scratch = kinds[kind.partition(",")[0]], kind.endswith("from scratch")
    measured = pool.submit(_counted, project, scratch).result()
    for number in range(count):
        chosen = random.Random(f"{seed} {kind} {number}")
        span = (measured.first - 5, measured.last + 5) if chosen.random() < 0.75 else (1, measured.calls)
        yield Trial(f"{kind} {number} of --seed {seed}", project, scratch, max(1, chosen.randint(*span)))


def _counted(project: Project, scratch: bool) -> runs.Run:
    with project.copied("counted") as root:
        run = runs.run(_subject(project, root, scratch), watched=root / OUT / ".orl-codegen")
    assert run.status == 0 and run.calls, run
    return run


def _subject(project: Project, root: Path, scratch: bool = False) -> Callable[[], object]:
    return runs.from_scratch(project.arguments, root) if scratch else runs.command(project.arguments, root)


def _killed(trial: Trial) -> tuple[bool, list[str]]:
    """Whether the run was killed, and what is wrong after it or after the next one."""
    with trial.project.copied(trial.name) as root:
        run = runs.run(_subject(trial.project, root, trial.from_scratch), trial.at)
        if run.status == -9:
            faults = [*whole(trial.project, root)]
        else:
            faults = [*_ended(run, 0), *finished(trial.project, root)]
        faults += _next_run(trial.project, root)
    return run.status == -9, [f"{trial.name}, killed at {trial.at}: {fault}" for fault in faults]


def _ended(run: runs.Run, status: int) -> Iterator[str]:
    if run.status != status or "Traceback" in run.errors:
        yield f"status {run.status} instead of {status}: {run.errors.strip()}"


def _next_run(project: Project, root: Path) -> Iterator[str]:
    (run,) = runs.run_together([_subject(project, root)])
    yield from (f"the next run: {fault}" for fault in (*_ended(run, 0), *finished(project, root)))


def _control(pool: ProcessPoolExecutor, project: Project) -> Figure:
    """The judge finds fault with a writer that writes each file in its place."""
    caught = sum(pool.map(_naive_is_caught, [project] * CONTROLS, range(1, CONTROLS + 1)))
    what = f"positive control: a writer that writes in place, killed at each of its first {CONTROLS} calls"
    return Figure(what, f"caught {caught} times", caught > 0, () if caught else ("the judge found nothing",))


def _naive_is_caught(project: Project, at: int) -> bool:
    with project.copied(f"naive {at}") as root:
        runs.run(lambda: naive(root / OUT, project.new), at)
        return any(whole(project, root))


def _full_disks(pool: ProcessPoolExecutor, kinds: dict[str, Project], seed: int, share: float) -> Figure:
    chosen = random.Random(f"{seed} full disks")
    tried = [kinds[chosen.choice(("offline", "new", "asked"))] for _ in range(_some(FULL_DISKS, share))]
    room = [chosen.randint(0, _largest(project) + 200) for project in tried]
    faults = tuple(fault for found in pool.map(_full, tried, room) for fault in found)
    what = f"{len(tried)} runs that may write files of a few bytes only (RLIMIT_FSIZE, 0 to all that is needed)"
    return _figure(what, "all files or none, an error that names file and folder, nothing left over", faults)


def _largest(project: Project) -> int:
    changed = [text for name, text in project.new.items() if text != project.old.get(name)]
    return max(len(text.encode()) for text in changed)


def _full(project: Project, room: int) -> list[str]:
    with project.copied(f"full {room}") as root:
        (run,) = runs.run_together([runs.command(project.arguments, root, room)])
        if room >= _largest(project):
            faults = [*_ended(run, 0), *finished(project, root)]
        else:
            faults = [*_ended(run, 2), *untouched(project, root)]
            faults += [] if NO_ROOM.match(run.errors) else [f"no clear error: {run.errors.strip()}"]
        faults += _next_run(project, root)
    return [f"{project.name}, room for {room} bytes: {fault}" for fault in faults]


READ_ONLY: Sequence[tuple[str, str, int, str]] = (
    ("asked", OUT, 0o555, "The output folder cannot be written"),
    ("asked", OUT, 0o444, "cannot be read: Permission denied"),
    ("asked", f"{OUT}/made.py", 0o000, "cannot be read: Permission denied"),
    ("asked", f"{OUT}/made.json", 0o000, "cannot be read: Permission denied"),
    ("offline", OUT, 0o555, "The output folder cannot be written"),
    ("new", ".", 0o555, "The output folder cannot be written"),
    ("asked", f"{OUT}/made.py", 0o444, ""),
)
"""A project, what in it has which mode, and what the error says, if it is one."""


def _read_only(pool: ProcessPoolExecutor, kinds: dict[str, Project]) -> Figure:
    cases = [(kinds[kind], *case) for kind, *case in READ_ONLY]
    faults = tuple(fault for found in pool.map(_without_permission, *zip(*cases, strict=True)) for fault in found)
    what = f"{len(cases)} folders and files that may not be read or written"
    return _figure(what, "a clear error, nothing changed; a read-only file in a folder that is not is replaced", faults)


def _without_permission(project: Project, path: str, mode: int, message: str) -> list[str]:
    with project.copied(f"{path.replace('/', ' ')} {mode:o}") as root:
        before = (root / path).stat().st_mode
        (root / path).chmod(mode)
        (run,) = runs.run_together([runs.without_privileges(_subject(project, root))])
        after = (root / path).stat().st_mode & 0o777
        (root / path).chmod(before)
        faults = [*_ended(run, 2 if message else 0)]
        faults += untouched(project, root) if message else finished(project, root)
        faults += [] if message in run.errors else [f"no clear error: {run.errors.strip()}"]
        faults += [] if after == mode else [f"its mode became {after:o}"]
    return [f"{project.name}, {path} with mode {mode:o}: {fault}" for fault in faults]


def _writers(
    pool: ProcessPoolExecutor, home: Path, urls: list[str], alone: dict[tuple[str, str], Texts], seed: int, share: float
) -> Figure:
    count = _some(ROUNDS, share)
    rounds = pool.map(round_of_writers, [home] * count, [urls] * count, [alone] * count, [seed] * count, range(count))
    faults = tuple(fault for found in rounds for fault in found)
    what = f"{count} rounds of two or four runs at once in one folder, and a check"
    return _figure(what, "all succeed, one result, whole, nothing left over; the check finds no drift", faults)


def _hammered(pool: ProcessPoolExecutor, home: Path, pairs: list[Texts], seed: int, share: float) -> Figure:
    count = _some(HAMMERED, share)
    ended = pool.map(hammered, [home] * count, [pairs] * count, [seed] * count, range(count))
    faults = tuple(fault for found in ended for fault in found)
    what = f"{count} times four writers at the same moment, every tenth time 25 times in a row, and a reader of pairs"
    return _figure(what, "every pair that was read or left is of one writer", faults)


def _figure(what: str, found: str, faults: tuple[str, ...]) -> Figure:
    return Figure(what, f"{len(faults)} faults" if faults else found, not faults, faults)
