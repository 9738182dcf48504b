"""Real ORS servers on loopback, run in a thread of the test process.

Quick to start (openreward is imported once) and open to inspection: every request is recorded, and the sessions that
live on the server can be counted. Tests that need a process of its own use `orl_codegen.serving.serve`.
"""

from __future__ import annotations

import asyncio
import contextlib
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
        """Wait until exactly `count` sessions live, and return how many there are."""
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
    """Serve any ASGI application: for servers that answer what no openreward server would."""
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    running_server = RunningServer(f"http://127.0.0.1:{listener.getsockname()[1]}")

    async def recorded(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
            running_server.requests.append(Request(scope["method"], scope["path"], headers))
            await asyncio.sleep(latency)
        await application(scope, receive, send)

    config = uvicorn.Config(recorded, log_config=None, access_log=False, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield running_server
    finally:
        server.should_exit = True
        thread.join(10)


def dead_url() -> str:
    """A URL on loopback that nothing listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"
