"""The event loop of this process: one daemon thread, started by the first session, that carries all of them.

Sessions close when the process ends, in parallel and within `CLOSE_WITHIN` seconds:

- at a normal exit and after an exception, in a hook that runs before threads are joined. `atexit` is too late: the
  default executor, in which aiohttp resolves names and reads proxy settings, is shut down by then. `concurrent.futures`
  uses the same hook, and hooks run in reverse order, so ours is registered after its own. It also runs in the children
  of multiprocessing, where `atexit` handlers do not.
- on SIGTERM, before the handler that was there.

A forked child starts a loop of its own. The sessions that it inherits belong to its parent, and it leaves them alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures.thread import ThreadPoolExecutor  # this import registers its exit hook, see above
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import aiohttp

    from orl_codegen.runtime.session import Session

T = TypeVar("T")

CLOSE_WITHIN = 2.0
WORKERS = 4


class EventLoop:
    """An event loop on a thread of its own, with the HTTP client and the open sessions that live on it."""

    def __init__(self) -> None:
        self.sessions: set[Session] = set()  # touched on the loop's thread only
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_workers())
        self._clients: dict[bool, aiohttp.ClientSession] = {}
        threading.Thread(target=self._loop.run_forever, name="orl-codegen", daemon=True).start()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop's thread."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop's thread and wait for its result."""
        return self.submit(coroutine).result()

    def client(self, url: str) -> aiohttp.ClientSession:
        """The HTTP client for a URL; to be called on the loop's thread. No proxy stands before this machine itself."""
        distant = urlsplit(url).hostname not in ("localhost", "127.0.0.1", "::1")
        if distant not in self._clients:
            import aiohttp
            from openreward.api._session.http import set_retry_policy

            connector, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=None)
            self._clients[distant] = aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=distant)
            # A 500 of an environment server is an exception of the environment: asking again runs it again.
            set_retry_policy(self._clients[distant], "env-server")
        return self._clients[distant]

    async def close_sessions(self) -> None:
        """Close every session that is open."""
        await asyncio.gather(*(session.close() for session in list(self.sessions)), return_exceptions=True)

    async def end(self) -> None:
        """Close every session, then the connections that they used."""
        await self.close_sessions()
        await asyncio.gather(*(client.close() for client in self._clients.values()))


def _workers() -> ThreadPoolExecutor:
    """Threads for what aiohttp cannot do on the loop. All of them are started now: Python 3.12 starts none at exit."""
    started = threading.Barrier(WORKERS)
    executor = ThreadPoolExecutor(WORKERS, "orl-codegen", initializer=started.wait)
    for _ in range(WORKERS):
        executor.submit(int)
    return executor


_current: EventLoop | None = None
_abandoned: list[EventLoop | None] = []
_starting = threading.Lock()
_previous: Callable[[int, Any], Any] | int | None = None


def event_loop() -> EventLoop:
    """The event loop of this process; starts it on first use."""
    global _current
    close_at_exit()
    if _current is None:
        with _starting:
            if _current is None:
                _current = EventLoop()
    return _current


def close_sessions() -> None:
    """Close every session of this process, and wait up to `CLOSE_WITHIN` seconds for it."""
    if _current is not None:
        with contextlib.suppress(TimeoutError):
            _current.submit(_current.close_sessions()).result(CLOSE_WITHIN)


def _end() -> None:
    if _current is not None:
        with contextlib.suppress(TimeoutError):
            _current.submit(_current.end()).result(CLOSE_WITHIN)


def close_at_exit() -> None:
    """Make sure that the sessions close on SIGTERM, which only the main thread can arrange. May be called often."""
    global _previous
    if _previous is not None or threading.current_thread() is not threading.main_thread():
        return
    handler = signal.getsignal(signal.SIGTERM)
    # None: not a handler of Python's, so it could not be called. Ignored: the process is meant to go on.
    if handler is None or handler is signal.SIG_IGN:
        return
    _previous = handler
    signal.signal(signal.SIGTERM, _on_sigterm)


def _on_sigterm(signum: int, frame: Any) -> None:
    close_sessions()
    if callable(_previous):
        _previous(signum, frame)
    else:
        signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)


def _forget_in_child() -> None:
    """The loop's thread does not survive a fork. Its sockets and its selector are shared with the parent, so the old
    loop must not even be garbage-collected: closing it here would take the parent's connections out of its selector."""
    global _current, _starting
    _abandoned.append(_current)
    _current, _starting = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_in_child)
threading._register_atexit(_end)  # type: ignore[attr-defined]
