"""Run what asks servers, and let what it has opened close when it is interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from orl_codegen.endings import signals_to

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, as `asyncio.run` gives it.

    Ctrl-C cancels it. A second one does not cut off what `work` does then, all of which has a limit; a third one does.

    Raises:
        KeyboardInterrupt: It was interrupted, and what was open has closed.
    """
    return asyncio.run(_closing(work))


async def _closing(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        await _ended(task)
        raise


async def _ended(task: asyncio.Future[Any]) -> None:
    """Wait for the end of a task, or for the second signal from now on."""
    loop, enough = asyncio.get_running_loop(), asyncio.Event()
    received: list[int] = []

    def count(number: int) -> None:
        received.append(number)
        if len(received) > 1:
            loop.call_soon_threadsafe(enough.set)

    second = asyncio.ensure_future(enough.wait())
    with signals_to(count):
        await asyncio.wait([task, second], return_when=asyncio.FIRST_COMPLETED)
    second.cancel()
    await asyncio.wait([second])  # asyncio would complain of one that is left
