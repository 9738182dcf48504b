"""A server of the ledger in a process of its own, whose books can be read while it serves."""

from __future__ import annotations

import contextlib
import json
import logging
import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

from tests.reliability.load.words import Call
from tests.support.servers import Application


@dataclass(frozen=True)
class Books:
    """What a server has seen.

    Attributes:
        carried_out, raised, refused: How often each call was carried out, raised an exception, or was refused.
        live: The sessions that are open.
        peak: The most sessions that were open at a time since the last look, counting those that were being created or
            deleted.
    """

    carried_out: Counter[Call] = field(default_factory=Counter)
    raised: Counter[Call] = field(default_factory=Counter)
    refused: Counter[Call] = field(default_factory=Counter)
    live: int = 0
    peak: int = 0


class LedgerServer:
    """The server at `url`."""

    def __init__(self, url: str, connection: Connection) -> None:
        self.url, self._connection, self._asking = url, connection, Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return LedgerServer, (self.url, self._connection)

    def books(self) -> Books:
        """What it has seen so far."""
        books: Books = self._asked("books")
        return books

    def live(self) -> int:
        """The sessions that are open."""
        return int(self._asked("live"))

    def _asked(self, question: str) -> Any:
        with self._asking:
            self._connection.send(question)
            return self._connection.recv()


@contextlib.contextmanager
def serving() -> Iterator[LedgerServer]:
    """Serve the ledger until the block ends."""
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    child.start()
    theirs.close()
    try:
        yield LedgerServer(ours.recv(), ours)
    finally:
        with contextlib.suppress(BrokenPipeError):
            ours.send("stop")
        child.join(10)
        ours.close()


def _serve(connection: Connection) -> None:
    os.environ["OPENREWARD_LOG_LEVEL"] = "CRITICAL"
    logging.disable()
    from openreward.environments import Server

    from tests.reliability.load import ledger
    from tests.support.servers import serving_application

    sdk = Server([ledger.Ledger])
    watched = Watched(breaking(sdk.app))
    with serving_application(watched) as running:
        running.server = sdk
        connection.send(running.url)
        while (question := connection.recv()) != "stop":
            running.requests.clear()
            live = len(running.live_sessions)
            if question == "live":
                connection.send(live)
            else:
                peak = watched.peak_until_now()
                connection.send(Books(ledger.carried_out, ledger.raised, ledger.refused, live, peak))


class Watched:
    """An application that counts the sessions of another one, from before they are created until they are deleted."""

    def __init__(self, application: Application) -> None:
        self._application, self._live, self._peak = application, set[bytes](), 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        sid = dict(scope.get("headers", ())).get(b"x-session-id", b"")
        if scope.get("path") == "/create":
            self._live.add(sid)
            self._peak = max(self._peak, len(self._live))
        await self._application(scope, receive, send)
        if scope.get("path") == "/delete":
            self._live.discard(sid)

    def peak_until_now(self) -> int:
        """The most sessions at a time since this was called last."""
        peak, self._peak = self._peak, len(self._live)
        return peak


def breaking(application: Application) -> Application:
    """An application whose calls lose their connection, where they ask for it.

    A call that is `cut` breaks off after the server has named its task, so that it can be taken up again. One that is
    `lost` breaks off before that.
    """

    async def broken(scope: Any, receive: Any, send: Any) -> None:
        if not scope.get("path", "").endswith("/call"):
            await application(scope, receive, send)
            return
        message = await receive()
        body = json.loads(message["body"])
        ends = None if "task_id" in body else body["input"].get("ends")
        said = False

        async def received() -> Any:
            nonlocal message
            earlier, message = message, None
            return earlier or await receive()

        async def sent(part: Any) -> None:
            nonlocal said
            if ends in ("cut", "lost") and part["type"] == "http.response.body" and (said or ends == "lost"):
                raise ConnectionAbortedError
            await send(part)
            said = said or part["type"] == "http.response.body"

        await application(scope, received, sent)

    return broken
