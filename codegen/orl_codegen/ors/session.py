"""One session of a server: opened, kept alive with pings, called, and deleted, on one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from orl_codegen.ors import limits
from orl_codegen.ors.client import Client
from orl_codegen.ors.endpoint import Endpoint
from orl_codegen.ors.failures import Failure, Refused, SessionOver
from orl_codegen.ors.outputs import CallRefused, Output, is_about_the_body, output_of, scores_of
from orl_codegen.ors.parts import Part, tool_list
from orl_codegen.ors.transport import Pool

T = TypeVar("T")
JSON = dict[str, Any]

CLOSED = "The session was closed. Call reset() to open another one."


class Session:
    """A session; everything in it is to be used on the event loop of its pool.

    Args:
        endpoint: The environment.
        pool: The connections.
        task: `{"split": ..., "index": ...}` or `{"task_spec": ...}`.
        toolset: The built-in toolset to open it with.
        open_within: Seconds for each step of opening it, and for each question in it.
        call_within: Seconds for a call.
        sends: How often a request is sent that may safely be sent again.

    Attributes:
        over: Why the session takes no more requests, or None while it does.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        pool: Pool,
        task: JSON,
        *,
        toolset: str | None = None,
        open_within: float,
        call_within: float,
        sends: int = limits.SENDS,
    ) -> None:
        self.over: str | None = None
        self._endpoint = endpoint
        self._client = Client(endpoint, pool, sends=sends)
        self._task = {"env_name": endpoint.variant, **task, **({"toolset_name": toolset} if toolset else {})}
        self._open_within, self._call_within = open_within, call_within
        self._work: set[asyncio.Future[Any]] = set()
        self._creating: asyncio.Future[None] | None = None
        self._pinging: asyncio.Future[None] | None = None
        self._closing: asyncio.Future[Failure | None] | None = None

    async def open(self) -> None:
        """Open the task under an id of its own, and keep both alive from then on."""
        # Shielded: a session whose creation is cut off could come to life on the server after we stopped looking.
        self._creating = asyncio.ensure_future(self._create())
        self._creating.add_done_callback(_retrieved)
        self._pinging = asyncio.ensure_future(self._keep_alive(self._creating))
        await self._while_open(asyncio.shield(self._creating))

    async def _create(self) -> None:
        await self._client.start(self._open_within, self._endpoint.env_overrides)
        await self._client.create(self._task, self._open_within)

    async def _keep_alive(self, creating: asyncio.Future[None]) -> None:
        lost, last = 0, ""
        while lost < limits.PINGS_LOST:
            await asyncio.sleep(limits.PING_EVERY)
            if self._client.sid is None:
                continue
            try:
                await self._client.ping()
                lost = 0
            except Failure as failure:
                # What the server is still creating, it does not know yet: then any answer is a sign of life.
                alive = isinstance(failure, Refused) and not creating.done()
                lost, last = (0 if alive else lost + 1), str(failure)
        creating.cancel()
        self._end(f"The server did not answer {limits.PINGS_LOST} pings in a row. The last one: {last}.")

    async def _while_open(self, work: Coroutine[Any, Any, T] | asyncio.Future[T]) -> T:
        """The result of `work`, unless the session ends first."""
        if self.over is not None:
            if isinstance(work, Coroutine):
                work.close()
            raise SessionOver(self.over)
        future = asyncio.ensure_future(work)
        self._work.add(future)
        try:
            return await future
        except asyncio.CancelledError:
            if self.over is None:
                raise  # whoever waits was cancelled, and not the session
        finally:
            self._work.discard(future)
        raise SessionOver(self.over)

    def _end(self, reason: str) -> None:
        """Take no more requests, and break off those that are under way."""
        if self.over is None:
            self.over = reason
            for future in list(self._work):
                future.cancel()

    async def read(self, route: str) -> bytes:
        """The bytes that a route of the environment answers in this session."""
        path = self._endpoint.path(route)
        return await self._while_open(self._client.send("GET", path, within=self._open_within))

    async def ask(self, route: str) -> Any:
        """The JSON that a route of the environment answers in this session, with keys and secrets masked."""
        answer = await self._while_open(self._client.get(self._endpoint.path(route), within=self._open_within))
        return self._endpoint.mask.json(answer)

    async def tools(self) -> list[JSON]:
        """The specs of the tools that the task offers, shared ones included."""
        return tool_list(await self._part("task_tools"))

    async def prompt(self) -> list[JSON]:
        """The blocks of the prompt."""
        return [block.block() for block in (await self._part("prompt")).list()]

    async def messages(self) -> list[JSON]:
        """The prompt as messages; servers without that route have their prompt in one message."""
        try:
            return [_message(part) for part in (await self._part("messages")).list()]
        except Refused as refused:
            if refused.status not in (404, 405):
                raise
        return [{"role": "user", "blocks": await self.prompt()}]

    async def _part(self, route: str) -> Part:
        return Part(await self.ask(route), route, self._endpoint.safe)

    async def call(self, name: str, input: JSON) -> Output:
        """Call a tool.

        Raises:
            CallRefused: The call was malformed, or the episode has finished.
            ToolRaised: The environment raised an exception; the session goes on.
            Failure: The session was lost, or the answer of the call.
        """
        work = self._client.stream(
            self._endpoint.path("call"), {"name": name, "input": input}, within=self._call_within
        )
        try:
            answer = await self._while_open(work)
        except Refused as refused:
            if not is_about_the_body(refused):
                raise
            raise CallRefused(str(refused), "bad_input_shape") from None
        return output_of(answer, self._endpoint.mask, self._endpoint.safe)

    async def score_group(self, candidates: list[JSON]) -> list[float | None]:
        """Score candidates against each other; one reward for each."""
        path = self._endpoint.path("score_group")
        work = self._client.stream(path, {"candidates": candidates}, within=self._call_within)
        return scores_of(await self._while_open(work), len(candidates), self._endpoint.safe)

    async def close(self, within: float) -> Failure | None:
        """Break off whatever is under way, and delete the session on the server. Later callers wait for the same end.

        Args:
            within: Seconds for each request that this takes.

        Returns:
            Why the server may still have the session, or None.
        """
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close(within))
        return await asyncio.shield(self._closing)

    async def _close(self, within: float) -> Failure | None:
        self._end(CLOSED)
        if self._pinging is not None:
            self._pinging.cancel()
        if self._creating is None:
            return None
        # What the server is still creating cannot be deleted yet.
        await asyncio.wait([self._creating], timeout=within)
        self._creating.cancel()
        return await self._client.delete(within)


def _retrieved(future: asyncio.Future[None]) -> None:
    """Look at how a future ended: whoever closes a session does not care, and asyncio would complain."""
    if not future.cancelled():
        future.exception()


def _message(part: Part) -> JSON:
    part.field("role").text()
    for block in part.field("blocks").list():
        block.block()
    return part.object()
