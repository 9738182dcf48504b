"""A connection to the server of a target, for as long as a `with` block lasts.

Requests go through the client that training uses, too; what routes answer is read strictly (see `answers`). Each wait
has `timeout` seconds, and whatever is open is closed within `limits.EXIT_WITHIN` for each request that this takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from orl_codegen.errors import ServerError, UsageError, printable
from orl_codegen.generator.discovery import answers
from orl_codegen.generator.options import Options
from orl_codegen.generator.target import CatalogName, PythonClass, ServerURL, Target
from orl_codegen.ors import limits
from orl_codegen.ors.advice import COMMAND, about_secrets, advice
from orl_codegen.ors.client import Client
from orl_codegen.ors.endpoint import Endpoint, endpoint
from orl_codegen.ors.failures import Failure, Late, Refused, Unreachable
from orl_codegen.ors.platform import missing_secrets
from orl_codegen.ors.session import Session
from orl_codegen.ors.transport import Pool


@dataclass(frozen=True)
class Server:
    """A connection to one server, and the environment on it that `endpoint.variant` names.

    Attributes:
        shown: The target, in messages.
        endpoint: Where it is, with which key and secrets.
        pool: The connections.
        client: For questions that concern no task.
        timeout: Seconds for each answer, and for each step of opening a session.
        undeleted: Why a session could not be deleted, for each that may still be open.
    """

    shown: str
    endpoint: Endpoint
    pool: Pool
    client: Client
    timeout: float
    undeleted: list[Failure] = field(default_factory=list)

    def of(self, variant: str) -> Server:
        """The same connection, for one of the environments on the server."""
        return replace(self, endpoint=replace(self.endpoint, variant=variant))

    async def get(self, route: str) -> Any:
        """The JSON that a route of the environment answers."""
        return await self.request("GET", self.endpoint.path(route))

    async def post(self, route: str, body: Mapping[str, Any]) -> Any:
        """The JSON that a route of the environment answers to `body`."""
        return await self.request("POST", self.endpoint.path(route), body)

    async def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The JSON of an answer, read strictly.

        Raises:
            RefusedRequest: The server answered with another status than 2xx.
            ServerError: It could not be reached, did not answer in time, or answered with something else than JSON.
        """
        try:
            answer = await self.client.send(method, path, body, within=self.timeout)
        except Failure as failure:
            raise self.error(failure, path) from None
        return answers.parse(answer, self.source(path.rpartition("/")[2]), self.endpoint.safe)

    def error(self, failure: Failure, path: str) -> ServerError:
        """What a failure means for whoever runs the command."""
        todo = self.advice(failure)
        if isinstance(failure, Refused):
            return RefusedRequest(self.shown, path, failure, todo)
        if isinstance(failure, Late):
            return ServerError(f"{self.shown} did not answer within {self.timeout:g} seconds. {todo}")
        if isinstance(failure, Unreachable):
            what = f"gave no whole answer to {printable(path)}" if failure.sent else "could not be reached"
            return ServerError(f"{self.shown} {what}: {failure}. {todo}")
        return ServerError(f"The answer of {self.shown} to {printable(path)} cannot be used: {failure}. {todo}")

    def advice(self, failure: Failure) -> str:
        """What whoever runs the command can do about a failure."""
        return advice(failure, self.endpoint, COMMAND)

    async def explained(self, error: ServerError) -> ServerError:
        """Why a task could not be opened, with the secrets that the environment requires and was not given."""
        missing = await missing_secrets(self.endpoint, self.pool)
        return ServerError(f"{error}{about_secrets(missing, COMMAND)}") if missing else error

    def source(self, route: str) -> str:
        """A route in an error message."""
        return f"The answer of {self.shown} to /{route}"

    @contextlib.asynccontextmanager
    async def session(self, split: str, index: int, toolset: str | None) -> AsyncIterator[Session]:
        """An open session of a task; it is deleted in any case, also where opening it failed or was cancelled."""
        task = {"split": split, "index": index}
        session = Session(
            self.endpoint,
            self.pool,
            task,
            toolset=toolset,
            open_within=self.timeout,
            call_within=self.timeout,
            sends=self.client.sends,
        )
        try:
            await session.open()
            yield session
        finally:
            await _even_if_cancelled(self._delete(session))

    async def _delete(self, session: Session) -> None:
        failure = await session.close(limits.EXIT_WITHIN)
        if failure is not None:
            self.undeleted.append(failure)

    def left(self) -> str:
        """What to say of the sessions that may still be open; empty where there are none."""
        if not self.undeleted:
            return ""
        count = len(self.undeleted)
        return (
            f"{count} {'session' if count == 1 else 'sessions'} may still be open on the server: the request to delete "
            f"it failed ({self.undeleted[0]}). The server gives up a session that it has heard no ping of for a while."
        )


async def _even_if_cancelled(work: Coroutine[Any, Any, None]) -> None:
    """Close something. However often whoever waits is cancelled, it waits to the end, which has a limit."""
    closing = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not closing.done():
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


class RefusedRequest(ServerError):
    """The server answered a request with another status than 2xx."""

    def __init__(self, shown: str, path: str, refused: Refused, todo: str) -> None:
        redirect = 300 <= refused.status < 400
        detail = f": {refused.message.rstrip('.')}" if refused.message and not redirect else ""
        super().__init__(f"{shown} answered {printable(path)} with HTTP {refused.status}{detail}. {todo}")
        self.status = refused.status


@contextlib.asynccontextmanager
async def served(target: Target, options: Options) -> AsyncIterator[tuple[Target, str | None]]:
    """The target with what is known once it is up, and the URL to reach it at (None for the platform)."""
    if not isinstance(target, PythonClass):
        yield target, target.url if isinstance(target, ServerURL) else None
        return
    from orl_codegen.serving import ChildServer

    child = ChildServer(target.record, target.folder)
    try:
        url = await asyncio.to_thread(child.url, options.timeout)
        yield replace(target, name=child.name), url
    except ServerError:
        child.raise_if_ended()  # which explains the rest
        raise
    finally:
        await asyncio.to_thread(child.stop)


@contextlib.asynccontextmanager
async def connected(
    target: Target, url: str | None, options: Options, say: Callable[[str], None]
) -> AsyncIterator[Server]:
    """A connection. Requests that fail are not sent again, so that a wrong address is reported at once.

    `say` is told of sessions that may still be open in the end.
    """
    place = endpoint(target.record, "", base_url=url, api_key=api_key_of(target, options), secrets=secrets_of(options))
    async with Pool() as pool:
        client = Client(place, pool, sends=1)
        server = Server(printable(target.record), place, pool, client, options.timeout)
        try:
            if isinstance(target, CatalogName):  # the platform wants to see a session even where a route needs none
                await client.start(options.timeout)
            yield server
        except Failure as failure:
            raise server.error(failure, "/create_session") from None
        finally:
            await client.delete(limits.EXIT_WITHIN)
            if left := server.left():
                say(left)


def api_key_of(target: Target, options: Options) -> str | None:
    """The key to send, out of its environment variable; None where none is wanted."""
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


def secrets_of(options: Options) -> dict[str, str]:
    """The secrets of the sessions, out of their environment variables."""
    missing = [key for key, name in options.secrets.items() if name not in os.environ]
    if missing:
        raise UsageError(
            f"The environment variable that holds the secret {printable(missing[0])} is not set. Set it; --secret "
            "KEY=ENVVAR takes its name, never the secret itself."
        )
    return {key: os.environ[name] for key, name in options.secrets.items()}
