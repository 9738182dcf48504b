"""The event loop of this process: one daemon thread, started by the first session, that carries all of them.

Sessions close when the process ends, in parallel and within `CLOSE_WITHIN` seconds:

- at a normal exit and after an exception, once the threads that Python waits for have done their work. That is the last
  of the hooks that `threading` runs: by then the pools of `concurrent.futures` have shut down, and here the other
  threads are joined first. `atexit` comes later, but not in the children of multiprocessing.
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
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from orl_codegen.errors import SessionError

if TYPE_CHECKING:
    import aiohttp

    from orl_codegen.sessions.session import Session

T = TypeVar("T")

CLOSE_WITHIN = 2.0
ANSWER_WITHIN = 60.0  # seconds, for a request that waits for nothing the environment does in a session
WORKERS = 4


class EventLoop:
    """An event loop on a thread of its own, with the HTTP clients and the open sessions that live on it."""

    def __init__(self) -> None:
        self.sessions: set[Session] = set()  # touched on the loop's thread only
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_Workers())
        self._connector: aiohttp.TCPConnector | None = None
        self._clients: dict[tuple[bool, bool], aiohttp.ClientSession] = {}
        self._ended = False
        threading.Thread(target=self._loop.run_forever, name="orl-codegen", daemon=True).start()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop's thread."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop's thread and wait for its result."""
        return self.submit(coroutine).result()

    def client(self, url: str, patient: bool = False) -> aiohttp.ClientSession:
        """The HTTP client for a URL; to be called on the loop's thread. No proxy stands before this machine itself.

        Args:
            url: The server.
            patient: For requests that may take as long as they need, not `ANSWER_WITHIN` seconds at the most.

        Raises:
            SessionError: The process ends, and the connections are closed.
        """
        if self._ended:
            raise SessionError("No session can be opened any more: the process is ending.")
        distant = urlsplit(url).hostname not in ("localhost", "127.0.0.1", "::1")
        if (distant, patient) not in self._clients:
            self._clients[distant, patient] = self._new_client(distant, patient)
        return self._clients[distant, patient]

    def _new_client(self, distant: bool, patient: bool) -> aiohttp.ClientSession:
        import aiohttp
        from openreward.api._session.http import set_retry_policy

        self._connector = self._connector or aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None if patient else ANSWER_WITHIN, sock_connect=ANSWER_WITHIN)
        client = aiohttp.ClientSession(
            connector=self._connector, connector_owner=False, timeout=timeout, trust_env=distant
        )
        # A 500 of an environment server is an exception of the environment: asking again runs it again.
        set_retry_policy(client, "env-server")
        refuse_redirects(client)
        return client

    async def close_sessions(self, for_good: bool = False) -> None:
        """Close every session that is open, within `CLOSE_WITHIN` seconds; for good: the connections, too."""
        self._ended = self._ended or for_good
        closing = [asyncio.ensure_future(session.close()) for session in self.sessions]
        if closing:
            await asyncio.wait(closing, timeout=CLOSE_WITHIN)
        if for_good:
            await asyncio.gather(*(client.close() for client in self._clients.values()))
            if self._connector is not None:
                await self._connector.close()


class _Workers(ThreadPoolExecutor):
    """Threads for what aiohttp does not do on the loop: it resolves names in them, and reads proxy settings.

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


def refuse_redirects(client: aiohttp.ClientSession) -> None:
    """Have a client raise where it would follow a redirect, which takes the key and the secrets to another address."""
    import aiohttp

    async def refuse(_: Any, __: Any, redirect: aiohttp.TraceRequestRedirectParams) -> None:
        answer = redirect.response
        answer.close()
        said = f"a redirect to {answer.headers.get('Location')}, which is not followed: name that address (base_url)"
        raise aiohttp.ClientResponseError(answer.request_info, (), status=answer.status, message=said)

    # The SDK's functions take no `allow_redirects`, and its client makes its own sessions.
    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(refuse)
    trace.freeze()
    client.trace_configs.append(trace)


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


def close_sessions(for_good: bool = False) -> None:
    """Close every session of this process, and wait a little more than `CLOSE_WITHIN` seconds at the most."""
    if _current is not None:
        with contextlib.suppress(TimeoutError):
            _current.submit(_current.close_sessions(for_good)).result(CLOSE_WITHIN + 0.5)


def _at_exit() -> None:
    try:
        while threads := [thread for thread in threading.enumerate() if _is_waited_for(thread)]:
            for thread in threads:
                thread.join()
    finally:
        close_sessions(for_good=True)


def _is_waited_for(thread: threading.Thread) -> bool:
    """Whether Python waits for the end of a thread before it ends itself."""
    return not thread.daemon and thread not in (threading.main_thread(), threading.current_thread())


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
threading._threading_atexits.insert(0, _at_exit)  # type: ignore[attr-defined]  # they run in reverse order
