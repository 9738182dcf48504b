"""Events of rollouts on their way to the platform.

They wait in a queue with a limit, and go in batches, one request at a time, over connections of their own: neither a
platform that is slow nor one that refuses them holds up a rollout. What cannot be uploaded is left out, rollout by
rollout, and said once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from orl_codegen.errors import printable
from orl_codegen.ors import limits
from orl_codegen.ors.advice import PLATFORM, advice
from orl_codegen.ors.client import Client
from orl_codegen.ors.endpoint import Endpoint
from orl_codegen.ors.failures import Failure, Refused
from orl_codegen.ors.platform import api_client, ids_of
from orl_codegen.ors.retrying import passing
from orl_codegen.ors.transport import Pool
from orl_codegen.sessions.loop import EventLoop

logger = logging.getLogger(__name__)

JSON = dict[str, Any]

ROUTE = "/v1/rollouts"


@dataclass
class Upload:
    """One rollout that is being uploaded.

    Attributes:
        id: Its id.
        lost: Whether one of its events could not be uploaded, so that none is any more.
    """

    id: str
    lost: bool = False


@dataclass(frozen=True)
class _Waiting:
    upload: Upload
    event: JSON
    size: int


class Uploads:
    """The queue of one environment in one process; everything on the thread of its event loop.

    Args:
        endpoint: The environment, with the platform's API and its key.
        listed: Whether the environment is one of the catalog, of which the platform has ids.
        loop: The event loop, which closes the queue when the process ends.

    Attributes:
        shown: The environment, for warnings.
    """

    def __init__(self, endpoint: Endpoint, listed: bool, loop: EventLoop) -> None:
        self.shown = printable(endpoint.deployment)
        self._endpoint, self._listed, self._loop = endpoint, listed, loop
        self._ids: JSON | None = None if listed else {}
        self._beginnings: deque[_Waiting] = deque()
        self._others: deque[_Waiting] = deque()
        self._bytes = 0  # in the two queues
        self._unsent = 0  # events in them, and in the request that is under way
        self._failures = 0
        self._stopped = self._warned = self._ending = False
        self._hurry = asyncio.Event()
        self._uploading: asyncio.Future[None] | None = None

    def add(self, upload: Upload, event: JSON) -> None:
        """Have an event uploaded, in the order of those of its rollout, unless there is no room for it."""
        if upload.lost or self._stopped:
            return
        waiting = _Waiting(upload, *_encodable(event))
        if self._bytes + waiting.size > limits.LOG_QUEUE_BYTES:
            upload.lost = True
            self._warn(f"{limits.LOG_QUEUE_BYTES >> 20} MiB of them wait to be uploaded, and no more can")
            return
        self._bytes += waiting.size
        self._unsent += 1
        (self._beginnings if event["eventType"] == "rollout" else self._others).append(waiting)
        if self._is_enough():
            self._hurry.set()
        if self._uploading is None:
            self._uploading = asyncio.ensure_future(self._upload_all())
            self._loop.opened.add(self)

    async def close(self) -> None:
        """Upload what waits, as far as there is time for it, and say what is left."""
        uploading = self._uploading
        if uploading is None:
            return
        self._ending = True
        self._hurry.set()
        await asyncio.wait([uploading], timeout=limits.EXIT_WITHIN * 0.9)
        self._ending = False
        if not uploading.done():
            logger.warning("%d events of rollouts in %s could not be uploaded in time.", self._unsent, self.shown)
            uploading.cancel()
            await asyncio.wait([uploading], timeout=limits.EXIT_WITHIN * 0.05)

    async def _upload_all(self) -> None:
        try:
            while self._unsent:  # looked at again once the connections are closed: more may have come meanwhile
                async with Pool() as pool:
                    await self._upload_over(api_client(self._endpoint, pool))
        finally:
            self._loop.opened.discard(self)
            self._uploading = None

    async def _upload_over(self, client: Client) -> None:
        while self._unsent:
            await self._collect()
            while self._beginnings:
                await self._send(client, self._beginnings)
            await self._send(client, self._others)

    async def _collect(self) -> None:
        """Wait a moment for further events, unless there are enough, or no time."""
        self._hurry.clear()
        if not (self._ending or self._is_enough()):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limits.LOG_EVERY):
                    await self._hurry.wait()

    def _is_enough(self) -> bool:
        return self._unsent >= limits.LOG_EVENTS or self._bytes >= limits.LOG_BYTES

    async def _send(self, client: Client, queue: deque[_Waiting]) -> None:
        """Upload the next events of a queue. Rollouts begin in requests of their own, before their messages, as with
        the SDK."""
        if self._ids is None:
            self._ids = await ids_of(self._endpoint, client)
        batch = list(self._batch(queue))
        events = [waiting.event | self._ids_in(waiting.event) for waiting in batch if not waiting.upload.lost]
        try:
            if events:
                await client.send("POST", ROUTE, {"events": events}, within=limits.LOG_WITHIN, again=_again)
                self._failures = 0
        except Failure as failure:
            self._give_up(batch, failure, client.endpoint)
        finally:
            self._unsent -= min(len(batch), self._unsent)  # none are left where it was given up for good

    def _batch(self, queue: deque[_Waiting]) -> Iterator[_Waiting]:
        size = 0
        for _ in range(limits.LOG_EVENTS):
            if not queue or (size and size + queue[0].size > limits.LOG_BYTES):
                return
            size += queue[0].size
            self._bytes -= queue[0].size
            yield queue.popleft()

    def _ids_in(self, event: JSON) -> JSON:
        taken = {"rollout": ("environment_id", "variant_id"), "message": ("environment_id",)}
        return {key: (self._ids or {})[key] for key in taken.get(event["eventType"], ()) if key in (self._ids or {})}

    def _give_up(self, batch: list[_Waiting], failure: Failure, api: Endpoint) -> None:
        for waiting in batch:
            waiting.upload.lost = True
        self._failures += 1
        self._warn(f"{str(failure).rstrip('.')}. {advice(failure, api, PLATFORM)}")
        denied = isinstance(failure, Refused) and failure.status in (401, 403)
        if denied or self._failures >= limits.LOG_FAILURES:
            self._stopped = True
            self._beginnings.clear()
            self._others.clear()
            self._bytes = self._unsent = 0

    def _warn(self, reason: str) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(
                "Rollouts in %s are missing from the log of the platform: %s. Training goes on, and further ones are "
                "not reported.",
                self.shown,
                reason.rstrip("."),
            )


def _encodable(event: JSON) -> tuple[JSON, int]:
    """An event that JSON can hold, and its size: without what an environment put into it that JSON cannot."""
    try:
        return event, len(json.dumps(event, allow_nan=False))
    except (ValueError, TypeError, RecursionError):
        kept = {key: value for key, value in event.items() if key not in ("metadata", "task_spec")}
        return kept, len(json.dumps(kept))


def _again(failure: Failure, made: int) -> bool:
    """The id of an event says that it was there before, so it may be sent again."""
    return made < limits.SENDS and (passing(failure) or (isinstance(failure, Refused) and failure.status >= 500))
