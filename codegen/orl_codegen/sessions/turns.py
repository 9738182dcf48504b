"""A lock that is handed on in the order in which it was asked for, which those of `threading` do not promise."""

from __future__ import annotations

from collections import deque
from threading import Lock, get_ident
from typing import NamedTuple

from orl_codegen.endings import begin_anew_in_children


class Standing(NamedTuple):
    """A thread's place among those that wait for their turn; `turn` is locked until it comes."""

    thread: int
    turn: Lock


class Turns:
    """`with turns:` waits for everybody who came before. Not to be entered twice by one thread.

    Ctrl-C may interrupt a thread anywhere, also in here, where it leaves its place behind. So a thread gives up the
    place that it had when it comes again: nobody else could.
    """

    def __init__(self) -> None:
        self._mutex = Lock()
        self._waiting: deque[Standing] = deque()  # the first one has the turn
        self._holder: int | None = None
        begin_anew_in_children(self)

    def forked(self) -> None:
        """Nobody waits or has the turn in a forked child, but the thread that has forked, if it had it."""
        self._mutex = Lock()
        self._waiting = deque([self._waiting[0]] if self.mine else ())
        self._holder = self._holder if self.mine else None

    @property
    def mine(self) -> bool:
        """Whether this thread has the turn."""
        return self._holder == get_ident()

    def __enter__(self) -> None:
        self._leave()
        mine = Standing(get_ident(), Lock())
        try:
            with self._mutex:
                if self._waiting:
                    mine.turn.acquire()
                self._waiting.append(mine)
            mine.turn.acquire()
            self._holder = mine.thread
        except BaseException:  # Ctrl-C: whoever comes later must not wait for this one
            self._leave()
            raise

    def __exit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        """Give up the place of this thread, if it has one, and see that the first one has the turn."""
        me = get_ident()
        with self._mutex:
            if self._holder == me:
                self._holder = None
            self._waiting = deque(place for place in self._waiting if place.thread != me)
            if self._waiting and self._waiting[0].turn.locked():  # has the turn, or had it already: that does no harm
                self._waiting[0].turn.release()
