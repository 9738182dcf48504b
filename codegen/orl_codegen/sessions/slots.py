"""At most so many sessions at a time: they open in the order in which they were asked for, each when a slot is free.

A trainer that plays its rollouts in lock-step can wait for a slot that it would have to free itself. In `GRPOTrainer`,
the main thread, and the threads that it waits for, go from one rollout to the next, and sessions end only with their
episodes or with the step. That is found out, and ends the waiting.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from orl_codegen.errors import SessionLimitError
from orl_codegen.ors import limits

LOOK_EVERY = 0.2  # seconds between two looks at whether anything can still move; it takes two to be sure

OUR_LOOP = "orl-codegen"  # the name of the thread with the event loop
OUR_WORKERS = "orl-codegen-"  # what the names of threads begin with that the main thread waits for


class Slot:
    """One session's place among those of its `Slots`, and the threads that use that session.

    Args:
        shown: The environment, for errors.

    Attributes:
        player: The thread that has used the session last, and is expected to go on with it.
        users: The threads that wait for it now.
        at_rest: Whether it is open, and not about to be closed.
    """

    def __init__(self, shown: str) -> None:
        self.shown = shown
        thread = threading.current_thread()
        on_loop = thread.name == OUR_LOOP  # a coroutine opens the session, and the main thread waits for that coroutine
        self.player = threading.main_thread() if on_loop else thread
        self.users = [self.player] if on_loop else []
        self.at_rest = False

    @contextmanager
    def used(self) -> Iterator[None]:
        """While this thread waits for the session."""
        thread = self.player = threading.current_thread()
        self.users.append(thread)
        try:
            yield
        finally:
            self.users.remove(thread)

    @property
    def in_lockstep(self) -> bool:
        """Whether the main thread goes on with the session, or one that it waits for."""
        return self.player is threading.main_thread() or self.player.name.startswith(OUR_WORKERS)

    @property
    def stands_still(self) -> bool:
        """Whether the session stays as it is until the main thread goes on with it, or one that it waits for."""
        return self.at_rest and self.in_lockstep and not self.users


class Slots:
    """The slots of one spec in this process; to be used on the event loop. They pickle, as free ones, and a forked
    child begins with free ones, too.

    Args:
        limit: How many sessions may be on the server, counting those that are being created or closed.
    """

    def __init__(self, limit: float = math.inf) -> None:
        self.limit = limit
        self._loop: asyncio.AbstractEventLoop | None = None
        self._taken: set[Slot] = set()
        self._queue: dict[Slot, asyncio.Future[None]] = {}
        self._watching: asyncio.Future[None] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.limit,)

    async def take(self, slot: Slot) -> None:
        """Wait until a slot is free, behind all that have asked before.

        Raises:
            SessionLimitError: None can become free, or none has within `limits.SLOT_WITHIN`.
        """
        self._begin_on(asyncio.get_running_loop())
        turn = self._queue[slot] = asyncio.get_running_loop().create_future()
        self._hand_out()
        if turn.done():
            return
        self._watch()
        try:
            await asyncio.wait_for(turn, limits.SLOT_WITHIN)
        except TimeoutError:
            self.give_back(slot)
            raise self._exhausted(slot, f"none has become free for {limits.SLOT_WITHIN:g} seconds") from None
        except BaseException:
            self.give_back(slot)  # which it may have been given at that very moment
            raise

    def give_back(self, slot: Slot) -> None:
        """Let go of a slot, or of the place in the queue. May be called more than once."""
        self._queue.pop(slot, None)
        self._taken.discard(slot)
        self._hand_out()

    def _hand_out(self) -> None:
        while self._queue and len(self._taken) < self.limit:
            first = next(iter(self._queue))
            turn = self._queue.pop(first)
            if not turn.done():
                self._taken.add(first)
                turn.set_result(None)

    def _begin_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin anew in a forked child, whose loop is another one: what its parent has open does not count there."""
        if self._loop is not loop:
            self._loop, self._taken, self._queue, self._watching = loop, set(), {}, None

    def _watch(self) -> None:
        _in_use.add(self)
        if self._watching is None or self._watching.done():
            self._watching = asyncio.ensure_future(self._look_for_deadlock())

    async def _look_for_deadlock(self) -> None:
        """Give up what waits in vain. Two looks, because a thread may be on its way to its next call during one."""
        stood_still = False
        while self._queue:
            await asyncio.sleep(LOOK_EVERY)
            stands_still = _lockstep_waits(asyncio.get_running_loop())
            if stood_still and stands_still:
                self._give_up()
            stood_still = stands_still

    def _give_up(self) -> None:
        reason = "they are held by rollouts that go on only when this one does"
        for slot, turn in self._queue.items():
            if slot.in_lockstep and not turn.done():
                turn.set_exception(self._exhausted(slot, reason))

    def _exhausted(self, slot: Slot, reason: str) -> SessionLimitError:
        playing = len(self._taken | self._queue.keys() | {slot})
        return SessionLimitError(
            f"No session of {slot.shown} could be opened: max_sessions={self.limit} are open, and {reason}. "
            f"{playing} rollouts are in play so far. Set max_sessions to at least the rollouts that a process plays at "
            "once: per_device_train_batch_size x steps_per_generation."
        )

    def stand_still(self) -> bool:
        """Whether no slot becomes free until the main thread goes on, or one that it waits for."""
        return all(slot.stands_still for slot in self._taken)

    def waiting_threads(self, loop: asyncio.AbstractEventLoop) -> set[threading.Thread]:
        """The threads that wait for sessions without a slot; none of them if they are another process's."""
        return {thread for slot in self._queue for thread in list(slot.users)} if self._loop is loop else set()


_in_use: WeakSet[Slots] = WeakSet()


def _lockstep_waits(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether the main thread waits for slots that become free only when it goes on. Where it waits for other threads,
    these have to wait for such slots, all of them."""
    waiting = {slots: threads for slots in list(_in_use) if (threads := slots.waiting_threads(loop))}
    threads = set().union(*waiting.values())
    workers = {thread for thread in threading.enumerate() if thread.name.startswith(OUR_WORKERS)}
    waits = threading.main_thread() in threads or bool(workers)
    return waits and workers <= threads and all(slots.stand_still() for slots in waiting)
