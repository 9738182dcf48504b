"""ASGI applications that answer as no openreward server would, for `serving_application`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from tests.support.servers import Application


def answering(answers: Mapping[str, bytes | int], otherwise: Application | None = None) -> Application:
    """Answer a path with a body (status 200) or a status (no body); other paths go to `otherwise`, or get 404."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        answer = answers.get(scope.get("path", ""))
        if otherwise is not None and (scope["type"] != "http" or answer is None):
            await otherwise(scope, receive, send)
        elif scope["type"] == "http":
            answer = 404 if answer is None else answer
            await respond(send, *((answer, b"") if isinstance(answer, int) else (200, answer)))

    return application


def hanging(paths: tuple[str, ...] = (), otherwise: Application | None = None) -> Application:
    """Never answer: on any path, or only on `paths`, where the others go to `otherwise`."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if otherwise is not None and (scope["type"] != "http" or scope["path"] not in paths):
            await otherwise(scope, receive, send)
        elif scope["type"] == "http":
            await asyncio.sleep(60)

    return application


def replacing(old: bytes, new: bytes, application: Application) -> Application:
    """An application that answers `new` wherever it would say `old`, for what openreward's own server cannot send."""
    assert len(old) == len(new), "Content-Length has been sent by then."

    async def replaced(scope: Any, receive: Any, send: Any) -> None:
        async def sent(message: Any) -> None:
            if "body" in message:
                message = message | {"body": message["body"].replace(old, new)}
            await send(message)

        await application(scope, receive, sent)

    return replaced


async def respond(send: Any, status: int, body: bytes, content_type: bytes = b"application/json") -> None:
    """Send one complete answer."""
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", content_type)]})
    await send({"type": "http.response.body", "body": body})
