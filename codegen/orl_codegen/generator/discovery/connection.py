"""A connection to the server of a target, for as long as a `with` block lasts.

The SDK opens and closes sessions; what routes answer is read as plain JSON (see `wire`). Nothing here waits without
end: a request has `timeout` seconds, and whatever is open is closed within `CLOSE_WITHIN` seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from orl_codegen.errors import ServerError, UsageError, printable
from orl_codegen.generator.discovery import answers
from orl_codegen.generator.options import Options
from orl_codegen.generator.target import CatalogName, PythonClass, ServerURL, Target
from orl_codegen.ors.endpoint import Endpoint, endpoint
from orl_codegen.runtime.vocabulary import Environment
from orl_codegen.sessions.loop import refuse_redirects

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")

CLOSE_WITHIN = 2.0


@dataclass(frozen=True)
class Server:
    """A connection to one server, and the environment on it that `endpoint.variant` names.

    Attributes:
        shown: The target, in messages.
        endpoint: Where it is, with which key and secrets.
        environments: The SDK's `AsyncEnvironmentsAPI`.
        client: For the routes that are read as plain JSON.
        session_id: What the platform wants to see with each request.
    """

    shown: str
    endpoint: Endpoint
    environments: Any
    client: aiohttp.ClientSession
    session_id: str | None = None

    async def get(self, route: str, session_id: str | None = None) -> Any:
        """The JSON that a route of the environment answers."""
        return await self.request("GET", f"/{self.endpoint.variant}/{route}", session_id)

    async def post(self, route: str, body: Mapping[str, Any]) -> Any:
        """The JSON that a route of the environment answers to `body`."""
        return await self.request("POST", f"/{self.endpoint.variant}/{route}", None, body)

    async def request(
        self, method: str, path: str, session_id: str | None = None, body: Mapping[str, Any] | None = None
    ) -> Any:
        """One request. Redirects are not followed: they could carry the key to another host."""
        headers = {"X-Deployment": self.endpoint.deployment}
        if self.endpoint.api_key:
            headers["X-API-Key"] = self.endpoint.api_key
        if session_id or self.session_id:
            headers["X-Session-ID"] = str(session_id or self.session_id)
        async with self.client.request(method, path, headers=headers, json=body, allow_redirects=False) as response:
            answer = await response.content.read(answers.MAX_BYTES + 1)
            while not response.content.at_eof() and len(answer) <= answers.MAX_BYTES:
                answer += await response.content.read(answers.MAX_BYTES + 1 - len(answer))
            if response.status != 200:
                raise Refused(self.shown, path, response.status, self._said(answer))
        if len(answer) > answers.MAX_BYTES:
            raise ServerError(f"{path} answers with more than {answers.MAX_BYTES >> 20} MiB, which is refused.")
        return answers.parse(answer, self.source(path.rpartition("/")[2]))

    def source(self, route: str) -> str:
        """A route in an error message."""
        return f"The answer of {self.shown} to /{route}"

    def _said(self, answer: bytes) -> str:
        text = answer[:2000].decode("utf-8", "replace").strip()
        with contextlib.suppress(ValueError, LookupError, TypeError, RecursionError):
            text = str(json.loads(answer)["detail"])
        return printable(self.endpoint.redacted(text))


class Refused(ServerError):
    """The server answered a request with another status than 200."""

    def __init__(self, shown: str, path: str, status: int, said: str) -> None:
        said = f": {said.rstrip('.')}" if said else ""
        super().__init__(f"{shown} answered {printable(path)} with HTTP {status}{said}. {_advice(status)}")
        self.status = status


def _advice(status: int) -> str:
    if status in (401, 403):
        return "It wants a key: name the environment variable that holds it with --api-key-env."
    if 300 <= status < 400:
        return "Redirects are not followed: name the address that it leads to."
    return "Look into the server's log." if status >= 500 else "Is this the URL of an ORS server?"


@contextlib.asynccontextmanager
async def served(target: Target, options: Options) -> AsyncIterator[tuple[Target, str | None]]:
    """The target with what is known once it is up, and the URL to reach it at (None for the platform)."""
    if not isinstance(target, PythonClass):
        yield target, target.url if isinstance(target, ServerURL) else None
        return
    from orl_codegen.serving import ChildServer

    child = ChildServer(target.record, target.folder)
    try:
        import openreward.api.environments.client  # noqa: F401 - needed in a moment, and takes as long as the child does

        url = await asyncio.to_thread(child.url, options.timeout)
        yield replace(target, name=child.name), url
    finally:
        await asyncio.to_thread(child.stop)


@contextlib.asynccontextmanager
async def connected(target: Target, url: str | None, options: Options) -> AsyncIterator[Server]:
    """A connection; what goes wrong while it is open ends in a `ServerError` that says what failed."""
    place = endpoint(
        Environment(target.record, ""), base_url=url, api_key=_api_key(target, options), secrets=_secrets(options)
    )
    import aiohttp
    from openreward.api._session.http import AuthenticationError
    from openreward.api.environments.client import AsyncEnvironmentsAPI
    from openreward.api.errors import MaxRetriesError

    timeout = aiohttp.ClientTimeout(total=options.timeout)
    async with AsyncEnvironmentsAPI(place.url, place.api_key) as environments:
        refuse_redirects(environments.get(place.deployment).client)  # the one client of all its sessions
        try:
            async with (
                aiohttp.ClientSession(place.url, timeout=timeout, trust_env=True) as client,
                _platform_session(target, place, environments, options) as session_id,
            ):
                yield Server(printable(target.record), place, environments, client, session_id)
        except TimeoutError:
            raise ServerError(
                f"{printable(target.record)} did not answer within {options.timeout:g} seconds. Look whether it hangs, "
                "or allow more time with --timeout."
            ) from None
        except (aiohttp.ClientError, OSError, AuthenticationError, MaxRetriesError) as error:
            said = place.describe(error).rstrip(".")
            raise ServerError(
                f"{printable(target.record)} could not be reached: {said}. Look whether the server "
                "runs and the address is right."
            ) from None


@contextlib.asynccontextmanager
async def _platform_session(
    target: Target, place: Endpoint, environments: Any, options: Options
) -> AsyncIterator[str | None]:
    """The session that the platform wants to see even where a route needs none."""
    if not isinstance(target, CatalogName):
        yield None
        return
    from openreward.api.environments.client import matrix_sid_provider

    client = environments.get(target.record).client
    async with bounded(matrix_sid_provider(client, target.record, place.api_key), options.timeout) as session_id:
        yield session_id


@contextlib.asynccontextmanager
async def bounded(manager: contextlib.AbstractAsyncContextManager[T], timeout: float) -> AsyncIterator[T]:
    """Enter within `timeout` seconds, and always leave, a few seconds after the block at the latest.

    The SDK waits for a server without end, leaves what it has created behind when entering fails half-way, and stops
    closing when it is cancelled meanwhile.
    """
    entering = asyncio.ensure_future(manager.__aenter__())
    try:
        yield await asyncio.wait_for(asyncio.shield(entering), timeout)
    finally:
        leaving = asyncio.ensure_future(_leave(manager, entering))
        try:
            await asyncio.shield(leaving)
        except asyncio.CancelledError:
            await asyncio.wait({leaving})
            raise


async def _leave(manager: contextlib.AbstractAsyncContextManager[T], entering: asyncio.Future[T]) -> None:
    # What the server is still creating cannot be deleted yet.
    await asyncio.wait({entering}, timeout=CLOSE_WITHIN)
    entering.cancel()
    with contextlib.suppress(Exception):
        await asyncio.wait_for(manager.__aexit__(None, None, None), CLOSE_WITHIN)


def _api_key(target: Target, options: Options) -> str | None:
    if not isinstance(target, CatalogName) and options.api_key_env is None:
        return None  # the platform's key goes to the platform only
    key = os.environ.get(options.api_key_env or "OPENREWARD_API_KEY")
    if not key:  # what --api-key-env was given is not shown: it may be the key itself
        named = "that --api-key-env names" if options.api_key_env else "OPENREWARD_API_KEY"
        raise UsageError(
            f"{printable(target.record)} needs an API key, and the environment variable {named} is not set. Set it, or "
            "name another one with --api-key-env."
        )
    return key


def _secrets(options: Options) -> dict[str, str]:
    missing = [key for key, name in options.secrets.items() if name not in os.environ]
    if missing:
        raise UsageError(
            f"The environment variable that holds the secret {printable(missing[0])} is not set. Set it; --secret "
            "KEY=ENVVAR takes its name, never the secret itself."
        )
    return {key: os.environ[name] for key, name in options.secrets.items()}
