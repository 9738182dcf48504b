"""Runs of `orl-codegen` in forks of this process, which has imported everything: a run takes a tenth of a second.

A run may be killed at a chosen system call. Where the system lets a process trace its child, that is any system call of
the main thread, when it begins or ends; elsewhere, any of the events that Python audits, each just before the call.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

TRACE_ME, SYSCALL, SET_OPTIONS = 0, 24, 0x4200
TRACE_SYSCALLS_APART, END_WITH_TRACER = 1, 0x100000
AT_SYSCALL = signal.SIGTRAP | 0x80

FILE_EVENTS = {"open", "fcntl.flock", "os.scandir", "os.listdir", "socket.connect"}


@dataclass(frozen=True)
class Run:
    """A run that has ended.

    Attributes:
        status: Its exit status; negative: the signal that ended it.
        errors: What it wrote to standard error.
        calls: How many system calls, or audited events, it made.
        first: The first of them at which the watched path was there; 0 if none.
        last: The last of them.
    """

    status: int
    errors: str
    calls: int = 0
    first: int = 0
    last: int = 0


def run(subject: Callable[[], object], kill_at: int = 0, watched: Path | None = None) -> Run:
    """Run something in a fork, and kill it at its `kill_at`-th system call, unless that is 0.

    Args:
        subject: What to run.
        kill_at: The number of the call.
        watched: A path that is there during a part of the run: `Run.first` and `Run.last`.
    """
    counted = _traced if can_trace() else _audited
    with _errors() as (errors, written):
        status, calls = counted(subject, errors, kill_at, watched)
        return Run(status, written(), calls.number, calls.first, calls.last)


def run_together(subjects: Sequence[Callable[[], object]]) -> list[Run]:
    """Run several things at the same time, each in a fork."""
    go, gate = os.pipe()

    def after_the_gate(subject: Callable[[], object]) -> object:
        os.close(gate)
        os.read(go, 1)
        return subject()

    with contextlib.ExitStack() as stack:
        pipes = [stack.enter_context(_errors()) for _ in subjects]
        children = [
            _fork(functools.partial(after_the_gate, subject), errors)
            for subject, (errors, _) in zip(subjects, pipes, strict=True)
        ]
        os.close(gate)
        os.close(go)
        ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        return [Run(status, written()) for status, (_, written) in zip(ended, pipes, strict=True)]


@contextlib.contextmanager
def _errors() -> Iterator[tuple[int, Callable[[], str]]]:
    """A pipe for standard error, and what has been written to it; in a file it would count as one of the run's."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)

    def written() -> str:
        with contextlib.suppress(BlockingIOError):
            return os.read(reading, 1 << 16).decode("utf-8", "replace")
        return ""

    try:
        yield writing, written
    finally:
        os.close(reading)
        os.close(writing)


def command(arguments: Sequence[str], folder: Path, room: int | None = None) -> Callable[[], object]:
    """`orl-codegen ARGUMENTS` in a folder, where no file may grow beyond `room` bytes."""

    def subject() -> None:
        from orl_codegen.cli import main

        os.chdir(folder)
        if room is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        main(arguments)

    return subject


def from_scratch(arguments: Sequence[str], folder: Path) -> Callable[[], object]:
    """The same in a new Python, which has imported nothing yet."""

    def subject() -> None:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, "-m", "orl_codegen", *arguments])

    return subject


def without_privileges(subject: Callable[[], object]) -> Callable[[], object]:
    """The same as a user whom the modes of files bind; root is not, as long as it has its capabilities."""

    def unprivileged() -> object:
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        if os.getuid() == 0 and _libc().syscall(_CAPSET.get(os.uname().machine, -1), header, (ctypes.c_uint32 * 6)()):
            raise OSError(ctypes.get_errno(), "capset")
        return subject()

    return unprivileged


_CAPSET = {"x86_64": 126, "aarch64": 91}


@functools.cache
def can_trace() -> bool:
    """Whether the system lets a process trace its child."""
    if sys.platform != "linux":
        return False
    try:
        return _traced(lambda: None, 2, 0, None)[1].number > 0
    except OSError:
        return False


@functools.cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    return libc


def _ptrace(request: int, child: int, data: int = 0) -> None:
    if _libc().ptrace(request, child, None, data) == -1:
        raise OSError(ctypes.get_errno(), "ptrace")


def _fork(subject: Callable[[], object], errors: int) -> int:
    child = os.fork()
    if child == 0:
        _become(subject, errors)
    return child


def _become(subject: Callable[[], object], errors: int) -> NoReturn:
    status = 70
    try:
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(errors, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        subject()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 70
    except BaseException as error:
        os.write(2, repr(error).encode())
    finally:
        with contextlib.suppress(BaseException):
            sys.stderr.flush()
        os._exit(status)


class _Calls:
    """Counts calls."""

    def __init__(self, watched: Path | None) -> None:
        self.number = self.first = self.last = 0
        self._watched = watched

    def count(self) -> int:
        """One more; its number."""
        self.number += 1
        if self._watched is not None and os.path.lexists(self._watched):
            self.first, self.last = self.first or self.number, self.number
        return self.number


def _traced(subject: Callable[[], object], errors: int, kill_at: int, watched: Path | None) -> tuple[int, _Calls]:
    """The status, and the system calls."""

    def traced() -> object:
        _ptrace(TRACE_ME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        return subject()

    child = _fork(traced, errors)
    calls = _Calls(watched)
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        return os.waitstatus_to_exitcode(status), calls
    _ptrace(SET_OPTIONS, child, TRACE_SYSCALLS_APART | END_WITH_TRACER)
    inject = 0
    while True:
        _ptrace(SYSCALL, child, inject)
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status), calls
        stopped = os.WSTOPSIG(status)
        inject = 0 if stopped in (AT_SYSCALL, signal.SIGTRAP) else stopped
        if stopped == AT_SYSCALL and calls.count() == kill_at:
            os.kill(child, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), calls


def _audited(subject: Callable[[], object], errors: int, kill_at: int, watched: Path | None) -> tuple[int, _Calls]:
    """The same, with the events that Python audits in place of system calls; a new Python is not followed."""
    calls = _Calls(watched)
    with tempfile.TemporaryFile() as counts:

        def hook(event: str, _: object) -> None:
            if event.startswith("os.") or event in FILE_EVENTS:
                number = calls.count()
                os.pwrite(counts.fileno(), f"{number} {calls.first} {calls.last}".encode(), 0)
                if number == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        def audited() -> object:
            sys.addaudithook(hook)
            return subject()

        status = os.waitstatus_to_exitcode(os.waitpid(_fork(audited, errors), 0)[1])
        counts.seek(0)
        calls.number, calls.first, calls.last = map(int, (counts.read() or b"0 0 0").split())
        return status, calls
