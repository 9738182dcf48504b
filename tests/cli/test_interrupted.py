"""What Ctrl-C, SIGTERM and SIGHUP do to a command: one line, an exit status of their own, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from openreward.environments import Server

from orl_codegen.ors.limits import EXIT_WITHIN
from tests.support.applications import answering
from tests.support.cli import orl_codegen
from tests.support.environments import environment, source_of, spec
from tests.support.servers import RunningServer, running, serving_application

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
NOTHING = "orl-codegen: interrupted; nothing was written.\n"


class Slow(environment([spec("go")])):  # type: ignore[misc]
    """Takes its time to say which tools a task has."""

    def list_task_tools(self) -> object:
        """Say so, late."""
        time.sleep(1.5)
        return super().list_task_tools()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory for each test."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def slow() -> Iterator[RunningServer]:
    with running(Slow) as server:
        yield server


def started(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """A command in a process of its own."""
    command = [sys.executable, "-m", "orl_codegen", *arguments]
    return subprocess.Popen(command, **{"stdout": subprocess.PIPE, **options}, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit status, output and errors."""
    output, errors = process.communicate(timeout=20)
    return process.returncode, output, errors


def wait_for_a_session(server: RunningServer) -> None:
    """Until the command is in the middle of its questions."""
    assert server.wait_for_sessions(1, within=20) == 1


@pytest.mark.parametrize("number", SIGNALS)
def test_generate_says_that_nothing_was_written(slow: RunningServer, number: int) -> None:
    """In one line; the session that was open is deleted, and no file is there."""
    process = started(slow.url, "-o", "out")
    wait_for_a_session(slow)
    process.send_signal(number)
    assert ended(process) == (128 + number, "", NOTHING)
    assert slow.live_sessions == []
    assert not Path("out").exists()


@pytest.mark.parametrize("number", SIGNALS[1:])
def test_where_ctrl_c_is_ignored_the_others_are_not(slow: RunningServer, number: int) -> None:
    """As in the background of a shell script: there, too, it is one line, and no complaint of asyncio."""
    process = started(slow.url, "-o", "out", preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_IGN))
    wait_for_a_session(slow)
    process.send_signal(number)
    assert ended(process) == (128 + number, "", NOTHING)
    assert slow.live_sessions == []


@pytest.mark.parametrize("number", SIGNALS)
def test_check_is_interrupted_likewise(slow: RunningServer, number: int) -> None:
    """It prints no half of a report."""
    orl_codegen(slow.url, "-o", "out", "-q", "--no-type-check")
    process = started("check", slow.url, "-o", "out")
    wait_for_a_session(slow)
    process.send_signal(number)
    assert ended(process) == (128 + number, "", NOTHING)
    assert slow.live_sessions == []


def test_a_second_signal_does_not_cut_off_the_closing() -> None:
    """The session is deleted although Ctrl-C is pressed again while the server works on that."""
    with running(Slow, latency=0.4) as server:
        process = started(server.url, "-o", "out")
        wait_for_a_session(server)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        assert len(server.live_sessions) == 1
        process.send_signal(signal.SIGINT)
        assert ended(process) == (130, "", NOTHING)
        assert server.live_sessions == []


def test_a_third_signal_does_not_wait_for_the_server() -> None:
    """There is no traceback then, either."""
    with running(Slow, latency=1.5) as server:
        process = started(server.url, "-o", "out")
        assert server.wait_for_sessions(1, within=30) == 1
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
        began = time.monotonic()
        assert ended(process) == (130, "", NOTHING)
        assert time.monotonic() - began < 1.0


def test_an_ignored_sighup_stays_ignored(slow: RunningServer) -> None:
    """As under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = started(slow.url, "-o", "out", "--no-type-check", "-q")
    finally:
        signal.signal(signal.SIGHUP, before)
    wait_for_a_session(slow)
    process.send_signal(signal.SIGHUP)
    assert ended(process) == (0, "", "")
    assert Path("out/slow.py").exists()


def test_the_server_that_the_command_started_ends_too(tmp_path: Path) -> None:
    """The process that serves a Python class, while it is still importing it."""
    code = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(30)\n"
    Path("server.py").write_text(code + source_of("Late"))
    process = started("server.py", "-o", "out")
    deadline = time.monotonic() + 20
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert ended(process) == (130, "", NOTHING)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_after_the_files_were_written_it_says_so() -> None:
    """The reader of its output does not read, so the command hangs in its report when it is interrupted."""
    orl_codegen("--help")
    with running(environment([spec("go")])) as server:
        read, write = os.pipe()
        os.set_blocking(write, False)
        filling = os.write(write, b" " * 10**6)
        os.set_blocking(write, True)
        process = started(server.url, "-o", "out", "--no-type-check", stdout=write)
        deadline = time.monotonic() + 20
        while not Path("out/made.py").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        os.close(write)
        while filling > 0:
            filling -= len(os.read(read, 10**6))
        assert ended(process)[::2] == (130, "orl-codegen: interrupted; the files were written.\n")
        os.close(read)


def test_a_session_that_cannot_be_deleted_is_named() -> None:
    """After a second try; it is a note, and does not change the exit status."""
    application = Server([environment([spec("go")])]).app
    with serving_application(answering({"/delete": 500}, application)) as server:
        began = time.monotonic()
        outcome = orl_codegen(server.url, "-o", "out", "--no-type-check")
        assert time.monotonic() - began < 2 * EXIT_WITHIN
        assert outcome.status == 0 and Path("out/made.py").exists()
        assert server.paths().count("POST /delete") == 2
        assert outcome.err == (
            f"{server.url}: 1 session may still be open on the server: the request to delete it failed (HTTP 500). The "
            "server gives up a session that it has heard no ping of for a while.\n"
        )


def test_a_session_whose_deletion_fails_once_is_not_named() -> None:
    """The second try has deleted it."""
    application, answers = Server([environment([spec("go")])]).app, {"/delete": 503}
    failing = answering(answers, application)

    async def once(scope: object, receive: object, send: object) -> None:
        await failing(scope, receive, send)  # type: ignore[arg-type]
        if scope.get("path") == "/delete":  # type: ignore[attr-defined]
            answers.clear()

    with serving_application(once) as server:
        outcome = orl_codegen(server.url, "-o", "out", "--no-type-check")
        assert (outcome.status, outcome.err) == (0, "")
        assert server.paths().count("POST /delete") == 2


def test_ctrl_c_in_the_middle_of_an_import(tmp_path: Path) -> None:
    """Python remembers one that leaves code compiled from text, and `python -m` would end with its status."""
    Path("main.py").write_text(
        "import sys\n"
        "from orl_codegen.endings import Interrupts\n"
        "interrupts = Interrupts()\n"
        "interrupts.arrange()\n"
        "try:\n"
        "    exec('import os, signal; os.kill(os.getpid(), signal.SIGTERM)')\n"
        "except KeyboardInterrupt:\n"
        "    interrupts.finish()\n"
        "    sys.exit(128 + interrupts.number)\n"
    )
    assert subprocess.run([sys.executable, "-m", "main"], timeout=20).returncode == 128 + signal.SIGTERM
