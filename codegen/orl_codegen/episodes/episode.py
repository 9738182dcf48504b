"""`Episode`: one rollout at a time in an environment, for loops that are not TRL's.

The model is told what TRL's trainers tell it: the results of its calls, and the errors of those that could not be made
in the same words.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from orl_codegen.errors import ToolError
from orl_codegen.runtime.adapter import RolloutAdapter, Sent
from orl_codegen.runtime.parameters import WrongArguments
from orl_codegen.runtime.unanswered import Unanswered
from orl_codegen.runtime.vocabulary import ToolResult, bound_tools, generated_tools

if TYPE_CHECKING:
    from orl_codegen.trl.spec import OpenRewardSpec

Adapter = TypeVar("Adapter", bound=RolloutAdapter)
T = TypeVar("T")

AT_ONCE = 256  # terminal tools, and methods that a subclass has overridden, that are waited for at the same time


@dataclass(frozen=True)
class Call:
    """One call that the model made.

    Attributes:
        name: The tool, as the model named it.
        arguments: Its arguments; what the model wrote, where that was not an object.
        result: What the model was told.
        problem: Why the call gave no result: `unknown_tool`, `wrong_arguments`, `tool_raised`, or a reason of
            `Unanswered`; None where the environment carried it out.
    """

    name: str
    arguments: Any
    result: ToolResult
    problem: str | None = None


class Episode(Generic[Adapter]):
    """Plays rollouts in an environment, one after another, for a loop that calls tools by the names they have on the
    wire. Each method has a synchronous and an asynchronous form; those of one episode take turns.

        spec = OpenRewardSpec(Kitchen, split="test")
        async with Episode(spec) as episode:
            prompt = await episode.areset(task_index=0)
            result = await episode.acall("search-recipes", {"query": "curry"})
            reward = await episode.ascore()

    Args:
        spec: The environment, and how it is played.

    Attributes:
        adapter: The adapter, with the `rewards`, `metadata`, `finished` and `failure` of the rollout.
        calls: The calls of the rollout, in the order in which they were made.
    """

    def __init__(self, spec: OpenRewardSpec[Adapter]) -> None:
        self.adapter = spec.environment_factory()
        self.calls: list[Call] = []
        self._tools = bound_tools(type(self.adapter))
        self._generated = frozenset(generated_tools(type(self.adapter)))
        self._turn = asyncio.Lock()

    def reset(self, **row: Any) -> ToolResult:
        """Begin a rollout: open a session for a task, and close the last one in the background.

        Args:
            row: `task_index`, and `split` where it is not that of the spec; or a row of the dataset.

        Returns:
            The prompt.

        Raises:
            SessionError: No session could be opened, or the environment failed.
            SchemaDrift: The environment's tools no longer fit the adapter.
        """
        self.calls = []
        return self.adapter.reset(**row) or ""

    async def areset(self, **row: Any) -> ToolResult:
        """The same as `reset`, while other coroutines go on."""
        async with self._turn:
            ahead = self.adapter._open_ahead(**row)
            try:
                if ahead is not None and ahead.session is not None:
                    await _until_done(ahead.session.opening)
                return self.reset(**row)
            finally:
                if ahead is not None:
                    ahead.close()  # where this was cancelled

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolResult:
        """Call a tool.

        Args:
            name: What the model calls it, which is its name on the wire.
            arguments: What the model wrote: an object, or its JSON.

        Returns:
            What the model is to be told: the result, or why there is none.
        """
        try:
            result = self._method(name)(self.adapter, **_object(arguments))
        except TOLD as error:
            return self._note_error(name, arguments, error)
        return self._note(name, arguments, result)

    async def acall(self, name: str, arguments: Mapping[str, Any] | str) -> ToolResult:
        """The same as `call`, while other coroutines go on. One that is cancelled ends the rollout."""
        async with self._turn:
            try:
                result = await self._acalled(self._method(name), _object(arguments))
            except TOLD as error:
                return self._note_error(name, arguments, error)
            except asyncio.CancelledError:
                self.close()  # nobody knows whether the call was carried out
                raise
            return self._note(name, arguments, result)

    def score(self, message: str = "") -> float | None:
        """End the rollout, and close its session in the background.

        Args:
            message: The last message of the model. An environment with a terminal tool is given it, unless the episode
                is over.

        Returns:
            The last reward that was not null; None where there is none.
        """
        self.adapter._raise_what_stops_training()
        if self.adapter._awaits_message():
            self.adapter._take_message(message)
        self.close()
        return self.adapter._score()

    async def ascore(self, message: str = "") -> float | None:
        """The same as `score`, while other coroutines go on. One that is cancelled ends the rollout, too."""
        async with self._turn:
            try:
                return await _in_thread(partial(self.score, message))
            finally:
                self.close()

    def close(self) -> None:
        """Close the session in the background. What the rollout has earned stays readable."""
        self.adapter._close_scored()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def _method(self, name: str) -> Callable[..., ToolResult]:
        if name not in self._tools:
            self.adapter._count("unknown_tool")
            raise UnknownTool(f"Tool {name} not found.")
        method: Callable[..., ToolResult] = self._tools[name]
        return method

    async def _acalled(self, method: Callable[..., ToolResult], arguments: Mapping[str, Any]) -> ToolResult:
        if method not in self._generated:  # one of a subclass, which may wait for results itself
            return await _in_thread(partial(method, self.adapter, **arguments))
        with self.adapter._sending():
            sent = cast("Sent", method(self.adapter, **arguments))
        if sent.answer is not None:
            await _until_done(sent.answer)
        return sent()

    def _note(self, name: str, arguments: Any, result: ToolResult) -> ToolResult:
        problem = result.reason if isinstance(result, Unanswered) else None
        self.calls.append(Call(name, arguments, result, problem))
        return result

    def _note_error(self, name: str, arguments: Any, error: Exception) -> str:
        told = str({"error": str(error)})  # how TRL's trainers tell it
        self.calls.append(Call(name, arguments, told, PROBLEMS[type(error)]))
        return told


class UnknownTool(ValueError):
    """The adapter has no tool of that name. The text is for the model."""


TOLD = (UnknownTool, WrongArguments, ToolError)
"""The errors that the model is told. All others are for whoever plays the rollout."""

PROBLEMS: Mapping[type[Exception], str] = {
    UnknownTool: "unknown_tool",
    WrongArguments: "wrong_arguments",
    ToolError: "tool_raised",
}


def _object(arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    """The arguments of a call, if they are an object with names for keys."""
    try:
        given = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        raise WrongArguments("The arguments of a call have to be a JSON object.") from None
    if not (isinstance(given, Mapping) and all(isinstance(key, str) for key in given)):
        raise WrongArguments("The arguments of a call have to be a JSON object.")
    return dict(given)


async def _until_done(future: Future[Any]) -> None:
    """Wait until a future is done, whatever it came to. Being cancelled does not cancel it."""
    waiting = asyncio.wrap_future(future)
    waiting.add_done_callback(lambda done: done.cancelled() or done.exception())  # or asyncio complains
    await asyncio.wait([waiting])


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="episode")


async def _in_thread(work: Callable[[], T]) -> T:
    """Do what blocks in a thread. Those of asyncio's own pool are few."""
    return await asyncio.get_running_loop().run_in_executor(_threads(), work)
