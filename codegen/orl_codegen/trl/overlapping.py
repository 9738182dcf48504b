"""TRL's `GRPOTrainer`, in which the resets of a batch overlap, and the tool calls that all rollouts make in a turn.

TRL resets the environments of a batch one after another. Where the prompt comes with the session, each `reset` of an
adapter waits until its session is open. So before TRL's step begins, the sessions of the whole batch begin to open, and
each `reset` then takes its own. An adapter whose prompt stands in the dataset waits for nothing, and is left alone.

TRL's tool loop makes the calls of a turn one after another, over all rollouts. It looks up the tools of each rollout in
a table, `_sync_tool_dicts`, and by the time it makes the first call of a turn, the calls of all rollouts stand in the
completions that it was given. So the tables are replaced while the loop runs: the first call of a turn starts the calls
of all rollouts, and each call then waits for its own outcome. Everything else in the loop is TRL's.

- The calls of one rollout are made one after another, in order; those of different rollouts run in parallel threads.
  Only calls in a row whose tools the spec calls concurrent are sent, in order, without waiting for each other.
- Only tools of adapters are called ahead. Where a rollout calls another synchronous tool in between, its later calls
  are made when TRL makes them, which keeps the order.
- A call is made ahead exactly as TRL is about to make it, so results, exceptions and counts stay the same. Calls that
  TRL answers itself are not made: unknown names, unsupported types, arguments that are not an object.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import groupby
from threading import Lock, Thread
from typing import Any

from orl_codegen.extras import require
from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.runtime.ahead import Ahead

logger = logging.getLogger(__name__)

Tool = Callable[..., Any]
Message = Mapping[str, Any]

AT_ONCE = 256  # rollouts of one process whose calls run at the same time

SERIAL = "%s do not overlap, and training goes on as with TRL's own GRPOTrainer: %s"


@functools.cache
def overlapping_trainer() -> type[Any]:
    """TRL's `GRPOTrainer` with overlapping resets and tool calls. It takes the same arguments."""
    require("trl", "GRPOTrainer")
    import trl

    for what, seam in (("Tool calls", "_tool_call_loop"), ("Resets", "_generate_and_score_completions")):
        if not hasattr(trl.GRPOTrainer, seam):
            logger.warning(SERIAL, what, f"TRL {trl.__version__} has no {seam}.")
    members = {"__doc__": overlapping_trainer.__doc__, "__module__": "orl_codegen.trl"}
    return type("GRPOTrainer", (OverlappingResets, OverlappingToolCalls, trl.GRPOTrainer), members)


class OverlappingResets:
    """What is added to TRL's trainer for resets."""

    environment_factories: Any
    _environment_pool: Any
    _multi_environment: bool
    _opens_ahead = True

    def _generate_and_score_completions(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        step: Callable[..., Any] = super()._generate_and_score_completions  # type: ignore[misc]
        opened: list[Ahead] = []
        try:
            if self._opens_ahead and self._can_open_ahead(inputs):
                self._open_ahead(inputs, opened)
            outcome = step(inputs, *args, **kwargs)
        finally:
            for ahead in opened:
                ahead.close()
        if not all(ahead.taken for ahead in opened):
            self._reset_in_turn("an adapter was not reset with the row that TRL had for it.")
        return outcome

    def _can_open_ahead(self, inputs: Any) -> bool:
        if getattr(self, "environment_factories", ()) is None:
            return False
        pools, several = getattr(self, "_environment_pool", None), getattr(self, "_multi_environment", None)
        if isinstance(inputs, list) and isinstance(pools, dict) and isinstance(several, bool):
            return True
        self._reset_in_turn("this version of TRL keeps its rows or its environments differently.")
        return False

    def _open_ahead(self, inputs: list[dict[str, Any]], opened: list[Ahead]) -> None:
        with suppress(Exception):  # TRL gets the same one in the same place, and resets nothing that comes later
            for environment, row in zip(self._environments_of(inputs), inputs, strict=True):
                if isinstance(environment, RolloutAdapter) and (ahead := environment._open_ahead(**row)):
                    opened.append(ahead)

    def _environments_of(self, inputs: list[dict[str, Any]]) -> list[Any]:
        """The environments that TRL will draw from its pools, which are filled up here as it would do itself."""
        names = [row.get("environment") if self._multi_environment else None for row in inputs]
        for name, count in Counter(names).items():
            pool, factory = self._environment_pool[name], self.environment_factories[name]
            pool.extend(factory() for _ in range(count - len(pool)))
        drawn = {name: iter(self._environment_pool[name]) for name in names}
        return [next(drawn[name]) for name in names]

    def _reset_in_turn(self, reason: str) -> None:
        self._opens_ahead = False
        logger.warning(SERIAL, "Resets", reason)


class OverlappingToolCalls:
    """What is added to TRL's trainer for tool calls."""

    _sync_tool_dicts: Any
    _overlaps = True

    def _tool_call_loop(self, *args: Any, **kwargs: Any) -> Any:
        loop: Callable[..., Any] = super()._tool_call_loop  # type: ignore[misc]
        calls = self._overlapping_calls(loop, args, kwargs) if self._overlaps else None
        if calls is None:
            return loop(*args, **kwargs)
        tables, self._sync_tool_dicts = self._sync_tool_dicts, calls.tables
        try:
            return loop(*args, **kwargs)
        finally:
            calls.stop()
            self._sync_tool_dicts = tables
            self._overlaps = calls.expected

    def _overlapping_calls(
        self, loop: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> OverlappingCalls | None:
        tables = getattr(self, "_sync_tool_dicts", None)
        completions = inspect.signature(loop).bind(*args, **kwargs).arguments.get("completions")
        if isinstance(tables, list) and isinstance(completions, list) and len(tables) == len(completions):
            return OverlappingCalls(tables, completions)
        self._overlaps = False
        logger.warning(
            SERIAL, "Tool calls", "this version of TRL keeps its completions or its tables of tools differently."
        )
        return None


class OverlappingCalls:
    """The calls of one run of TRL's tool loop.

    Args:
        tables: The synchronous tools of each rollout, by name.
        completions: The messages of each rollout, to which TRL appends in place.

    Attributes:
        tables: The same tables, with the tools of adapters called ahead.
        expected: Whether TRL has made no call but those that its completions announced.
    """

    def __init__(self, tables: Sequence[Mapping[str, Tool]], completions: Sequence[Sequence[Message]]) -> None:
        self._own_tables, self._completions = tables, completions
        self._calls: list[deque[CallAhead]] = [deque() for _ in completions]  # started, and not yet collected
        self._begun: list[Message | None] = [None] * len(completions)  # the messages whose calls were started last
        self._threads: list[Thread] = []
        self._starting = Lock()
        self._stopped = False
        self.expected = True
        self.tables = [
            {name: self._ahead(rollout, name, tool) if _is_adapters(tool) else tool for name, tool in table.items()}
            for rollout, table in enumerate(tables)
        ]

    def stop(self) -> None:
        """Start no more calls. Those under way end at the latest with their sessions."""
        self._stopped = True

    def _ahead(self, rollout: int, name: str, tool: Tool) -> Tool:
        @functools.wraps(tool)
        def collect(**arguments: Any) -> Any:
            outcome = self._collected(rollout, name, arguments)
            return tool(**arguments) if outcome is None else outcome.result()

        return collect

    def _collected(self, rollout: int, name: str, arguments: dict[str, Any]) -> Future[Any] | None:
        """The outcome of the call that TRL is making; None if it was not made ahead."""
        calls = self._calls[rollout]
        with self._starting:
            if not calls:
                self._start(rollout)
            if calls and (calls[0].name, calls[0].arguments) != (name, arguments):
                self._give_up(rollout)
            outcome = calls.popleft().outcome if calls else None
        return None if outcome is None or outcome.cancelled() else outcome

    def _start(self, first: int) -> None:
        """Start the calls of this turn. Those of rollouts before the `first` were made."""
        turn: deque[deque[CallAhead]] = deque()
        with suppress(Exception):  # a message that ends TRL's loop: it calls nothing that comes later
            for rollout in range(first, len(self._completions)):
                message = self._completions[rollout][-1]
                # TRL drops results that are too long. The calls then stand last again, although they were made.
                if message is not self._begun[rollout] and not self._stopped:
                    self._begun[rollout] = message
                    if self._calls[rollout]:
                        self._give_up(rollout)
                    turn.append(self._calls[rollout])
                    self._calls[rollout].extend(calls_ahead(message, self._own_tables[rollout]))
        self._make([[*calls] for calls in turn if calls])

    def _make(self, rollouts: list[list[CallAhead]]) -> None:
        waiting = deque(rollouts)

        def work() -> None:
            with suppress(IndexError):
                while True:
                    self._make_in_order(waiting.popleft())

        # Daemons: a call that takes an hour must not keep a process from ending on Ctrl-C.
        threads = [Thread(target=work, name="orl-codegen-tools", daemon=True) for _ in rollouts[:AT_ONCE]]
        for thread in threads:
            thread.start()
        self._threads = [*filter(Thread.is_alive, self._threads), *threads]

    def _make_in_order(self, calls: list[CallAhead]) -> None:
        for together in in_order(calls):
            if self._stopped or not make(together):
                break
        for call in calls:
            call.outcome.cancel()  # without effect on those that were made

    def _give_up(self, rollout: int) -> None:
        """TRL makes other calls than were expected of it: let it make the rest alone."""
        self._stopped = True
        for thread in self._threads:
            thread.join()
        self._calls[rollout].clear()
        if self.expected:
            self.expected = False
            logger.warning(SERIAL, "Tool calls", "TRL made a call that its completions had not announced.")


class CallAhead:
    """One tool call.

    Attributes:
        name: The name by which the model calls the tool.
        arguments: Its arguments, as TRL passes them.
        adapter: The adapter whose tool it is.
        outcome: What the tool returns or raises.
    """

    def __init__(self, name: str, tool: Tool, arguments: dict[str, Any]) -> None:
        self.name, self.arguments = name, arguments
        self.adapter: RolloutAdapter = tool.__self__  # type: ignore[attr-defined]
        self.outcome: Future[Any] = Future()
        self._tool = tool

    @property
    def concurrent(self) -> bool:
        """Whether it may run at the same time as other such calls of its rollout."""
        return self.name in self.adapter._concurrent_tools

    def make(self) -> None:
        """Call the tool, and wait for what comes of it."""
        self._settle(lambda: self._tool(**self.arguments))

    def send(self) -> Callable[[], None]:
        """Send the call, inside `_sending` of its adapter. The function that is returned waits for what comes of it."""
        try:
            receive = self._tool(**self.arguments)
        except BaseException as error:
            self.outcome.set_exception(error)
            return lambda: None
        return lambda: self._settle(receive)

    @property
    def ends_the_loop(self) -> bool:
        """Whether TRL's loop ends with this call: it catches each `Exception`, and no more."""
        return not isinstance(self.outcome.exception(), Exception | None)

    def _settle(self, work: Callable[[], Any]) -> None:
        try:
            self.outcome.set_result(work())
        except BaseException as error:
            self.outcome.set_exception(error)


def in_order(calls: Iterable[CallAhead]) -> Iterator[list[CallAhead]]:
    """The calls of one rollout, and which of them are sent together: those in a row that are concurrent."""
    for concurrent, row in groupby(calls, key=lambda call: call.concurrent):
        together = [*row]
        yield from [together] if concurrent else ([call] for call in together)


def make(together: list[CallAhead]) -> bool:
    """Make calls that are sent together. Returns whether TRL's loop goes on after them."""
    if len(together) == 1:
        together[0].make()
    else:
        with together[0].adapter._sending():
            for receive in [call.send() for call in together]:
                receive()
    return not any(call.ends_the_loop for call in together)


def calls_ahead(message: Message, table: Mapping[str, Tool]) -> Iterator[CallAhead]:
    """The calls of a message that can be made ahead, read as TRL's loop reads them. What it raises ends that loop."""
    for tool_call in message.get("tool_calls") or ():
        if tool_call["type"] != "function":
            continue
        function = tool_call["function"]
        name = function["name"]
        with suppress(Exception):  # which TRL answers with an error
            tool, arguments = table[name], dict(**function["arguments"])
            if not _is_adapters(tool):
                return
            yield CallAhead(name, tool, arguments)


def _is_adapters(tool: Tool) -> bool:
    return isinstance(getattr(tool, "__self__", None), RolloutAdapter)
