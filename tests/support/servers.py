"""Real ORS servers on loopback, run in a thread of the test process.

Quick to start (openreward is imported once) and open to inspection: every request is recorded, and the live sessions
can be counted. Tests that need the server in a process of its own use `orl_codegen.serving.serve`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any

Scope = MutableMapping[str, Any]
Application = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


@dataclass(frozen=True)
class Request:
    """One request as the server saw it; header names are lower case."""

    method: str
    path: str
    headers: dict[str, str]


@dataclass
class RunningServer:
    """A server that answers at `url` until the `with` block of `running` or `serving_application` ends."""

    url: str
    requests: list[Request] = field(default_factory=list)
    server: Any = None

    @property
    def live_sessions(self) -> list[str]:
        """The sessions that were created and not yet deleted."""
        return list(self.server._active_envs)

    def paths(self) -> list[str]:
        """`METHOD /path` of each request so far."""
        return [f"{request.method} {request.path}" for request in self.requests]

    def wait_for_sessions(self, count: int, within: float = 5.0) -> int:
        """Wait until exactly `count` sessions are live, and return how many there are."""
        deadline = time.monotonic() + within
        while len(self.live_sessions) != count and time.monotonic() < deadline:
            time.sleep(0.01)
        return len(self.live_sessions)


@contextlib.contextmanager
def running(*environments: type, latency: float = 0.0) -> Iterator[RunningServer]:
    """Serve environment classes; `latency` seconds pass before each request is handled."""
    from openreward.environments import Server

    server = Server(list(environments))
    with serving_application(server.app, latency) as running_server:
        running_server.server = server
        yield running_server


@contextlib.contextmanager
def serving_application(application: Application, latency: float = 0.0) -> Iterator[RunningServer]:
    """Serve any ASGI application: for servers that answer as no openreward server would."""
    import uvicorn

    _let_servers_share_a_process()
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    # asyncio sets this on sockets that it creates itself; without it, each call waits 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    running_server = RunningServer(f"http://127.0.0.1:{listener.getsockname()[1]}")

    async def recorded(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
            running_server.requests.append(Request(scope["method"], scope["path"], headers))
            await asyncio.sleep(latency)
        await application(scope, receive, send)

    config = uvicorn.Config(recorded, log_config=None, access_log=False, timeout_graceful_shutdown=0)
    server = uvicorn.Server(config)
    served = asyncio.run_coroutine_threadsafe(server.serve(sockets=[listener]), _event_loop())
    try:
        yield running_server
    finally:
        server.should_exit = True
        served.result(10)


@functools.cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """One loop for all servers of the process: they share an event of sse_starlette, which belongs to a single loop."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


def _let_servers_share_a_process() -> None:
    """Keep sse_starlette from waiting on its one event for all servers, or the end of the first server would cut off
    the streams of the others. The event exists for signals, and these servers are not stopped by signals."""
    from sse_starlette import EventSourceResponse

    async def never() -> None:
        await asyncio.Event().wait()

    EventSourceResponse._listen_for_exit_signal = staticmethod(never)


def dead_url() -> str:
    """A loopback URL at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"
