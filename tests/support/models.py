"""Models behind a real OpenAI-compatible server on loopback."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.support.servers import serving_application

JSON = dict[str, Any]

Answer = Callable[[JSON], JSON]
"""From the body of a request to the message of the assistant."""


@contextlib.contextmanager
def chat_server(answer: Answer) -> Iterator[tuple[str, list[JSON]]]:
    """Serve `/v1/chat/completions`; yields the base URL, and the bodies of the requests so far."""
    asked: list[JSON] = []

    async def completions(request: Request) -> JSONResponse:
        body = await request.json()
        asked.append(body)
        message = answer(body)
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        whole = {"id": "0", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
        return JSONResponse({**whole, "usage": usage})

    application = Starlette(routes=[Route("/v1/chat/completions", completions, methods=["POST"])])
    with serving_application(application) as server:
        yield f"{server.url}/v1", asked


def tool_call(name: str, **arguments: Any) -> JSON:
    """A message that calls one tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": f"call_{name}", "type": "function", "function": function}]}
