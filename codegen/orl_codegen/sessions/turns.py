"""A lock that is handed on in the order in which it was asked for, which those of `threading` do not promise."""

from __future__ import annotations

from collections import deque
from threading import Lock, get_ident

from orl_codegen.endings import begin_anew_in_children


class Turns:
    """`with turns:` waits for everybody who came before. Not to be entered twice by one thread."""

    def __init__(self) -> None:
        self._mutex = Lock()
        self._waiting: deque[Lock] = deque()  # the first one has the turn
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
        mine = Lock()
        try:
            with self._mutex:
                if self._waiting:
                    mine.acquire()
                self._waiting.append(mine)
            mine.acquire()
        except BaseException:  # Ctrl-C: whoever comes later must not wait for this one
            self._leave(mine)
            raise
        self._holder = get_ident()

    def __exit__(self, *_: object) -> None:
        self._holder = None
        self._leave(self._waiting[0])

    def _leave(self, mine: Lock) -> None:
        with self._mutex:
            if mine in self._waiting:
                had_the_turn = self._waiting[0] is mine
                self._waiting.remove(mine)
                if had_the_turn and self._waiting:
                    self._waiting[0].release()
