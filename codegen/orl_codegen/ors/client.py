"""Requests to an ORS server: what is sent, what is made of the answer, and what is sent again.

The generator and training both talk to servers through this client. What comes back is plain JSON in valid Unicode, or
its bytes: servers send more and less than the standard says, and it is for the caller to be strict about it.
"""

from __future__ import annotations

import contextlib
import datetime
import email.utils
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from orl_codegen.ors import limits
from orl_codegen.ors.endpoint import Endpoint
from orl_codegen.ors.failures import Failure, Malformed, Refused, Unreachable
from orl_codegen.ors.operation import Operation
from orl_codegen.ors.parts import Part
from orl_codegen.ors.retrying import never_sent, passing, retried
from orl_codegen.ors.transport import Pool, failure_of
from orl_codegen.ors.unicode import json_of
from orl_codegen.version import __version__

if TYPE_CHECKING:
    import aiohttp

JSON = dict[str, Any]


class Client:
    """Requests to an endpoint, under one session id if there is one; to be used on the event loop of its pool.

    Args:
        endpoint: The environment.
        pool: The connections.
        sends: How often a request is sent that may safely be sent again.

    Attributes:
        sends: How often a request is sent that may safely be sent again.
        sid: The session id that the server gave out, once there is one.
        created: Whether a task was opened under it, or may have been.
    """

    def __init__(self, endpoint: Endpoint, pool: Pool, *, sends: int = limits.SENDS) -> None:
        self.endpoint = endpoint
        self.sends = sends
        self._pool = pool
        self._back_off = pool.back_off(endpoint.url)
        self.sid: str | None = None
        self.created = False

    # Any route.

    async def get(self, path: str, *, within: float) -> Any:
        """The JSON that a path answers."""
        return self._parsed(await self.send("GET", path, within=within))

    async def post(self, path: str, body: Any, *, within: float, size: int = limits.ANSWER_BYTES) -> Any:
        """The JSON that a path answers to JSON; the request must do no harm when it is sent twice."""
        return self._parsed(await self.send("POST", path, body, within=within, size=size))

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        within: float,
        size: int = limits.ANSWER_BYTES,
        again: Callable[[Failure, int], bool] | None = None,
        waits: bool = True,
    ) -> bytes:
        """The bytes that a path answers. Sent again where that may help, so it must do no harm when it is sent twice.

        Raises:
            Failure: There was no such answer within so many seconds and of at most `size` bytes.
        """

        async def once() -> bytes:
            async with self._exchange(method, path, body) as response:
                return await _whole(response, size)

        return await retried(once, within=within, again=again or self._passing, back_off=self._back_off, waits=waits)

    async def stream(
        self,
        path: str,
        body: JSON,
        *,
        within: float,
        headers: dict[str, str] | None = None,
        repeatable: bool = False,
    ) -> Any:
        """The JSON that an event stream ends with, None where it ends with nothing.

        The request is sent again only if the server cannot have seen it, unless it is `repeatable`. A stream that
        breaks off after it has named its task is taken up again, which does not run the task a second time.

        Raises:
            ToolRaised: The environment raised an exception.
            Failure: There was no such answer within so many seconds.
        """
        operation = Operation(silence_ends=repeatable)
        accept = {"Accept": "text/event-stream", **(headers or {})}

        async def once() -> str:
            async with self._exchange("POST", path, body | operation.resumption(), accept) as response:
                return await operation.follow(response, self._safe)

        def again(failure: Failure, made: int) -> bool:
            if operation.resumable:
                return made < limits.RESUMES and passing(failure)
            return made < self.sends and (never_sent(failure) or (repeatable and passing(failure)))

        text = await retried(once, within=within, again=again, back_off=self._back_off)
        if not self.sid and operation.task_id:
            self._adopt(operation.task_id)
        return self._parsed(text) if text else None

    # The life of a session id.

    async def start(self, within: float, env: Mapping[str, str] | None = None) -> None:
        """Have the server give out a session id, which it names as the task of the stream. Asking twice does no harm:
        an id that is never used costs the server nothing.

        Args:
            within: Seconds.
            env: Environment variables of its container.
        """
        headers = self.endpoint.creation_headers()
        body = {"env": dict(env)} if env else {}
        answer = await self.stream("/create_session", body, within=within, headers=headers, repeatable=True)
        if answer is not None and (sid := Part(answer, "create_session", self._safe).field("sid").text("")):
            self._adopt(sid)
        if not self.sid:
            raise Malformed("the server gave out no session id")

    async def create(self, task: JSON, within: float) -> None:
        """Open a task under the session id. Where the answer was lost, or is odd, and the task is there, it is open."""
        self.created = True

        async def once() -> None:
            headers = self.endpoint.creation_headers()
            try:
                async with self._exchange("POST", "/create", task, headers) as response:
                    answer = self._parsed(await _whole(response, limits.ANSWER_BYTES))
                Part(answer, "create", self._safe).object()
            except (Unreachable, Malformed) as failure:
                seen = isinstance(failure, Malformed) or failure.sent
                if not seen or not await self._is_there():
                    raise
            except Refused as refused:
                if not (refused.status == 400 and "already exists" in refused.message):
                    raise

        await retried(once, within=within, again=self._passing, back_off=self._back_off)

    async def _is_there(self) -> bool:
        try:
            await self.ping()
        except Failure:
            return False
        return True

    async def ping(self) -> None:
        """Tell the server that the session is still wanted."""
        # Not kept back by a 429 of another request: the server gives up sessions that it does not hear from.
        await self.send("POST", "/ping", within=limits.PING_EVERY, again=_never, waits=False)

    async def delete(self, within: float) -> Failure | None:
        """End the session on the server: the task that was opened in it, then the session itself. Never raises.

        Returns:
            Why the server may still have what was opened, or None.
        """
        sid, left = self.sid, None
        if sid is not None and self.created:
            left = await self._end("/delete", within)
        if sid is not None and left is None:
            await self._end("/delete_session", within)  # an id that is not used costs the server nothing
        self.sid = None
        return left

    async def _end(self, path: str, within: float) -> Failure | None:
        """Why that may have had no effect. It is sent again after any failure of the server: it does no harm."""
        try:
            # Not kept back by a 429 of another request: this gives back what the server is short of, and at the end of
            # the process there is no time to wait.
            await self.send("POST", path, within=within, again=_ending_again, waits=False)
        except Refused as refused:
            return None if refused.status in (404, 410) else refused  # it has gone already
        except Failure as failure:
            return failure
        return None

    def _passing(self, failure: Failure, made: int) -> bool:
        return made < self.sends and passing(failure)

    def _adopt(self, sid: str) -> None:
        if not re.fullmatch(r"[\x21-\x7e]{1,500}", sid):
            raise Malformed("the server gave out a session id that no header can hold")
        self.sid = sid

    # One request.

    @contextlib.asynccontextmanager
    async def _exchange(
        self, method: str, path: str, body: Any, headers: dict[str, str] | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A response with a status of 2xx; whatever goes wrong with it is a `Failure`."""
        import aiohttp

        data = None if body is None else json.dumps(body).encode()
        try:
            async with self._pool.request(
                method, self.endpoint.url + path, self._headers(data, headers), data
            ) as response:
                if not 200 <= response.status < 300:
                    raise await self._refused(response)
                yield response
                return
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ClientError):
                raise  # a deadline of ours
            failure = failure_of(error, self._safe)
        raise failure  # outside the handler: the context of an error is shown too, and aiohttp's may quote headers

    def _headers(self, data: bytes | None, more: dict[str, str] | None) -> dict[str, str]:
        headers = {"User-Agent": f"orl-codegen/{__version__}"}
        if self.endpoint.deployment:
            headers["X-Deployment"] = self.endpoint.deployment
        if data is not None:
            headers["Content-Type"] = "application/json"
        if self.endpoint.api_key is not None:
            headers["X-API-Key"] = self.endpoint.api_key
        if self.sid is not None:
            headers["X-Session-ID"] = self.sid
        return headers | (more or {})

    async def _refused(self, response: aiohttp.ClientResponse) -> Refused:
        """What the server says to a request that it refuses."""
        status, headers = response.status, response.headers
        detail: Any = (await _beginning(response, limits.DETAIL_BYTES)).decode("utf-8", "replace").strip()
        with contextlib.suppress(ValueError, LookupError, TypeError, RecursionError):
            detail = json.loads(detail)["detail"]
        message = self._safe(str(detail))
        if status == 401:
            message = "no key was sent" if self.endpoint.api_key is None else "the key that was sent was refused"
        elif 300 <= status < 400:
            to = self._safe(headers.get("Location", "nowhere"))
            message = f"a redirect to {to}, which is not followed"
        starting = status == 503 and headers.get("X-Backend-State") == "starting"
        return Refused(status, detail, message, retry_after=_seconds(headers.get("Retry-After")), starting=starting)

    def _parsed(self, answer: bytes | str) -> Any:
        try:
            return json_of(answer)
        except (ValueError, RecursionError):
            pass
        beginning = answer[: limits.DETAIL_BYTES]  # cut to what is shown only when it is safe: half a key is one, too
        text = beginning.decode("utf-8", "replace") if isinstance(beginning, bytes) else beginning
        shown = self.endpoint.safe(text, 60)
        raise Malformed(f"the server answered with something that is not JSON; it begins `{shown}`")

    def _safe(self, text: str) -> str:
        return self.endpoint.safe(text, 500)


def _never(failure: Failure, made: int) -> bool:
    return False


def _ending_again(failure: Failure, made: int) -> bool:
    failed = isinstance(failure, Refused) and failure.status >= 500
    return made < limits.SENDS and (failed or passing(failure))


async def _whole(response: aiohttp.ClientResponse, size: int) -> bytes:
    pieces, length = [], 0
    while piece := await response.content.readany():
        length += len(piece)
        if length > size:  # before the pieces are put together, which would take as much memory again
            raise Malformed(f"the answer is larger than {size >> 20} MiB, which is refused")
        pieces.append(piece)
    return b"".join(pieces)


async def _beginning(response: aiohttp.ClientResponse, size: int) -> bytes:
    """The body, or its first `size` bytes; no more than one further piece is read."""
    pieces, length = [], 0
    while length < size and (piece := await response.content.readany()):
        pieces.append(piece)
        length += len(piece)
    return b"".join(pieces)[:size]


def _seconds(retry_after: str | None) -> float | None:
    """`Retry-After` in seconds from now: it holds a number of them, or a date."""
    if retry_after is None:
        return None
    if re.fullmatch(r"\d{1,9}", retry_after.strip(), re.ASCII):
        return float(retry_after)
    try:
        date = email.utils.parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    if date.tzinfo is None:
        return None
    return max(0.0, (date - datetime.datetime.now(datetime.UTC)).total_seconds())


@contextlib.asynccontextmanager
async def asking(endpoint: Endpoint, pool: Pool) -> AsyncIterator[Client]:
    """For questions that concern no task. Nothing is opened for them, but the platform wants to see a session id."""
    client = Client(endpoint, pool)
    try:
        if endpoint.api_url is not None:
            await client.start(limits.OPEN_WITHIN)
        yield client
    finally:
        await client.delete(limits.EXIT_WITHIN)
