"""One operation that a server answers with an event stream: its events put together, over several connections.

The server names the operation's task first, and keeps its result for a while: a request that names the task again is
answered with the stream of that task, and runs nothing. The result comes in pieces (`chunk`), the last one as `end`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from orl_codegen.ors import limits
from orl_codegen.ors.event_stream import EventStream
from orl_codegen.ors.failures import Failure, Malformed, ToolRaised, Unreachable, without_traceback

if TYPE_CHECKING:
    import aiohttp

FORGOTTEN = "unknown task_id"  # what the SDK's server says of a task that it has never had, or no longer


class Operation:
    """What is known of an operation so far.

    Args:
        silence_ends: Whether a stream that is silent for `SILENT_FOR` seconds counts as cut before its task is known.
            Where the operation must not run twice, nothing could be done about it, so the wait goes on.

    Attributes:
        task_id: The task, once the server has named it.
    """

    def __init__(self, *, silence_ends: bool) -> None:
        self.task_id: str | None = None
        self._silence_ends = silence_ends

    @property
    def resumable(self) -> bool:
        """Whether a further request would not run the operation again."""
        return self.task_id is not None

    def resumption(self) -> dict[str, str]:
        """What a request adds to its body to take the operation up again."""
        return {} if self.task_id is None else {"task_id": self.task_id}

    async def follow(self, response: aiohttp.ClientResponse, safe: Callable[[str], str]) -> str:
        """The result, from one connection; empty where the operation has none.

        Raises:
            ToolRaised: The stream ends with an exception of the environment; `safe` escapes its text.
            Unreachable: The stream broke off, or fell silent.
            Malformed: It is not an event stream, or it is too long, or the server has forgotten the task.
        """
        try:
            async with asyncio.timeout(None) as silence:
                return await self._result(response, safe, silence)
        except TimeoutError:
            if not silence.expired():
                raise  # a deadline of the caller's
        raise Unreachable(f"the stream said nothing for {limits.SILENT_FOR:g} seconds", sent=True)

    async def _result(
        self, response: aiohttp.ClientResponse, safe: Callable[[str], str], silence: asyncio.Timeout
    ) -> str:
        events, pieces, length, again = EventStream(), [], 0, self.resumable
        self._expect_signs(silence)
        async for piece in response.content.iter_any():
            length += len(piece)
            if length > limits.ANSWER_BYTES:
                raise Malformed(f"the stream is longer than {limits.ANSWER_BYTES >> 20} MiB, which is refused")
            for event in events.feed(piece):
                if event.type == "task_id":
                    self.task_id = event.data.strip()
                elif event.type == "error":
                    raise _error(event.data, safe, again)
                elif event.type in ("chunk", "end"):
                    pieces.append(event.data)
                    if event.type == "end":
                        await _drain(response)
                        return "".join(pieces)
            self._expect_signs(silence)
        if not events.began:
            raise Malformed("the server answered with something that is not an event stream")
        raise Unreachable("the stream broke off before its result", sent=True)

    def _expect_signs(self, silence: asyncio.Timeout) -> None:
        if self.resumable or self._silence_ends:
            now, end = asyncio.get_running_loop().time(), silence.when()
            if end is None or end < now + limits.SILENT_FOR * 0.9:  # a timer for every piece would cost too much
                silence.reschedule(now + limits.SILENT_FOR)


def _error(text: str, safe: Callable[[str], str], again: bool) -> Failure:
    if again and text == FORGOTTEN:
        return Malformed("the server has forgotten the call that it had begun, so its result is lost")
    return ToolRaised(safe(without_traceback(text)))


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Read the end of the stream, so that its connection can be used again."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limits.DRAIN_WITHIN):
            await response.content.readany()
