"""2,048 resets: after calls and without any, after failures, while the session before is still opening or closing."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from orl_codegen.runtime.adapter import UNAVAILABLE
from tests.reliability.figures import Figure
from tests.reliability.load.bench import Bench
from tests.reliability.load.readings import becomes, reading
from tests.reliability.load.rollouts import play
from tests.reliability.load.scripts import Judge, Script, outcome
from tests.reliability.load.words import BROKEN_SETUP, prompt_of

RESETS, ADAPTERS, MAX_SESSIONS = 2048, 32, 8  # sessions of each of the two servers
WARM = 4  # resets of each adapter after which nothing may grow any more
ROUND = 1000
"""The first round of this part: no call has the name of one in another part."""


def resets(bench: Bench) -> Iterator[Figure]:
    """Reset 32 adapters in as many threads, with room for half of their sessions."""
    tasks = range(ADAPTERS if bench.share >= 0.1 else MAX_SESSIONS)
    each = max(8, round(RESETS * bench.share) // len(tasks))
    specs = bench.specs(max_sessions=MAX_SESSIONS, prompts="dataset", indices=[*tasks], on_reset_failure="unscored")
    players = [Player(specs[task % 2], specs[task % 2].rows[task], bench.seed) for task in tasks]
    for server in bench.servers:
        server.books()  # the most sessions at a time are counted from here
    with ThreadPoolExecutor(len(players)) as pool:
        list(pool.map(lambda player: player.play(0, WARM), players))
        becomes(0, bench.live)
        warm = reading()
        list(pool.map(lambda player: player.play(WARM, each), players))
    left, last, books = becomes(0, bench.live), reading(), [server.books() for server in bench.servers]
    judge = Judge()
    for player in players:
        judge.add(player.judge)
    judge.audit(*books, rounds=range(ROUND, ROUND + each + 1))
    grown = warm.growth(last) if bench.share >= 0.1 else {}
    judge.faults += [f"{name} grew by {by}" for name, by in grown.items()]
    peak = max(book.peak for book in books)
    yield Figure(
        f"{sum(player.made for player in players)} resets of {len(players)} adapters, max_sessions={MAX_SESSIONS}",
        f"{len(judge.faults)} wrong, {left} sessions left, at most {peak} at a time",
        not judge.faults and left == 0 and peak <= MAX_SESSIONS,
        tuple(f"{fault}; {bench.command}" for fault in judge.faults),
    )


class Player:
    """Resets one adapter again and again, each time after something else.

    Attributes:
        made: How many resets it has made.
        judge: What was wrong, and what the books must hold.
    """

    def __init__(self, spec: Any, row: Mapping[str, Any], seed: int) -> None:
        self.made, self.judge = 0, Judge()
        self._adapter, self._row, self._task = spec.environment_factory(), row, row["task_index"]
        self._chosen = random.Random(f"{seed}/{self._task}")
        self._kinds: list[Callable[[int], None]] = [
            self._no_call, self._calls, self._raised, self._lost, self._opening, self._in_the_background,
            self._unavailable, self._taken_away,
        ]  # fmt: skip

    def play(self, first: int, last: int) -> None:
        """Make resets of each kind in turn, then of kinds at random, and close the session in the end."""
        for number in range(first, last):
            kind = self._kinds[number] if number < len(self._kinds) else self._chosen.choice(self._kinds)
            try:
                kind(ROUND + number)
            except Exception as error:
                self._fault(ROUND + number, f"{kind.__name__} raised {type(error).__name__}: {error}")
        self._adapter._close()

    def _fault(self, number: int, text: str) -> None:
        self.judge.faults.append(f"reset {number - ROUND} of task {self._task}: {text}")

    def _reset(self, number: int, row: Mapping[str, Any], expected: str | None) -> None:
        self.made += 1
        prompt = self._adapter.reset(**row)
        if prompt != expected:
            self._fault(number, f"the prompt {prompt!r}, not {expected!r}")

    def _play(self, number: int, *ends: str) -> None:
        script = Script(self._task, number, ends)
        self.made += 1
        self.judge.expect(script)
        self.judge.compare(script, *play(self._adapter, script), self._adapter)

    def _no_call(self, number: int) -> None:
        self._reset(number, {"task_index": self._task}, prompt_of(self._task))

    def _calls(self, number: int) -> None:
        self._play(number, "well", "cut", "well")

    def _raised(self, number: int) -> None:
        self._play(number, "raised", "well")

    def _lost(self, number: int) -> None:
        self._play(number, "well", "lost", "well")

    def _opening(self, number: int) -> None:
        """The next reset comes while the session of this one opens."""
        self._reset(number, self._row, None)

    def _in_the_background(self, number: int) -> None:
        """The first call waits until the session is open."""
        self._reset(number, self._row, None)
        script = Script(self._task, number, ("well", "well"))
        found = [outcome(partial(self._adapter.note, **script.arguments(call))) for call in range(2)]
        self.judge.expect(script)
        self.judge.compare(script, prompt_of(self._task), found, self._adapter)

    def _unavailable(self, number: int) -> None:
        """A session that cannot be opened leaves its rollout unscored."""
        self._reset(number, {"task_index": BROKEN_SETUP}, UNAVAILABLE)
        if "no sandbox for you" not in (self._adapter.failure or ""):
            self._fault(number, f"failure is {self._adapter.failure!r}")

    def _taken_away(self, number: int) -> None:
        """Another thread closes the session while a call may be under way."""
        script = Script(self._task, number, ("well",))
        self._reset(number, {"task_index": self._task}, prompt_of(self._task))
        self.judge.uncertain.add(script.call(0))
        closing = threading.Thread(target=self._adapter._session.close_soon)
        closing.start()
        found = outcome(partial(self._adapter.note, **script.arguments(0)))
        closing.join()
        if self._adapter.failure is None and found != next(script.outcomes()):
            self._fault(number, f"{found!r} without a failure")
