"""A session that any thread can use: it opens in the background, and lives on the event loop of this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any, Generic, TypeVar

from orl_codegen.endings import begin_anew_in_children
from orl_codegen.errors import SessionError, ToolError
from orl_codegen.ors import limits
from orl_codegen.ors.advice import IN_SESSION, TRAINING, Means, about_secrets, advice, tolerable
from orl_codegen.ors.endpoint import Endpoint
from orl_codegen.ors.failures import Failure, Late, Refused, SessionOver, ToolRaised, Unreachable
from orl_codegen.ors.outputs import CallRefused, NotOffered, Output
from orl_codegen.ors.platform import missing_secrets
from orl_codegen.ors.session import CLOSED, Session
from orl_codegen.sessions.loop import event_loop
from orl_codegen.sessions.slots import Slot, Slots
from orl_codegen.sessions.witness import Witness

T = TypeVar("T")
logger = logging.getLogger(__name__)

JSON = dict[str, Any]
Learn = Callable[[Session], Coroutine[Any, Any, frozenset[str] | None]]

ELSEWHERE = "This session belongs to the process that opened it. Call reset() in this one first."


class Pending(Generic[T]):
    """Something that was asked of a session. Calling it waits for the answer.

    Attributes:
        future: Done once there is an answer, or none will come.
    """

    def __init__(self, future: Future[T], wait: Callable[[], T]) -> None:
        self.future, self._wait = future, wait

    def __call__(self) -> T:
        return self._wait()


class SessionHandle:
    """A session, which opens in the background from the moment it is made.

    Args:
        endpoint: The environment.
        task: `{"split": ..., "index": ...}` or `{"task_spec": ...}`.
        slots: Of which it needs one while it is on the server.
        toolset: The built-in toolset to open it with.
        messages: Ask for the prompt as messages, not as blocks.
        call_within: Seconds that a call may take while the server answers pings.
        alternative: What an error says, too, where another session may well open.
        learn_tools: Given the session while its prompt is asked for; gives the wire names of the tools that the task
            offers, None where that is not known. What it raises ends the session.
        check_prompt: Given the prompt; what it raises ends the session.
        witness: Told how the session goes.

    Attributes:
        shown: The environment, for errors and warnings.
        opening: Gives the prompt once the session is open.
        elsewhere: Whether this is the copy of a forked child: the session is its parent's, and stays so.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        task: Mapping[str, Any],
        *,
        slots: Slots,
        toolset: str | None = None,
        messages: bool = False,
        call_within: float = limits.CALL_WITHIN,
        alternative: str = "",
        learn_tools: Learn | None = None,
        check_prompt: Callable[[list[JSON]], None] | None = None,
        witness: Witness | None = None,
    ) -> None:
        self._endpoint, self._task, self._toolset = endpoint, dict(task), toolset
        self._messages, self._call_within, self._alternative = messages, call_within, alternative
        self._learn_tools, self._check_prompt = learn_tools, check_prompt
        self._witness = witness or Witness()
        self._offered: frozenset[str] | None = None
        self.shown = endpoint.shown()
        self._slots, self._slot = slots, Slot(self.shown)
        self.elsewhere = False
        begin_anew_in_children(self)
        self._session: Session | None = None
        self._opener: asyncio.Task[Any] | None = None
        self._closing: asyncio.Future[None] | None = None
        self._loop = event_loop()
        self.opening: Future[list[JSON]] = self._loop.submit(self._open())

    def forked(self) -> None:
        """Wait for nothing in a forked child: it has no thread that would answer."""
        self.elsewhere = True

    # What other threads call.

    def prompt(self) -> list[JSON]:
        """Wait until the session is open and set up, and return its prompt: blocks, or messages if asked for.

        Raises:
            RolloutError: It could not be opened, a check failed, or no slot can become free for it.
        """
        self._check_process()
        return self._outcome(self.opening)

    def call(self, name: str, input: JSON) -> Pending[Output]:
        """Send a call of a tool. What is returned waits for the answer when it is called.

        Raises:
            CallRefused: The call was malformed, the task does not offer the tool, or the episode has finished.
            ToolError: The environment raised an exception.
            RolloutError: The session could not be opened, or was lost.
        """
        return self._run(partial(self._call, name, input))

    def score_group(self, candidates: list[JSON]) -> list[float | None]:
        """Score candidates against each other; one reward for each.

        Raises:
            RolloutError: The session could not be opened, or the environment could not score.
        """
        return self._run(lambda session: session.score_group(candidates))()

    def opening_error(self) -> BaseException | None:
        """Why the session could not be opened, as far as that is known by now."""
        if self.elsewhere or not self.opening.done() or self.opening.cancelled():
            return None
        return self.opening.exception()

    @property
    def closed(self) -> bool:
        """Whether the session is closed or about to be."""
        return self._closing is not None

    def close_soon(self) -> None:
        """Close the session in the background. In a forked child this does nothing: the parent still uses it."""
        if not self.elsewhere and not self.closed:
            self._loop.submit(self.close())

    def _run(self, work: Callable[[Session], Coroutine[Any, Any, T]]) -> Pending[T]:
        self._check_process()
        future = self._loop.submit(self._in_session(work))
        return Pending(future, partial(self._outcome, future))

    def _check_process(self) -> None:
        if self.elsewhere:
            raise SessionError(ELSEWHERE)

    def _outcome(self, future: Future[T]) -> T:
        with self._slot.used():
            try:
                return future.result()
            except CancelledError:
                raise SessionError(CLOSED) from None

    # What runs on the loop.

    async def _in_session(self, work: Callable[[Session], Coroutine[Any, Any, T]]) -> T:
        if self.closed:
            raise SessionError(CLOSED)
        if self.opening.done():
            self.opening.result()  # a future of another thread costs three turns of the loop to await
        else:
            await asyncio.shield(asyncio.wrap_future(self.opening))
        assert self._session is not None
        try:
            return await work(self._session)
        except Failure as failure:
            raise SessionError(self._told(str(failure), failure, IN_SESSION)) from None

    async def _call(self, name: str, input: JSON, session: Session) -> Output:
        if self._offered is not None and name not in self._offered:
            raise NotOffered(name, self._offered)
        try:
            output = await session.call(name, input)
        except (CallRefused, ToolRaised) as error:
            self._witness.refused(name, input, str(error))
            if isinstance(error, CallRefused):
                raise
            raise ToolError(f"{name} failed: {str(error) or 'it gave no reason'}") from None
        except Failure as failure:
            self._note_failure(str(failure))
            raise
        self._witness.answered(name, input, output)
        return output

    def _note_failure(self, reason: str) -> None:
        if not self.closed:
            self._witness.failed(reason)

    async def _open(self) -> list[JSON]:
        self._opener = asyncio.current_task()
        if self._opener is not None:
            self._opener.add_done_callback(_looked_at)
        self._loop.opened.add(self)
        try:
            await self._slots.take(self._slot)
            prompt = await self._opened()
        except Exception as error:
            self._slots.give_back(self._slot)
            self._loop.opened.discard(self)
            self._note_failure(str(error))
            raise
        self._witness.opened(prompt if self._messages else [{"role": "user", "blocks": prompt}])
        self._slot.at_rest = True
        return prompt

    async def _opened(self) -> list[JSON]:
        """The prompt of the first session that opens, of up to `limits.OPENINGS`."""
        opening = 1
        while True:
            try:
                return await self._attempt()
            except Failure as failure:
                if opening == limits.OPENINGS or not _may_pass(failure):
                    what = f"No session of {self._endpoint.shown()} could be opened: {failure}"
                    alternative = self._alternative if tolerable(failure) and str(failure) != CLOSED else ""
                    told = self._told(what, failure, TRAINING) + await self._secrets_behind(failure)
                    raise SessionError(told + alternative) from None
            await asyncio.sleep(limits.pause(opening))
            opening += 1

    async def _secrets_behind(self, failure: Failure) -> str:
        """The secrets that the environment requires and was not given, where that may be why it refuses to open."""
        if not isinstance(failure, Refused):
            return ""
        return about_secrets(await missing_secrets(self._endpoint, self._loop.pool), TRAINING)

    def _told(self, what: str, failure: Failure, means: Means) -> str:
        if str(failure) == CLOSED:
            return what  # which says what to do
        return f"{what.rstrip('.')}. {advice(failure, self._endpoint, means)}"

    async def _attempt(self) -> list[JSON]:
        if self.closed:
            raise SessionError(CLOSED)  # Python 3.11 loses a cancellation that meets the end of a wait
        session = self._session = Session(
            self._endpoint,
            self._loop.pool,
            self._task,
            toolset=self._toolset,
            open_within=limits.OPEN_WITHIN,
            call_within=self._call_within,
        )
        try:
            await session.open()
            prompt, _ = await asyncio.gather(
                session.messages() if self._messages else session.prompt(), self._look_at_tools(session)
            )
            if self._check_prompt is not None:
                self._check_prompt(prompt)
        except Exception:
            await self._delete(session)
            raise
        return prompt

    async def _look_at_tools(self, session: Session) -> None:
        if self._learn_tools is not None:
            self._offered = await self._learn_tools(session)

    async def close(self) -> None:
        """Break off whatever is under way, and end the session on the server. Later callers wait for the same end."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._slot.at_rest = False
        if self._opener is not None:
            self._opener.cancel()  # without effect once the session is open
        if self._session is not None:
            await self._delete(self._session)
        self._slots.give_back(self._slot)
        self._loop.opened.discard(self)

    async def _delete(self, session: Session) -> None:
        """Close a session, and say so once for each environment if the server may still have it."""
        failure = await session.close(limits.CLOSE_WITHIN)
        if failure is not None and self.shown not in _told:
            _told.add(self.shown)
            logger.warning(
                "A session of %s may still be open on the server: it could not be deleted (%s). The server gives it up "
                "when it has heard no ping of it for a while. Further ones are not reported.",
                self.shown,
                failure,
            )


_told: set[str] = set()
"""The environments of which a session could not be deleted."""


def _looked_at(opener: asyncio.Task[Any]) -> None:
    """Look at how an opening ended: who has given it up does not, and asyncio would complain."""
    if not opener.cancelled():
        opener.exception()


def _may_pass(failure: Failure) -> bool:
    """Whether it makes sense to try to open another session."""
    if isinstance(failure, Unreachable):
        return failure.passes
    return tolerable(failure) and not isinstance(failure, Late | SessionOver)
