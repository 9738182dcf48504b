"""A proxy before a real server that injects a fault into the answers of one route, below HTTP where it has to be."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.client
import io
import json
import re
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

STREAMS = frozenset({"create_session", "call", "score_group"})
HEAD_ENDS = b"\r\n\r\n"

Fault = Callable[["Exchange"], Awaitable[None]]

_running: set[asyncio.Task[Any] | None] = set()


@dataclass
class Proxy:
    """One proxy.

    Attributes:
        upstream: The port of the real server.
        stage: The route whose answers are faulty: the last segment of its path.
        fault: What happens to them.
        times: How many of them are faulty.
        elsewhere: A URL that no request must reach.
        lifted: Whether the fault is over.
        hits: How many answers were faulty.
        sids: The sessions that requests went by.
        port: Where it listens.
    """

    upstream: int
    stage: str
    fault: Fault
    times: float
    elsewhere: str
    lifted: bool = False
    hits: int = 0
    sids: set[str] = field(default_factory=set)
    port: int = 0
    _listener: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The address of the server, as far as clients know."""
        return f"http://127.0.0.1:{self.port}"

    async def listen(self) -> None:
        """Listen, at the same port as before if there was one."""
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=1 << 20)
        self.port = self._listener.sockets[0].getsockname()[1]

    def shut(self) -> None:
        """Refuse connections."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    async def lift(self) -> None:
        """End the fault."""
        self.lifted = True
        if self._listener is None:
            await self.listen()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _running.add(asyncio.current_task())  # asyncio itself does not keep the tasks of connections
        with contextlib.suppress(OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            head = await reader.readuntil(HEAD_ENDS)
            length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
            request = head + await reader.readexactly(int(length[1]) if length else 0)
            await self._answer(Exchange(self, request, writer))
        with contextlib.suppress(OSError):
            writer.close()
            await writer.wait_closed()
        _running.discard(asyncio.current_task())

    async def _answer(self, exchange: Exchange) -> None:
        if (sid := re.search(rb"(?i)\r\nx-session-id: ([^\r]+)", exchange.request)) is not None:
            self.sids.add(sid[1].decode())
        if exchange.route != self.stage or self.lifted or self.hits >= self.times:
            await exchange.forward()
            return
        self.hits += 1
        await asyncio.wait_for(self.fault(exchange), 20)


@dataclass
class Exchange:
    """A request to the proxy, and the way back to the client; the connection ends with it."""

    proxy: Proxy
    request: bytes
    writer: asyncio.StreamWriter

    @property
    def path(self) -> str:
        """The path of the request."""
        return self.request.split(b" ", 2)[1].decode()

    @property
    def route(self) -> str:
        """Its last segment."""
        return self.path.rpartition("/")[2]

    async def forward(self) -> None:
        """Answer as the real server does."""
        await self._upstream(self.send)

    async def real(self) -> bytes:
        """The real answer, head and body; the server has carried the request out."""
        pieces: list[bytes] = []

        async def keep(piece: bytes) -> None:
            pieces.append(piece)

        await self._upstream(keep)
        return b"".join(pieces)

    async def body(self) -> bytes:
        """The real body."""
        response = http.client.HTTPResponse(_Received(await self.real()))  # type: ignore[arg-type]
        response.begin()
        return response.read()

    async def _upstream(self, take: Callable[[bytes], Awaitable[None]]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.proxy.upstream)
        line, _, rest = self.request.partition(b"\r\n")
        writer.write(line + b"\r\nConnection: close\r\n" + rest)
        try:
            while piece := await reader.read(1 << 16):
                await take(piece)
        finally:
            writer.close()

    async def send(self, data: bytes) -> None:
        """Send bytes."""
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: int, *headers: str, length: int | None = None, type: str | None = None) -> None:
        """Send the head of an answer."""
        kind = type or ("text/event-stream" if self.route in STREAMS else "application/json")
        lines = [f"HTTP/1.1 {status} Faulty", f"Content-Type: {kind}", "Connection: close", *headers]
        lines += [] if length is None else [f"Content-Length: {length}"]
        await self.send("\r\n".join(lines).encode() + HEAD_ENDS)

    async def answer(self, status: int, body: bytes, *headers: str, type: str | None = None) -> None:
        """Send a whole answer."""
        await self.head(status, *headers, length=len(body), type=type)
        await self.send(body)

    async def answer_json(self, value: Any) -> None:
        """Send JSON, as the route does."""
        await self.answer(200, self.spelled(json.dumps(value)))

    def spelled(self, text: str) -> bytes:
        """JSON as the route spells it: by itself, or as the end of an event stream."""
        return f"event: end\ndata: {text}\n\n".encode() if self.route in STREAMS else text.encode()

    def reset(self) -> None:
        """Break the connection off with a RST."""
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class _Received:
    """Bytes in the place of a socket, for `http.client`."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:
        """The bytes, as a file."""
        return io.BytesIO(self._data)


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="proxies", daemon=True).start()
    return loop


def _run(work: Any) -> Any:
    return asyncio.run_coroutine_threadsafe(work, _loop()).result(30)


@contextlib.contextmanager
def proxied(proxy: Proxy) -> Iterator[Proxy]:
    """The proxy listens until the block ends."""
    _run(proxy.listen())
    try:
        yield proxy
    finally:
        _loop().call_soon_threadsafe(proxy.shut)


def lift(proxy: Proxy) -> None:
    """End the fault of a proxy."""
    _run(proxy.lift())
