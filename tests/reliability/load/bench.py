"""What the parts of the suite share: two servers, a generated module, and processes of their own to play in."""

from __future__ import annotations

import contextlib
import importlib
import logging
import multiprocessing
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from tests.reliability.figures import Figure
from tests.reliability.load.server import LedgerServer, serving


@dataclass(frozen=True)
class Bench:
    """Where a part of the suite plays.

    Attributes:
        servers: Two servers of the ledger, each in a process of its own.
        folder: The folder with the generated module, which is importable in every process.
        seed: Determines everything that is random.
        share: How much of the suite to run.
    """

    servers: tuple[LedgerServer, LedgerServer]
    folder: str
    seed: int
    share: float

    def server(self, task: int) -> LedgerServer:
        """The server that plays a task."""
        return self.servers[task % 2]

    def specs(self, **options: Any) -> list[Any]:
        """A spec for each server."""
        from orl_codegen import OpenRewardSpec

        adapter = importlib.import_module("ledger").Ledger
        return [OpenRewardSpec(adapter, base_url=server.url, **options) for server in self.servers]

    def live(self) -> int:
        """The sessions that are open on the servers."""
        return sum(server.live() for server in self.servers)

    @property
    def command(self) -> str:
        """How to repeat what was found."""
        return f"python -m tests.reliability load --seed {self.seed} --share {self.share:g}"


@contextlib.contextmanager
def bench(seed: int, share: float) -> Iterator[Bench]:
    """Generate the module, and serve the ledger twice."""
    with tempfile.TemporaryDirectory() as folder, serving() as one, serving() as other:
        names = ["--name", "ledger", "--class-name", "Ledger"]
        command = [sys.executable, "-m", "orl_codegen", one.url, "-o", folder, *names, "--no-type-check", "-q"]
        subprocess.run(command, check=True)
        sys.path.insert(0, folder)  # multiprocessing hands it on
        try:
            yield Bench((one, other), folder, seed, share)
        finally:
            sys.path.remove(folder)


def elsewhere(part: Callable[[Bench], Iterator[Figure]], bench: Bench) -> Iterator[Figure]:
    """The figures of a part, which plays in a fresh process: nothing that ran before it is measured with it."""
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=_play, args=(part, bench, theirs))
    child.start()
    theirs.close()
    try:
        while isinstance(found := _received(ours), Figure):
            yield found
        child.join(60)
        if found is not None or child.exitcode != 0:
            yield Figure(part.__name__, f"its process ended with {child.exitcode}", False, tuple(found or ()))
    finally:
        child.kill()
        child.join()


def _received(connection: Connection) -> Any:
    try:
        return connection.recv()
    except EOFError:
        return ["it said nothing more"]


def _play(part: Callable[[Bench], Iterator[Figure]], bench: Bench, connection: Connection) -> None:
    from orl_codegen.ors import limits

    logging.disable()
    # So that the suite takes minutes: a call that is taken up again waits a second otherwise, and so does a reading.
    limits.FIRST_PAUSE, limits.IDLE_FOR = 0.05, 0.2
    try:
        for figure in part(bench):
            connection.send(figure)
        connection.send(None)
    except BaseException:
        connection.send(traceback.format_exc().splitlines())
