"""The faults: what each does to an answer, and what an error that it leads to has to name."""

from __future__ import annotations

import asyncio
import functools
import gzip
import io
import json
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from tests.reliability.faults.proxy import STREAMS, Exchange

MEGABYTE = 1 << 20
EVERY_BYTE = 0.2  # seconds, for a second


@dataclass(frozen=True)
class Injection:
    """A fault.

    Attributes:
        name: What it is called.
        family: Under which it stands in the figures.
        inject: Answers a request.
        named: A pattern for what an error has to say.
        times: How often, before the server is well again.
        large: Whether it is about memory, so that it is tried alone.
    """

    name: str
    family: str
    inject: Callable[[Exchange], Awaitable[None]]
    named: str
    times: float = math.inf
    large: bool = False


async def refused(x: Exchange) -> None:
    """Nothing listens any more."""
    x.proxy.shut()


def status(number: int, *headers: str) -> Callable[[Exchange], Awaitable[None]]:
    """An answer with a status, and nothing done."""

    async def answer(x: Exchange) -> None:
        await x.answer(number, b'{"detail": "said by the proxy"}', *headers, type="application/json")

    return answer


def first_half(then_reset: bool) -> Callable[[Exchange], Awaitable[None]]:
    """The real answer, up to the middle of its body."""

    async def answer(x: Exchange) -> None:
        real = await x.real()
        end = real.index(b"\r\n\r\n") + 4
        await x.send(real[: end + (len(real) - end) // 2])
        if then_reset:
            await asyncio.sleep(0.02)
            x.reset()

    return answer


def saying(value: Any) -> Callable[[Exchange], Awaitable[None]]:
    """JSON that is not what was asked for."""

    async def answer(x: Exchange) -> None:
        await x.answer_json(value)

    return answer


async def other_types(x: Exchange) -> None:
    """The real answer with each value of another type, so that a number can be read as another number."""
    text = (await x.body()).decode()
    if x.route in STREAMS:
        text = "".join(line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")) or "{}"
    await x.answer_json(_other(json.loads(text)))


def _other(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _other(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_other(part) for part in value]
    if isinstance(value, bool):
        return str(value).lower()
    return 7 if isinstance(value, str) else None if value is None else str(value + 0.25)


async def html(x: Exchange) -> None:
    """A page of some portal."""
    await x.answer(200, b"<!doctype html><title>Log in</title>\x1b[31m", type="text/html")


async def endless(x: Exchange) -> None:
    """An answer without an end, as fast as it is taken."""
    await x.head(200)
    while True:
        await x.send(b"data: " + b"x" * 65530)


async def trickled(x: Exchange) -> None:
    """An answer that comes byte by byte and never ends."""
    await x.head(200)
    for _ in range(100):
        await x.send(b" ")
        await asyncio.sleep(EVERY_BYTE)


async def lost(x: Exchange) -> None:
    """The server does it, and the connection breaks off before it can say so."""
    await x.real()


async def huge(x: Exchange) -> None:
    """100 MB."""
    await x.head(200, length=100 * MEGABYTE)
    for _ in range(100):
        await x.send(b"[" + b" " * (MEGABYTE - 1))


@functools.cache
def packed_bomb() -> bytes:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for _ in range(300):
            file.write(b" " * MEGABYTE)
    return packed.getvalue()


async def bomb(x: Exchange) -> None:
    """300 MB, packed into 300 KB."""
    await x.answer(200, packed_bomb(), "Content-Encoding: gzip")


async def invalid_utf8(x: Exchange) -> None:
    """A byte in the first text of the answer that is no UTF-8."""
    await x.answer(200, (await x.body()).replace(b'"', b'"\xff', 1))


def length(more: int) -> Callable[[Exchange], Awaitable[None]]:
    """The real body, with another length than it has."""

    async def answer(x: Exchange) -> None:
        body = await x.body()
        await x.head(200, length=max(1, len(body) + more))
        await x.send(body)

    return answer


async def redirect_to_itself(x: Exchange) -> None:
    """A redirect without an end."""
    await status(307, f"Location: {x.path}")(x)


async def redirect_elsewhere(x: Exchange) -> None:
    """A redirect to a host that must not see the key."""
    await status(308, f"Location: {x.proxy.elsewhere}{x.path}")(x)


async def not_http(x: Exchange) -> None:
    """The greeting of another protocol."""
    await x.send(b"SSH-2.0-OpenSSH_9.2\r\n")


async def changing(x: Exchange) -> None:
    """The real answer; from the second one on, a list of tools has one more."""
    body = await x.body()
    if x.proxy.hits > 1 and x.route in ("tools", "task_tools"):
        listing = json.loads(body)
        listing["tools"].append({**listing["tools"][0], "name": f"later{x.proxy.hits}"})
        body = json.dumps(listing).encode()
    await x.answer(200, body)


NOT_JSON = r"not JSON|malformed|holds? no|lists no|holds a|is not|event stream|session id|nests"
BROKEN = r"broke off|said nothing|did not answer|longer than|cannot connect"

INJECTIONS = (
    Injection("refused", "connection", refused, r"cannot connect to|broke off"),
    Injection("401", "status", status(401), "HTTP 401"),
    Injection("404", "status", status(404), "HTTP 404"),
    Injection("429", "status", status(429), "HTTP 429"),
    Injection("429 with Retry-After, then fine", "status", status(429, "Retry-After: 0"), "HTTP 429", times=1),
    Injection("429 with Retry-After of an hour", "status", status(429, "Retry-After: 3600"), "HTTP 429"),
    Injection("500", "status", status(500), "HTTP 500"),
    Injection("503, then fine", "status", status(503), "HTTP 503", times=1),
    Injection("503", "status", status(503), "HTTP 503"),
    Injection("reset in the answer", "connection", first_half(True), BROKEN),
    Injection("truncated", "connection", first_half(False), BROKEN),
    Injection("null", "content", saying(None), NOT_JSON),
    Injection("a number", "content", saying(3), NOT_JSON),
    Injection("a list of lists", "content", saying([[]]), NOT_JSON),
    Injection("values of other types", "content", other_types, NOT_JSON),
    Injection("HTML", "content", html, NOT_JSON),
    Injection("endless", "size and speed", endless, r"larger than|longer than|did not answer"),
    Injection("trickled", "size and speed", trickled, r"did not answer|longer than|said nothing"),
    Injection("lost answer", "connection", lost, BROKEN),
    Injection("100 MB", "size and speed", huge, r"larger than|longer than|not JSON|did not answer", large=True),
    Injection("gzip bomb", "size and speed", bomb, r"larger than|longer than|not JSON|did not answer", large=True),
    Injection("invalid UTF-8", "content", invalid_utf8, NOT_JSON),
    Injection("Content-Length too long", "size and speed", length(50), BROKEN),
    Injection("Content-Length too short", "size and speed", length(-5), f"{NOT_JSON}|{BROKEN}"),
    Injection("redirect to itself", "status", redirect_to_itself, "HTTP 307"),
    Injection("redirect to another host", "status", redirect_elsewhere, "HTTP 308"),
    Injection("not HTTP", "connection", not_http, "not HTTP"),
    Injection("a list that changes", "content", changing, "later"),
)
