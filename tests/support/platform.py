"""A stand-in for the platform, on loopback: its own API, in the shapes that the SDK's client reads, and an environment.

The environment is a real openreward server. What the platform's API is sent is kept, so that the requests of the SDK
and ours can be compared.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import pytest
from openreward.environments import Server

from tests.environments.echo import Echo
from tests.support.applications import respond
from tests.support.servers import RunningServer, serving_application

KEY = "platform-key-0123456789"


@dataclass
class Sent:
    """One request to the API; header names are lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Platform:
    """The stand-in, for as long as `platform` lasts.

    Attributes:
        answers: What a path of the API answers: JSON, or a status; or after how many seconds (a float) it does.
        sent: What paths of the API were sent, and `/create_session`.
        server: The server.
    """

    answers: dict[str, Any]
    server: RunningServer
    sent: list[Sent] = field(default_factory=list)

    def events(self) -> list[Any]:
        """The events of rollouts that were uploaded, in their order."""
        return [event for request in self.to("/v1/rollouts") for event in request.body["events"]]

    def to(self, path: str) -> list[Sent]:
        """The requests to one path."""
        return [request for request in self.sent if request.path == path]


@contextlib.contextmanager
def platform(*environments: type, answers: Mapping[str, Any] | None = None) -> Iterator[Platform]:
    """Serve environments as `Owner/Name`, with the variables that lead the SDK and us to them, and a key."""
    otherwise = Server(list(environments) or [Echo])

    async def application(scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith(("/v1/", "/create_session")):
            await otherwise.app(scope, receive, send)
            return
        body = await _body(receive)
        headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
        query = dict(parse_qsl(scope["query_string"].decode()))
        there.sent.append(Sent(scope["method"], path, query, headers, json.loads(body) if body else None))
        if path == "/create_session" and path not in there.answers:
            await otherwise.app(scope, _once(body), send)
        else:
            answer = there.answers.get(path, 404)
            if isinstance(answer, float):
                await asyncio.sleep(answer)
                answer = {}
            status, text = (answer, b"{}") if isinstance(answer, int) else (200, json.dumps(answer).encode())
            await respond(send, status, text)

    with serving_application(application) as server, pytest.MonkeyPatch.context() as patch:
        server.server = otherwise
        for name in ("OPENREWARD_API_URL", "OPENREWARD_SESSION_URL"):
            patch.setenv(name, server.url)
        patch.setenv("OPENREWARD_API_KEY", KEY)
        there = Platform(dict(answers or {}), server)
        yield there


async def _body(receive: Any) -> bytes:
    pieces = []
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


def _once(body: bytes) -> Any:
    """A `receive` that gives a body that has been read already, and then waits for the client to go."""
    given = []

    async def receive() -> Any:
        if not given:
            given.append(True)
            return {"type": "http.request", "body": body, "more_body": False}
        return await asyncio.Event().wait()

    return receive
