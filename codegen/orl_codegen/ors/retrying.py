"""When a request is sent again: where that is safe, may help, and fits into the time that it has."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from orl_codegen.ors import limits
from orl_codegen.ors.failures import Failure, Late, Refused, Unreachable

T = TypeVar("T")


class BackOff:
    """Until when the requests to a host wait, because it has answered one of them with 429; for one event loop.

    Otherwise each session would find out alone, with a request more for a server that has too many.
    """

    def __init__(self) -> None:
        self._until = 0.0
        self._refused: Refused | None = None

    def begin(self, refused: Refused) -> None:
        """Keep other requests back for as long as the server asks for, or for the first pause where it does not say.

        The pauses of a request that is refused again and again grow longer, which is no reason to stop all others.
        """
        pause = limits.FIRST_PAUSE if refused.retry_after is None else refused.retry_after
        until = asyncio.get_running_loop().time() + min(pause, limits.LONGEST_BACK_OFF)
        if until > self._until:
            self._until, self._refused = until, refused

    async def wait(self, deadline: float) -> None:
        """Wait until requests may be sent.

        Raises:
            Refused: That is later than the deadline; the failure of the request that was answered with 429.
        """
        loop = asyncio.get_running_loop()
        while self._refused is not None and self._until > loop.time():
            pause = spread(self._until - loop.time())
            if loop.time() + pause >= deadline:
                raise _copied(self._refused)
            await asyncio.sleep(pause)


async def retried(
    attempt: Callable[[], Awaitable[T]],
    *,
    within: float,
    again: Callable[[Failure, int], bool],
    back_off: BackOff,
    waits: bool = True,
) -> T:
    """The result of `attempt`, which is made again while its failures allow it.

    Where the server asks to wait (see `asks_to_wait`) nothing ran, so the attempt is made again until the time is up.
    Attempts that lasted for a while (`LASTING`) start the count anew: only a server that fails at once, again and
    again, uses it up.

    Args:
        attempt: Makes the request once.
        within: Seconds for all attempts and the pauses between them.
        again: Whether the request may be made again, given its last failure and how often in a row it was made.
        back_off: What requests to the same host have in common.
        waits: Whether the request waits with the others while the host is backed off from.

    Raises:
        Late: The time is up while an answer is waited for.
        Failure: The last one, where no further attempt is allowed or there is no time left for one. It may be that of
            another request, which the host has asked to wait for longer than there is time.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    made, asked_to_wait = 0, None
    while True:
        if waits:
            await back_off.wait(deadline)
        began = loop.time()
        try:
            return await _in_time(attempt, deadline, within)
        except Late:
            if asked_to_wait is not None and loop.time() - began < within / 2:
                raise asked_to_wait from None  # which is what took the time
            raise
        except Failure as failure:
            asked_to_wait = failure if asks_to_wait(failure) else None
            made = 1 if loop.time() - began >= limits.LASTING else made + 1
            pause = _pause(failure, made)
            if isinstance(failure, Refused) and failure.status == 429:
                back_off.begin(failure)
                pause = spread(pause)
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


def _copied(refused: Refused) -> Refused:
    """The same failure for another request, with a traceback of its own."""
    return Refused(refused.status, refused.detail, refused.message, retry_after=refused.retry_after)


def spread(pause: float) -> float:
    """A pause that several requests begin together, made to end at different times."""
    return pause * (1.0 + limits.SPREAD * random.random())


def asks_to_wait(failure: Failure) -> bool:
    """Whether the server turned the request away before anything ran: too many requests, or it is still starting."""
    return isinstance(failure, Refused) and (failure.status == 429 or failure.starting)


def never_sent(failure: Failure) -> bool:
    """Whether the server cannot have seen the request, and may see the next one."""
    return isinstance(failure, Unreachable) and failure.passes and not failure.sent


def passing(failure: Failure) -> bool:
    """Whether a failure is of the kind that passes: a lost connection, or a proxy that could not reach the server.

    A 500 is an exception of the environment, which asking again would only raise again.
    """
    if isinstance(failure, Unreachable):
        return failure.passes
    return isinstance(failure, Refused) and failure.status in (502, 503, 504)
