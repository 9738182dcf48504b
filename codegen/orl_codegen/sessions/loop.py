"""The event loop of this process: one daemon thread, started by the first session, that carries all of them.

What is open on the loop closes when the process ends (see `endings`), in parallel and within `limits.EXIT_WITHIN`;
nothing opens meanwhile. A forked child starts a loop of its own: what it inherits belongs to its parent, and it leaves
that alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from orl_codegen.endings import BeforeTermination, before_exit, begin_anew_in_children, unforked, uninterrupted
from orl_codegen.errors import SessionError
from orl_codegen.ors import limits
from orl_codegen.ors.transport import Pool, import_for_requests

T = TypeVar("T")

logger = logging.getLogger(__name__)

WORKERS = 4


class Closable(Protocol):
    """What lives on the loop until it is closed.

    Attributes:
        shown: The environment, for warnings.
    """

    shown: str

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
        self._closing = 0  # how many are closing everything; who does it for good never ends
        with unforked():
            import_for_requests()  # here, and not on the thread: no fork falls into the middle of it
        threading.Thread(target=self._loop.run_forever, name="orl-codegen", daemon=True).start()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop's thread."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop's thread and wait for its result; what interrupts the wait cancels it."""
        future = self.submit(coroutine)
        try:
            return future.result()
        finally:
            future.cancel()

    @property
    def pool(self) -> Pool:
        """The connections.

        Raises:
            SessionError: The process is ending, and they are closed or about to be.
        """
        if self._closing:
            raise SessionError("No session can be opened any more: the process is ending.")
        return self._pool

    async def close_all(self, for_good: bool) -> None:
        """Close everything that is open, within `limits.EXIT_WITHIN` seconds, while nothing else opens; for good: the
        connections, too."""
        self._closing += 1
        closing = [asyncio.ensure_future(one.close()) for one in self.opened]
        if closing:
            await asyncio.wait(closing, timeout=limits.EXIT_WITHIN)
        if for_good:
            await self._pool.close()
        else:
            self._closing -= 1


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
    """The loop of this process, and of the processes that it was forked from.

    Attributes:
        closing_on: The thread that waits until everything on it has closed.
    """

    def __init__(self) -> None:
        self.loop: EventLoop | None = None
        self.closing_on: int | None = None
        self._starting = threading.Lock()
        self._inherited: list[EventLoop | None] = []
        begin_anew_in_children(self)

    def started(self) -> EventLoop:
        """The loop; starts it on first use."""
        with self._starting:
            self.loop = self.loop or EventLoop()
            return self.loop

    def forked(self) -> None:
        """Begin anew in a child: the loop's thread does not survive a fork.

        Its sockets and its selector are shared with the parent, so the old loop must not even be garbage-collected:
        closing it here would take the parent's connections out of its selector.
        """
        self._inherited.append(self.loop)
        self.loop, self.closing_on, self._starting = None, None, threading.Lock()


_process = _Process()


def event_loop() -> EventLoop:
    """The event loop of this process; starts it on first use."""
    close_on_signals()
    return _process.loop or _process.started()


def close_sessions(for_good: bool = False) -> None:
    """Close every session of this process, and wait a little more than `limits.EXIT_WITHIN` seconds at the most.

    Args:
        for_good: Whether no session can be opened afterwards, because the process is ending.
    """
    loop = _process.loop
    if loop is None or _process.closing_on == threading.get_ident():  # a signal in the middle of it
        return
    _process.closing_on = threading.get_ident()
    try:
        with contextlib.suppress(TimeoutError), uninterrupted():
            loop.submit(loop.close_all(for_good)).result(limits.EXIT_WITHIN + 0.5)
        _warn_of(list(loop.opened))
    finally:
        _process.closing_on = None


def _warn_of(left: Sequence[Closable]) -> None:
    for shown, count in Counter(one.shown for one in left).items():
        logger.warning(
            "Sessions of %s may still be open on the server: %d could not be deleted within %g seconds. The server "
            "gives them up when it has heard no ping of them for a while.",
            shown,
            count,
            limits.EXIT_WITHIN,
        )


close_on_signals = BeforeTermination(close_sessions).arrange
"""Make sure that the sessions close on SIGTERM and SIGHUP, which only the main thread can arrange. May be called
often."""

before_exit(partial(close_sessions, for_good=True))
