"""When a request is sent again: where that is safe, may help, and fits into the time that it has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from orl_codegen.ors import limits
from orl_codegen.ors.failures import Failure, Late, Refused, Unreachable

T = TypeVar("T")


async def retried(attempt: Callable[[], Awaitable[T]], *, within: float, again: Callable[[Failure, int], bool]) -> T:
    """The result of `attempt`, which is made again while its failures allow it.

    Where the server asks to wait (see `asks_to_wait`) nothing ran, so the attempt is made again until the time is up.
    Attempts that lasted for a while (`LASTING`) start the count anew: only a server that fails at once, again and
    again, uses it up.

    Args:
        attempt: Makes the request once.
        within: Seconds for all attempts and the pauses between them.
        again: Whether the request may be made again, given its last failure and how often in a row it was made.

    Raises:
        Late: The time is up while an answer is waited for.
        Failure: The last one, where no further attempt is allowed or there is no time left for one.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    made = 0
    while True:
        began = loop.time()
        try:
            return await _in_time(attempt, deadline, within)
        except Late:
            raise
        except Failure as failure:
            made = 1 if loop.time() - began >= limits.LASTING else made + 1
            pause = _pause(failure, made)
            allowed = asks_to_wait(failure) or again(failure, made)
            if not allowed or loop.time() + pause >= deadline:
                raise
        await asyncio.sleep(pause)


async def _in_time(attempt: Callable[[], Awaitable[T]], deadline: float, within: float) -> T:
    try:
        async with asyncio.timeout_at(deadline):
            return await attempt()
    except TimeoutError:
        pass
    raise Late(within)


def _pause(failure: Failure, made: int) -> float:
    asked = failure.retry_after if isinstance(failure, Refused) else None
    return limits.pause(made) if asked is None else asked


def asks_to_wait(failure: Failure) -> bool:
    """Whether the server turned the request away before anything ran: too many requests, or it is still starting."""
    return isinstance(failure, Refused) and (failure.status == 429 or failure.starting)


def never_sent(failure: Failure) -> bool:
    """Whether the server cannot have seen the request."""
    return isinstance(failure, Unreachable) and not failure.sent


def passing(failure: Failure) -> bool:
    """Whether a failure is of the kind that passes: a lost connection, or a proxy that could not reach the server.

    A 500 is an exception of the environment, which asking again would only raise again.
    """
    return isinstance(failure, Unreachable) or (isinstance(failure, Refused) and failure.status in (502, 503, 504))
