"""Requests to an ORS server under one session id.

The two HTTP functions are the SDK's: they retry, resume event streams and ride out a backend that still starts. What
comes back is plain JSON, because servers send more and less than the SDK's types allow.

An event stream breaks off where it is silent for half a minute; other requests have `ANSWER_WITHIN` seconds for each
attempt, unless the environment works meanwhile: then it is for pings to find out whether the server is still there.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

from orl_codegen.ors.endpoint import Endpoint
from orl_codegen.sessions.loop import ANSWER_WITHIN, event_loop


class Wire:
    """Requests to an endpoint; to be used on the event loop's thread.

    Attributes:
        sid: The session id that the server gave out, once there is one.
        created: Whether a task was opened under it, or may have been.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = event_loop().client(endpoint.url)
        self._patient_client = event_loop().client(endpoint.url, patient=True)
        self.sid: str | None = None
        self.created = False

    async def start(self, headers: dict[str, str] | None = None) -> None:
        """Have the server give out a session id."""

        def listen(event: str, data: str) -> None:
            if event == "task_id":
                self.sid = data.strip()

        # Asking twice does no harm here: an id that is never used costs the server nothing.
        answer = await self.stream("/create_session", {}, headers, once=False, max_retries=2, on_event=listen)
        if isinstance(answer, dict) and answer.get("sid"):
            self.sid = str(answer["sid"])
        if not self.sid:
            raise ValueError("the server gave out no session id")

    async def create(self, task: Any, headers: dict[str, str]) -> None:
        """Open a task under the session id."""
        self.created = True
        await self._request("POST", "/create", task, headers, patient=True)

    async def get(self, path: str, patient: bool = False) -> Any:
        """GET a path; returns the JSON of the answer. Be patient where the environment works meanwhile."""
        return await self._request("GET", path, patient=patient)

    async def post(self, path: str, json: Any) -> Any:
        """POST JSON to a path; returns the JSON of the answer."""
        return await self._request("POST", path, json)

    async def stream(
        self, path: str, json: Any, headers: dict[str, str] | None = None, once: bool = True, **options: Any
    ) -> Any:
        """POST to a path that answers as an event stream; returns the JSON that the stream ends with.

        With `once`, the request is not sent again unless the server says that it never ran. A stream that breaks off is
        resumed in any case, which does not run the operation again.
        """
        from openreward.api._session.http import resumable_sse

        with _naming_silence():
            return await resumable_sse(
                self._client,
                self._endpoint.url + path,
                token=self._endpoint.api_key,
                json=json,
                sid=self.sid,
                deployment=self._endpoint.deployment,
                resumable_only=once,
                extra_headers=headers,
                **{"max_retries": 5, **options},
            )

    async def ping(self, within: float) -> None:
        """Tell the server that the session is still wanted; it has `within` seconds to answer, and one attempt."""
        from openreward.api._session.http import _do_request

        url, key = self._endpoint.url + "/ping", self._endpoint.api_key
        with _naming_silence():
            async with asyncio.timeout(within):
                await _do_request(
                    self._patient_client, "POST", url, False, key, None, self.sid, self._endpoint.deployment
                )

    async def delete(self) -> None:
        """End the session on the server: the task that was opened in it, then the session itself. Never raises."""
        if self.sid is not None:
            for path in ("/delete", "/delete_session") if self.created else ("/delete_session",):
                # Patient, so that this is the only limit: it would be lost in a timeout of aiohttp at the same moment.
                with contextlib.suppress(Exception):
                    async with asyncio.timeout(ANSWER_WITHIN):
                        await self._request("POST", path, expect_json=False, patient=True)
            self.sid = None

    async def _request(
        self,
        method: str,
        path: str,
        json: Any = None,
        headers: dict[str, str] | None = None,
        *,
        expect_json: bool = True,
        patient: bool = False,
    ) -> Any:
        from openreward.api._session.http import request_retryable

        with _naming_silence():
            return await request_retryable(
                self._patient_client if patient else self._client,
                method,
                self._endpoint.url + path,
                expect_json=expect_json,
                token=self._endpoint.api_key,
                json=json,
                sid=self.sid,
                deployment=self._endpoint.deployment,
                extra_headers=headers,
            )


@contextlib.contextmanager
def _naming_silence() -> Iterator[None]:
    """Timeouts say what they mean: those of the libraries have no message, and several types."""
    from openreward.api.errors import HeartbeatTimeoutError, MaxRetriesError

    try:
        yield
    except (TimeoutError, HeartbeatTimeoutError, MaxRetriesError) as error:
        if isinstance(error, MaxRetriesError) and not isinstance(error.errors[-1], TimeoutError):
            raise
        raise TimeoutError("the server does not answer") from None


@contextlib.asynccontextmanager
async def asking(endpoint: Endpoint) -> AsyncIterator[Wire]:
    """For questions that concern no task. Nothing is opened for them, but the platform wants to see a session id."""
    wire = Wire(endpoint)
    if endpoint.api_url is not None:
        await wire.start()
    try:
        yield wire
    finally:
        event_loop().submit(wire.delete())  # nobody has to wait for this
