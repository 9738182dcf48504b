"""One ORS session: opened, kept alive, called and closed on the event loop, from whichever thread asks."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from typing import Any, NamedTuple, TypeVar

from orl_codegen.errors import RolloutError, SessionError, printable
from orl_codegen.ors.client import Wire
from orl_codegen.ors.endpoint import Endpoint
from orl_codegen.sessions.loop import ANSWER_WITHIN, event_loop

logger = logging.getLogger(__name__)

T = TypeVar("T")
JSON = dict[str, Any]

PING_EVERY = 10.0  # seconds; a server gives up a session that it has not heard of for 120 (the platform) or 900 of them
PINGS_LOST = 5  # in a row, until the session counts as lost; each has as long as there is between two
CLOSED = "The session was closed. Call reset() to open another one."
RETRY_AFTER = (1.0, 3.0)  # seconds before the second and the third attempt to open a session


class Output(NamedTuple):
    """What a tool answered. The blocks are those of the wire; the reward is finite, or None."""

    blocks: list[JSON]
    reward: float | None
    metadata: JSON | None
    finished: bool


class CallRefused(Exception):
    """The server did not carry a call out, because of how the model made it. The session goes on.

    Attributes:
        reason: `not_found`, `input_validation`, `episode_finished` and so on; None from older servers.
    """

    def __init__(self, detail: str, reason: str | None = None) -> None:
        super().__init__(detail)
        self.reason = reason


class Session:
    """A session, which opens in the background from the moment it is made.

    Args:
        endpoint: The environment.
        task: `{"split": ..., "index": ...}` or `{"task_spec": ...}`.
        toolset: The built-in toolset to open it with.
        messages: Ask for the prompt as messages, not as blocks.
        advice: What an error says to do where it cannot be opened.
        check_tools: Given what `/task_tools` answers; what it raises ends the session.
        check_prompt: Given the prompt; what it raises ends the session.

    Attributes:
        opening: Gives the prompt once the session is open.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        task: Mapping[str, Any],
        *,
        toolset: str | None = None,
        messages: bool = False,
        advice: str = "See what its server says.",
        check_tools: Callable[[Any], None] | None = None,
        check_prompt: Callable[[list[JSON]], None] | None = None,
    ) -> None:
        self._endpoint, self._messages, self._advice = endpoint, messages, advice
        self._check_tools, self._check_prompt = check_tools, check_prompt
        self._creation = {"env_name": endpoint.variant, **task, **({"toolset_name": toolset} if toolset else {})}
        self._pid = os.getpid()
        self._closing: asyncio.Future[None] | None = None
        self._lost: str | None = None
        self._work: set[asyncio.Task[Any]] = set()
        self._creating: asyncio.Future[None] | None = None
        self._pinging: asyncio.Future[None] | None = None
        self._loop = event_loop()
        self.opening: Future[list[JSON]] = self._loop.submit(self._guarded(self._open()))

    # What other threads call.

    def prompt(self) -> list[JSON]:
        """Wait until the session is open and set up, and return its prompt: blocks, or messages if asked for.

        Raises:
            RolloutError: It could not be opened, or a check failed.
        """
        return self._outcome(self.opening)

    def call(self, name: str, input: JSON) -> Output:
        """Call a tool.

        Raises:
            CallRefused: The call was malformed, or the episode has finished.
            RolloutError: The session could not be opened, or was lost.
        """
        return self._run(self._call(name, input))

    def score_group(self, candidates: list[JSON]) -> list[float | None]:
        """Score candidates against each other; one reward for each.

        Raises:
            RolloutError: The session could not be opened, or the environment could not score.
        """
        return self._run(self._score_group(candidates))

    def opening_error(self) -> BaseException | None:
        """Why the session could not be opened, as far as that is known by now."""
        if self.opening.cancelled():
            return SessionError(self._lost) if self._lost else None
        return self.opening.exception() if self.opening.done() else None

    @property
    def closed(self) -> bool:
        """Whether the session is closed or about to be."""
        return self._closing is not None

    def close_soon(self) -> None:
        """Close the session in the background. In a forked child this does nothing: the parent still uses it."""
        if self._pid == os.getpid() and not self.closed:
            self._loop.submit(self.close())

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._pid != os.getpid():
            work.close()
            raise SessionError("This session belongs to the process that opened it. Call reset() in this one first.")
        return self._outcome(self._loop.submit(self._guarded(work)))

    def _outcome(self, future: Future[T]) -> T:
        try:
            return future.result()
        except CancelledError:
            raise SessionError(self._lost or CLOSED) from None

    # What runs on the loop.

    async def close(self) -> None:
        """End whatever is under way, and the session on the server. Who calls it later waits for the same end."""
        await asyncio.shield(self._begin_closing())

    def _begin_closing(self) -> asyncio.Future[None]:
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        return self._closing

    async def _close(self) -> None:
        for task in self._work:
            task.cancel()
        await self._delete()
        self._loop.sessions.discard(self)

    async def _guarded(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` so that closing the session cancels it, and that its errors quote no key and no secret."""
        task = asyncio.current_task()
        assert task is not None
        self._work.add(task)
        try:
            return await work
        except (RolloutError, CallRefused):
            raise
        except Exception as error:
            said = self._endpoint.describe(error)
        finally:
            self._work.discard(task)
        raise SessionError(said)  # outside the handler: an error's context is shown too, and this one quotes headers

    async def _open(self) -> list[JSON]:
        self._loop.sessions.add(self)
        for pause in (*RETRY_AFTER, None):
            try:
                return await self._attempt()
            except Exception as error:
                await self._delete()
                if isinstance(error, RolloutError):
                    self._loop.sessions.discard(self)
                    raise
                said, final = self._endpoint.describe(error), pause is None or not _may_pass(error)
            if final or pause is None:
                break
            await asyncio.sleep(pause)
        self._loop.sessions.discard(self)
        raise SessionError(f"No session of {self._endpoint.shown()} could be opened: {said}. {self._advice}")

    async def _attempt(self) -> list[JSON]:
        self._wire = Wire(self._endpoint)
        # Shielded: a session whose creation is cut off could come to life on the server after we stopped looking.
        self._creating = asyncio.ensure_future(self._create())
        self._pinging = asyncio.ensure_future(self._keep_alive(self._creating))
        await asyncio.shield(self._creating)
        prompt, _ = await asyncio.gather(self._get_prompt(), self._look_at_tools())
        if self._check_prompt is not None:
            self._check_prompt(prompt)
        return prompt

    async def _create(self) -> None:
        secrets = self._endpoint.creation_headers()
        await self._wire.start(secrets)
        await self._wire.create(self._creation, secrets)

    async def _get_prompt(self) -> list[JSON]:
        prompt = await (self._get_messages() if self._messages else self._get("prompt"))
        if not isinstance(prompt, list) or not all(isinstance(part, dict) for part in prompt):
            raise ValueError("the prompt that the server sent is no list of blocks")
        return prompt

    async def _get_messages(self) -> Any:
        try:
            return await self._get("messages")
        except Exception as error:
            if getattr(error, "status", None) not in (404, 405):
                raise
        return [{"role": "user", "blocks": await self._get("prompt")}]

    async def _get(self, route: str) -> Any:
        return await self._wire.get(self._endpoint.path(route), patient=True)

    async def _look_at_tools(self) -> None:
        if self._check_tools is not None:
            try:
                listing = await self._get("task_tools")
            except Exception as error:
                logger.warning("The tools were not verified: the server said %s.", self._endpoint.describe(error))
            else:
                self._check_tools(listing)

    async def _call(self, name: str, input: JSON) -> Output:
        await self._until_open()
        try:
            answer = await self._wire.stream(self._endpoint.path("call"), {"name": name, "input": input})
        except Exception as error:
            if not _is_about_the_body(error):
                raise
            raise CallRefused(self._endpoint.describe(error), "bad_input_shape") from None
        return self._output(answer)

    def _output(self, answer: Any) -> Output:
        if not isinstance(answer, dict):
            raise SessionError("The server answered a call with no object.")
        if not answer.get("ok"):
            said = self._endpoint.redacted(str(answer.get("error") or "the call was refused"))
            raise CallRefused(said, answer.get("reason"))
        output = answer.get("output")
        blocks = output.get("blocks") if isinstance(output, dict) else None
        if not isinstance(output, dict) or not isinstance(blocks, list):
            raise SessionError(f"The server answered a call with {self._shown(output)}, which is no tool output.")
        return Output(
            [block for block in blocks if isinstance(block, dict)],
            self._number(output.get("reward")),
            output["metadata"] if isinstance(output.get("metadata"), dict) else None,
            output.get("finished") is True,
        )

    def _number(self, reward: Any) -> float | None:
        """A reward as a finite float; anything else is None, with a warning unless it is null."""
        if isinstance(reward, int | float) and not isinstance(reward, bool):
            with contextlib.suppress(OverflowError):  # an integer beyond any float
                if math.isfinite(reward):
                    return float(reward)
        if reward is not None:
            logger.warning("The reward %s is no finite number, so the call counts as unscored.", self._shown(reward))
        return None

    def _shown(self, said: Any) -> str:
        return printable(self._endpoint.redacted(str(said)))

    async def _score_group(self, candidates: list[JSON]) -> list[float | None]:
        await self._until_open()
        answer = await self._wire.stream(self._endpoint.path("score_group"), {"candidates": candidates})
        rewards = [self._number(score["reward"]) for score in answer["scores"]]
        if len(rewards) != len(candidates):
            raise ValueError(f"the server scored {len(rewards)} of {len(candidates)} candidates")
        return rewards

    async def _until_open(self) -> None:
        if self.closed:
            raise SessionError(self._lost or CLOSED)
        if self.opening.done():
            self.opening.result()
        else:
            await asyncio.shield(asyncio.wrap_future(self.opening))

    async def _keep_alive(self, creating: asyncio.Future[None]) -> None:
        lost = 0
        while lost < PINGS_LOST:
            await asyncio.sleep(PING_EVERY)
            try:
                await self._wire.ping(PING_EVERY)
                lost = 0
            except Exception as error:
                # What the server is still creating, it does not know yet: then any answer is a sign of life.
                answered = getattr(error, "status", None) is not None and not creating.done()
                lost, said = (0 if answered else lost + 1), self._endpoint.describe(error)
        self._lost = f"The server did not answer {PINGS_LOST} pings in a row, the last one with {said}."
        creating.cancel()
        self._begin_closing()

    async def _delete(self) -> None:
        if self._pinging is not None:
            self._pinging.cancel()
        if self._creating is not None:
            # What the server is still creating cannot be deleted yet.
            await asyncio.wait([self._creating], timeout=ANSWER_WITHIN)
            self._creating.cancel()
            await self._wire.delete()


def _may_pass(error: Exception) -> bool:
    """Whether it makes sense to try to open a session again."""
    if (
        isinstance(error, (ValueError, TypeError, KeyError, TimeoutError))
        or type(error).__name__ == "AuthenticationError"
    ):
        return False
    status = getattr(error, "status", None)
    return status is None or status >= 500 or status in (408, 410, 429)


def _is_about_the_body(error: Exception) -> bool:
    """Whether the server refuses what the model wrote, and not a header or a path, which are ours."""
    problems = getattr(error, "message", None) if getattr(error, "status", None) in (400, 422) else None
    return (
        isinstance(problems, list)
        and len(problems) > 0
        and all(isinstance(problem, dict) and (problem.get("loc") or [""])[0] == "body" for problem in problems)
    )
