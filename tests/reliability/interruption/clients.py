"""The processes that are interrupted, and the server that counts their sessions.

Each is a real process: `orl-codegen generate` and `check`, and programs that open sessions as a trainer does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import conftest  # noqa: F401 - the environment variables that all tests run with
from tests.environments.echo import Echo
from tests.support.processes import OPENING, ROOT
from tests.support.servers import RunningServer, running

REACHES_WITHIN = 40.0  # seconds until a process has come to the state in which it is interrupted
ENDS_WITHIN = 20.0


class LingeringEcho(Echo):
    """The word of the task, in a sandbox that is slow to come up, to say what it offers, and to go down."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        time.sleep(0.15)  # not on the server's loop
        super().__init__(*arguments, **named)

    def list_task_tools(self) -> Any:
        """Say so, late."""
        time.sleep(0.2)
        return super().list_task_tools()

    async def teardown(self) -> None:
        """Go down, late."""
        await asyncio.sleep(0.2)


@contextlib.contextmanager
def serving() -> Iterator[RunningServer]:
    """A server of one trial."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # it reports every connection that is cut off
    with running(LingeringEcho) as server:
        yield server


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes:
        status: Its exit status, negative for a signal; None where it had to be killed.
        output: What it printed.
        errors: What it printed on standard error.
        seconds: From the signal to the end.
        left: The sessions that it left on the server.
    """

    status: int | None
    output: str
    errors: str
    seconds: float
    left: int


class Client:
    """A process that talks to a server, and is interrupted.

    Args:
        arguments: Of Python.
        server: Whose sessions are counted.
        folder: Its working directory.
    """

    def __init__(self, arguments: list[str], server: RunningServer, folder: Path = ROOT) -> None:
        self._server = server
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # a group of its own, whose rest is found and ended
        )

    def wait_until(self, reached: Callable[[], bool]) -> bool:
        """Whether the process came to a state before it ended."""
        deadline = time.monotonic() + REACHES_WITHIN
        while not reached():
            if self._process.poll() is not None or time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def send(self, number: int) -> None:
        """Send the process a signal."""
        self._process.send_signal(number)

    def ended(self, within: float = ENDS_WITHIN) -> Ended:
        """Wait for its end, and for the server to be done with what it has asked for."""
        began = time.monotonic()
        try:
            output, errors = self._process.communicate(timeout=within)
            status, seconds = self._process.returncode, time.monotonic() - began
        except subprocess.TimeoutExpired:
            self._process.kill()
            output, errors = self._process.communicate()
            status, seconds = None, within
        return Ended(status, output, errors, seconds, self._sessions_left())

    def _sessions_left(self) -> int:
        """What is on the server once nothing can come any more: a request may still be on its way through it."""
        time.sleep(0.2)
        return self._server.wait_for_sessions(0, within=0.5)

    def others(self) -> list[int]:
        """The processes that it has started and that have not ended; they are ended here."""
        left = []
        for entry in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                state, _, _, session = entry.read_text().rpartition(")")[2].split()[:4]
                if int(session) == self._process.pid and state != "Z":
                    left.append(int(entry.parent.name))
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        return left


def training(source: str, server: RunningServer) -> Client:
    """A program in which `opened(count)` returns adapters with open sessions."""
    return Client(["-c", OPENING + textwrap.dedent(source), server.url], server)


def command(arguments: list[str], server: RunningServer, folder: Path) -> Client:
    """The command line."""
    return Client(["-m", "orl_codegen", *arguments], server, folder)
