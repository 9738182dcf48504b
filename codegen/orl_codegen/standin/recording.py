"""A proxy on loopback that records what passes between its clients and the environment of a server.

It passes on the routes of the standard and nothing else, with the headers that the standard has, to the server that
was named and to no other one: a redirect leads nowhere. Streams are passed on as they come.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orl_codegen.errors import OutputError, TargetError, printable
from orl_codegen.generator.discovery.connection import api_key_of
from orl_codegen.generator.discovery.discovery import Silent, discover
from orl_codegen.generator.options import Options
from orl_codegen.generator.output.folder import read
from orl_codegen.generator.output.whole_files import refuse_unwritable, write_whole
from orl_codegen.generator.target import ServerURL, parse_target
from orl_codegen.ors import limits
from orl_codegen.ors.endpoint import Endpoint, endpoint
from orl_codegen.ors.transport import Pool, failure_of
from orl_codegen.standin.cassette import cassette_text, is_cassette
from orl_codegen.standin.routing import OF_THE_SERVER, refusal, route_of
from orl_codegen.standin.tape import Begun, Ear, Tape, parsed
from orl_codegen.standin.world import JSON, NotServed

if TYPE_CHECKING:
    import aiohttp
    from aiohttp import web

WRITE_EVERY = 10.0
"""Seconds between two times that the file is written while it is recorded; more if it is large."""

SHARE = 0.05
"""Of the time, at the most, goes into writing it meanwhile: nothing passes then."""

STREAMS = ("create_session", "call", "score_group")

_ASKING = ("Accept", "Content-Type", "X-API-Key", "X-Deployment", "X-Secrets", "X-Session-ID")
_ANSWERING = ("Cache-Control", "Content-Type", "Retry-After", "X-Accel-Buffering", "X-Backend-State")


@dataclass
class Recorder:
    """A recording: the tape, and the file that it becomes.

    Attributes:
        where: The server.
        tape: What has passed.
        path: The file.
    """

    where: Endpoint
    tape: Tape
    path: Path
    _written: int = 0

    def write(self) -> bool:
        """Write the file, if anything has passed since it was last written; whether it has been written at all.

        Raises:
            OutputError: It cannot be written. What was there before still is.
        """
        if (changed := self.tape.changed) != self._written:
            write_whole({self.path: cassette_text(self.tape.cassette())})
            self._written = changed
        return self._written > 0

    def outcome(self) -> str:
        """Write what is left, and say in a sentence what the file holds.

        Raises:
            OutputError: It cannot be written.
        """
        if not self.write():
            return f"nothing passed, so {printable(self.path, 500)} was not written"
        cassette, left_out = self.tape.cassette(), self.tape.left_out
        calls = sum(len(session.exchanges) for session in cassette.sessions)
        said = f"{printable(self.path, 500)} was written (sessions: {len(cassette.sessions)}, calls: {calls})"
        return said + (f"; what was too large or too odd to be kept: {left_out}" if left_out else "")

    async def now_and_then(self) -> None:
        """Write the file again and again. Where that fails, the last time of all says why."""
        took = 0.0
        while True:
            await asyncio.sleep(max(WRITE_EVERY, took / SHARE))
            began = time.monotonic()
            with contextlib.suppress(OutputError):
                self.write()
            took = time.monotonic() - began


async def recorder_of(url: str, path: Path, options: Options) -> Recorder:
    """Ask a server what it offers, to record what passes from then on.

    Args:
        url: The server.
        path: The file that is written.
        options: Which environment of the server, a split that it has, and where the key for it is.

    Raises:
        TargetError: It is not the URL of a server.
        OutputError: The file cannot be written, or is not a cassette.
        ServerError: The server cannot be reached, or does not answer as the standard says.
    """
    target = parse_target(url)
    if not isinstance(target, ServerURL):
        raise TargetError(f"`{printable(url)}` is not the URL of a server. Serve the environment, and pass its URL.")
    _refuse_to_lose(path)
    key = api_key_of(target, options)
    taken = await discover(target, replace(options, task_tools=False), Silent())
    where = endpoint(target.record, taken.variant, base_url=target.url, api_key=key)
    return Recorder(where, Tape(where, taken), path)


def _refuse_to_lose(path: Path) -> None:
    refuse_unwritable(path)
    text = read(path)
    if text and not is_cassette(text):
        raise OutputError(f"{printable(path, 500)} exists and is not a cassette. Name another file, or remove it.")


def recording(recorder: Recorder) -> web.Application:
    """The application that aiohttp serves."""
    from aiohttp import web

    made = web.Application(client_max_size=limits.ANSWER_BYTES)
    proxy = _Proxy(recorder)
    made.cleanup_ctx.append(proxy.running)
    made.router.add_route("*", "/{path:.*}", proxy.answer)
    return made


class _Proxy:
    """Passes requests on, one after the other or many at a time."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._where, self._tape = recorder.where, recorder.tape
        self._pool = Pool()

    async def running(self, _: web.Application) -> AsyncIterator[None]:
        writing = asyncio.ensure_future(self._recorder.now_and_then())
        async with self._pool:
            yield
        writing.cancel()
        await asyncio.wait([writing])

    async def answer(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        try:
            route = route_of(request, self._where.variant)
            content = await request.read()
            body = parsed(content) if content else None
            self._tape.confide(request.headers, body.get("env") if isinstance(body, dict) else None)
            return await self._pass_on(request, route, content, body)
        except web.HTTPRequestEntityTooLarge:
            return web.json_response({"detail": "The body is too large"}, status=413)
        except NotServed as refused:
            return refusal(refused)

    async def _pass_on(self, request: web.Request, route: str, content: bytes, body: Any) -> web.StreamResponse:
        import aiohttp

        sid = request.headers.get("X-Session-ID", "").strip()
        begun = self._tape.begun(route, sid, body) if route in STREAMS[1:] else None
        headers = {name: request.headers[name] for name in _ASKING if name in request.headers}
        try:
            async with self._request(request.method, route, headers, content) as upstream:
                if route in STREAMS and upstream.status == 200:
                    return await self._streamed(request, upstream, begun)
                whole = await _whole(upstream)
                if upstream.status == 200:
                    await self._keep(route, sid, headers, body, parsed(whole))
                return _response(upstream, whole)
        except (aiohttp.ClientError, OSError) as error:
            raise NotServed(502, f"The recorded server gave no answer: {failure_of(error, printable)}") from None

    def _request(self, method: str, route: str, headers: Mapping[str, str], content: bytes | None) -> Any:
        path = f"/{route}" if route in OF_THE_SERVER else self._where.path(route)
        key = {"X-API-Key": self._where.api_key} if self._where.api_key is not None else {}
        return self._pool.request(method, self._where.url + path, {**key, **headers}, content or None)

    async def _streamed(
        self, request: web.Request, upstream: aiohttp.ClientResponse, begun: Begun | None
    ) -> web.StreamResponse:
        """The result is kept before the client has it: what a client does next must find it there."""
        import aiohttp
        from aiohttp import web

        ear = Ear(self._tape, begun) if begun is not None else None
        response = web.StreamResponse(headers=_kept(upstream))
        await response.prepare(request)
        try:
            async for piece in upstream.content.iter_any():
                if ear is not None:
                    ear.hear(piece)
                await response.write(piece)
            await response.write_eof()
        except (aiohttp.ClientError, OSError):  # either side broke off, and the other one has to notice
            if request.transport is not None:
                request.transport.abort()
        return response

    async def _keep(self, route: str, sid: str, headers: Mapping[str, str], body: Any, answer: Any) -> None:
        tape = self._tape
        match route, body, answer:
            case "create", {"task_spec": dict(task)}, _:
                tape.opened(sid, task)
            case "create", {"split": str(split), "index": int(index)}, _:
                task = await self._task(split, index, headers)
                if task is not None:
                    tape.opened(sid, task)
            case "delete", _, _:
                tape.closed(sid)
            case "tasks", {"split": str(split)}, {"tasks": [*tasks]}:
                tape.listed(split, 0, tasks)
            case "task_range", {"split": str(split)}, {"tasks": [*tasks]}:
                tape.listed(split, body["start"] if isinstance(body.get("start"), int) else 0, tasks)
            case "task", {"split": str(split), "index": int(index)}, {"task": task}:
                tape.listed(split, index, [task])
            case _:
                tape.answered(route, sid, answer)

    async def _task(self, split: str, index: int, headers: Mapping[str, str]) -> JSON | None:
        """The spec of a task that a session was opened with by its index; asked for where no client has done so."""
        import aiohttp

        if self._tape.knows(split, index) is None:
            asked = {name: value for name, value in headers.items() if name not in ("X-Session-ID", "X-Secrets")}
            with contextlib.suppress(aiohttp.ClientError, OSError, NotServed):  # the session itself is open
                self._tape.listed(split, index, [await self._asked_task(split, index, asked)])
        return self._tape.knows(split, index)

    async def _asked_task(self, split: str, index: int, headers: Mapping[str, str]) -> Any:
        content = json.dumps({"split": split, "index": index}).encode()
        async with self._request("POST", "task", headers, content) as upstream:
            answer = parsed(await _whole(upstream)) if upstream.status == 200 else None
        return answer.get("task") if isinstance(answer, dict) else None


async def _whole(upstream: aiohttp.ClientResponse) -> bytes:
    pieces, length = [], 0
    async for piece in upstream.content.iter_any():
        length += len(piece)
        if length > limits.TASKS_BYTES:
            raise NotServed(502, f"The answer of the server is larger than {limits.TASKS_BYTES >> 20} MiB")
        pieces.append(piece)
    return b"".join(pieces)


def _response(upstream: aiohttp.ClientResponse, body: bytes) -> web.Response:
    from aiohttp import web

    return web.Response(status=upstream.status, headers=_kept(upstream), body=body)


def _kept(upstream: aiohttp.ClientResponse) -> dict[str, str]:
    """`Location` is not among them: a client that followed it would take its key elsewhere."""
    return {name: upstream.headers[name] for name in _ANSWERING if name in upstream.headers}
