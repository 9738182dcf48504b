"""One process and one signal: what it does when the signal comes, and what it has to be like when it has ended."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from orl_codegen.ors.limits import EXIT_WITHIN
from tests.reliability.interruption.clients import Client, Ended, command, serving, training
from tests.support.servers import RunningServer

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SLACK = 4.0  # seconds that Python may take to end on a busy machine, beside the limit for the sessions

NOISE = ("Task was destroyed", "never retrieved", "Unclosed", "Fatal Python error", "never awaited", "Aborted!")
FILES = ["lingeringecho.json", "lingeringecho.py"]

LOAD = """
def play(number):
    adapter = OpenRewardSpec(Echo, base_url=sys.argv[1], variant="lingeringecho").environment_factory()
    while True:
        adapter.reset(task_index=number)
        for _ in range(3):
            adapter.wait(seconds=0.02)

def player(number):
    try:
        play(number)
    except SessionError:
        pass

from orl_codegen.errors import SessionError
for number in range(12):
    threading.Thread(target=player, args=[number], daemon=True).start()
play(12)
"""

TRAINERS = {
    "idle": "adapters = opened(3); time.sleep(60)",
    "in a call": "adapters = opened(3); adapters[0].wait(seconds=60)",
    "opening": "adapters = opened(3); time.sleep(60)",
    "closing": "adapters = opened(3); adapters.clear(); time.sleep(60)",
    "under load": LOAD,
}
"""What training does when the signal comes."""

STATES: dict[str, Callable[[RunningServer], bool]] = {
    "idle": lambda server: server.paths().count("GET /lingeringecho/prompt") == 3,
    "in a call": lambda server: "POST /lingeringecho/call" in server.paths(),
    "opening": lambda server: "POST /create" in server.paths(),
    "closing": lambda server: "POST /delete" in server.paths(),
    "under load": lambda server: server.paths().count("POST /lingeringecho/call") > 12,
    "asking": lambda server: "GET /lingeringecho/task_tools" in server.paths(),
}
"""How the server sees what a client is doing."""


@dataclass(frozen=True)
class Trial:
    """One process and one signal.

    Attributes:
        what: `generate`, `check` or `training`.
        state: What it does when the signal comes; empty where the moment is random.
        number: The signal.
        delay: Seconds that pass before it comes.
    """

    what: str
    state: str
    number: int
    delay: float

    def __str__(self) -> str:
        when = self.state or "at a random moment"
        return f"{signal.Signals(self.number).name} to {self.what}, {when}, after {self.delay:.3f} s"

    def fault(self) -> str:
        """What is wrong with how it ended; empty if nothing is."""
        with serving() as server, tempfile.TemporaryDirectory() as name:
            client = self._client(server, Path(name))
            wrong = self._interrupted(client, server) or self._wrong(client, Path(name))
        return f"{self}: {wrong}" if wrong else ""

    def _client(self, server: RunningServer, folder: Path) -> Client:
        if self.what == "training":
            return training(TRAINERS[self.state or "under load"], server)
        generate = [server.url, "-o", "out", "--no-type-check"]
        if self.what == "generate":
            return command(generate, server, folder)
        made = command(generate, server, folder).ended()
        assert made.status == 0, made
        server.requests.clear()
        return command(["check", server.url, "-o", "out"], server, folder)

    def _interrupted(self, client: Client, server: RunningServer) -> str:
        """Send the signal at the right moment; says so if that never comes."""
        if self.state and not client.wait_until(lambda: STATES[self.state](server)):
            return f"it did not come to that state: {client.ended()}"
        time.sleep(self.delay)
        client.send(self.number)
        return ""

    def _wrong(self, client: Client, folder: Path) -> str:
        ended = client.ended()
        if self.what == "training":
            return _wrong_in_training(self.number, ended) or left_behind(ended, client)
        return self._wrong_in_command(ended, folder / "out") or left_behind(ended, client)

    def _wrong_in_command(self, ended: Ended, folder: Path) -> str:
        """Whether the line, the exit status and the files of a command fit each other."""
        files = sorted(path.name for path in folder.glob("*"))
        before = FILES if self.what == "check" else []
        if ended.status == 128 + self.number:
            return "" if _is_true(ended.errors, files, before) else f"it said {ended.errors!r} with {files}"
        too_early = ended.status == -self.number and files == before
        too_late = ended.status in (0, -self.number) and files == FILES
        if not self.state and (too_early or too_late):
            return ""
        return f"its exit status was {ended.status}, with {files}: {ended.errors[-300:]}"


def _is_true(line: str, files: list[str], before: list[str]) -> bool:
    """Whether a command has written what it says that it has written."""
    match line:
        case "orl-codegen: interrupted; nothing was written.\n":
            return files == before
        case "orl-codegen: interrupted; the files were written.\n":
            return files == FILES
        case _:
            return line.startswith("orl-codegen: interrupted") and line.count("\n") == 1 and {*files} <= {*FILES}


def _wrong_in_training(number: int, ended: Ended) -> str:
    """A program dies of the signal, silently but for the traceback of Ctrl-C."""
    if ended.status != -number or (number != signal.SIGINT and ended.errors):
        return f"its exit status was {ended.status}: {ended.errors[-300:]}"
    return ""


def left_behind(ended: Ended, client: Client) -> str:
    """What is still there of a process; empty if nothing is."""
    if ended.left:
        return f"{ended.left} sessions are left on the server: {ended.errors[-300:]}"
    if others := client.others():
        return f"{len(others)} processes are left"
    if noise := [words for words in NOISE if words in ended.errors]:
        return f"it printed {noise}: {ended.errors[-300:]}"
    return f"it took {ended.seconds:.1f} s to end" if ended.seconds > EXIT_WITHIN + SLACK else ""
