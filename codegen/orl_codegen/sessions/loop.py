"""The event loop of this process: one daemon thread, started by the first session, that carries all of them.

What is open on the loop closes when the process ends (see `endings`), in parallel and within `limits.EXIT_WITHIN`. A
forked child starts a loop of its own: what it inherits belongs to its parent, and it leaves that alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from orl_codegen.endings import BeforeSigterm, before_exit
from orl_codegen.errors import SessionError
from orl_codegen.ors import limits
from orl_codegen.ors.transport import Pool

T = TypeVar("T")

WORKERS = 4


class Closable(Protocol):
    """What lives on the loop until it is closed."""

    async def close(self) -> None:
        """Close it; may be called more than once."""


class EventLoop:
    """An event loop on a thread of its own, with the connections and whatever else is open on it.

    Attributes:
        opened: What is to be closed when the process ends; to be changed on the loop's thread only.
    """

    def __init__(self) -> None:
        self.opened: set[Closable] = set()
        self._pool = Pool()
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_Workers())
        self._ended = False
        threading.Thread(target=self._loop.run_forever, name="orl-codegen", daemon=True).start()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop's thread."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop's thread and wait for its result."""
        return self.submit(coroutine).result()

    @property
    def pool(self) -> Pool:
        """The connections.

        Raises:
            SessionError: The process is ending, and they are closed.
        """
        if self._ended:
            raise SessionError("No session can be opened any more: the process is ending.")
        return self._pool

    async def close_all(self, for_good: bool = False) -> None:
        """Close everything that is open, within `limits.EXIT_WITHIN` seconds; for good: the connections, too."""
        self._ended = self._ended or for_good
        closing = [asyncio.ensure_future(one.close()) for one in self.opened]
        if closing:
            await asyncio.wait(closing, timeout=limits.EXIT_WITHIN)
        if for_good:
            await self._pool.close()


class _Workers(ThreadPoolExecutor):
    """Threads for what aiohttp does not do on the loop: it resolves names in them.

    They are daemons, because the pools of the standard library have ended before the sessions close, and all of them
    are started now: Python 3.12 starts none at exit.
    """

    def __init__(self) -> None:
        super().__init__(WORKERS)  # which starts no thread; asyncio asks for an instance of the class
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        for _ in range(WORKERS):
            threading.Thread(target=self._work, name="orl-codegen", daemon=True).start()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        self._jobs.put(partial(_fulfil, future, partial(fn, *args, **kwargs)))
        return future

    def _work(self) -> None:
        while True:
            self._jobs.get()()


def _fulfil(future: Future[T], work: Callable[[], T]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)


class _Process:
    """The loop of this process, and of the processes that it was forked from."""

    def __init__(self) -> None:
        self.loop: EventLoop | None = None
        self._starting = threading.Lock()
        self._inherited: list[EventLoop | None] = []

    def started(self) -> EventLoop:
        """The loop; starts it on first use."""
        with self._starting:
            self.loop = self.loop or EventLoop()
            return self.loop

    def forked(self) -> None:
        """Begin anew in a child: the loop's thread does not survive a fork.

        Its sockets and its selector are shared with the parent, so the old loop must not even be garbage-collected:
        closing it here would take the parent's connections out of its selector. The lock may have been held.
        """
        self._inherited.append(self.loop)
        self.loop, self._starting = None, threading.Lock()


_process = _Process()


def event_loop() -> EventLoop:
    """The event loop of this process; starts it on first use."""
    close_on_sigterm()
    return _process.loop or _process.started()


def close_sessions(for_good: bool = False) -> None:
    """Close every session of this process, and wait a little more than `limits.EXIT_WITHIN` seconds at the most."""
    loop = _process.loop
    if loop is not None:
        with contextlib.suppress(TimeoutError):
            loop.submit(loop.close_all(for_good)).result(limits.EXIT_WITHIN + 0.5)


close_on_sigterm = BeforeSigterm(close_sessions).arrange
"""Make sure that the sessions close on SIGTERM, which only the main thread can arrange. May be called often."""

os.register_at_fork(after_in_child=_process.forked)
before_exit(partial(close_sessions, for_good=True))
