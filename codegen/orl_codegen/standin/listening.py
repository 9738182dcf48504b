"""A stand-in's server on a port: in an event loop that is there, or in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from orl_codegen.errors import UsageError, printable

if TYPE_CHECKING:
    from aiohttp import web

LOOPBACK = "127.0.0.1"

START_WITHIN, STOP_WITHIN = 30.0, 10.0
"""Seconds for the thread of a server to begin and to end."""

ANSWERED_WITHIN = 1.0
"""Seconds that requests have to end in, once the server does."""


@contextlib.asynccontextmanager
async def listening(application: web.Application, port: int, host: str = LOOPBACK) -> AsyncIterator[str]:
    """Serve an application, and yield the URL; port 0 is any that is free.

    Raises:
        UsageError: The port cannot be used.
    """
    from aiohttp import web

    runner = web.AppRunner(application, access_log=None, shutdown_timeout=ANSWERED_WITHIN)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except (OSError, OverflowError) as error:
            reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error
            raise UsageError(
                f"Port {port} of {printable(host)} cannot be listened on ({printable(reason)}). Choose another one, or "
                "0 for any that is free."
            ) from None
        address = runner.addresses[0]
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        yield f"http://{shown}:{address[1]}"
    finally:
        await runner.cleanup()


@contextlib.contextmanager
def listening_in_a_thread(application: web.Application, port: int) -> Iterator[str]:
    """Serve an application on loopback from a thread, whatever this one does meanwhile, and yield the URL."""
    place, done = _Place(), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(application, port, place, done)), daemon=True)
    thread.start()
    try:
        if not place.known.wait(START_WITHIN):
            raise UsageError("The server of the stand-in did not begin. Is the machine out of threads or time?")
        if place.error is not None:
            raise place.error
        yield place.url
    finally:
        done.set()
        thread.join(STOP_WITHIN)


class _Place:
    """Where the server of a thread is, or why it is not."""

    def __init__(self) -> None:
        self.known = threading.Event()
        self.url = ""
        self.error: Exception | None = None


async def _serve(application: web.Application, port: int, place: _Place, done: threading.Event) -> None:
    try:
        async with listening(application, port) as url:
            place.url = url
            place.known.set()
            while not done.is_set():
                await asyncio.sleep(0.02)
    except Exception as error:
        place.error = error
        place.known.set()
