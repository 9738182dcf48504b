"""Rollouts whose every result is known beforehand, and what to say where one is another."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from orl_codegen.errors import ToolError
from orl_codegen.runtime.adapter import FAILED
from tests.reliability.load.words import Call, answer_of, prompt_of, reward_of

ENDS = {"well": 0.9, "raised": 0.04, "refused": 0.032, "cut": 0.025, "lost": 0.003}
"""How calls end, and how often: a tenth of them fail in one way or another."""

BOOKS = ("carried_out", "raised", "refused")


@dataclass(frozen=True)
class Script:
    """The calls of a rollout.

    Attributes:
        task: Which task it plays.
        round: Which round it belongs to; no two rollouts have both in common.
        ends: How each call is to end.
    """

    task: int
    round: int
    ends: tuple[str, ...]

    def call(self, number: int) -> Call:
        """Which call that is."""
        return self.task, self.round, number

    def arguments(self, number: int) -> dict[str, Any]:
        """The arguments of a call."""
        return {"task": self.task, "round": self.round, "number": number, "ends": self.ends[number]}

    @property
    def lost_at(self) -> int:
        """Which call loses the session; the number of calls where none does."""
        return self.ends.index("lost") if "lost" in self.ends else len(self.ends)

    def outcomes(self) -> Iterator[str]:
        """What each call has to give."""
        noted = 0
        for number, ends in enumerate(self.ends):
            noted += ends != "refused"
            if number >= self.lost_at:
                yield FAILED
            elif ends in ("raised", "refused"):
                yield f"{ends} {self.call(number)}"
            else:
                yield answer_of(self.task, self.call(number), noted)

    def rewards(self) -> list[float | None]:
        """The reward of each call that was answered."""
        answered = enumerate(self.ends[: self.lost_at])
        return [reward_of(self.call(number)) if ends in ("well", "cut") else None for number, ends in answered]

    @property
    def reward(self) -> float | None:
        """The reward of the rollout."""
        return next((reward for reward in reversed(self.rewards()) if reward is not None), None)


def scripted(seed: int, task: int, round: int, calls: int) -> Script:
    """A script that is determined by its arguments."""
    chosen = random.Random(f"{seed}/{task}/{round}").choices([*ENDS], [*ENDS.values()], k=calls)
    return Script(task, round, tuple(chosen))


def outcome(call: Callable[[], Any]) -> str:
    """What a call gives: its result, or the text of the exception that TRL would tell the model."""
    try:
        return str(call())
    except ToolError as error:
        return f"ToolError: {error}"


def differs(found: str, expected: str) -> bool:
    """Whether an outcome is another one than expected. Errors have more text around them."""
    if expected.startswith(("raised", "refused")):
        return expected not in found or found.startswith("ToolError") != expected.startswith("raised")
    return found != expected


@dataclass
class Judge:
    """Compares rollouts with their scripts, and remembers what the servers must have seen of them.

    Attributes:
        faults: What was wrong, a line each.
        carried_out, raised, refused: What the books of the servers must hold in the end.
        uncertain: Calls whose connection was lost, or cut off by the closing of their session: they were carried out
            once, or not at all.
    """

    faults: list[str] = field(default_factory=list)
    carried_out: Counter[Call] = field(default_factory=Counter)
    raised: Counter[Call] = field(default_factory=Counter)
    refused: Counter[Call] = field(default_factory=Counter)
    uncertain: set[Call] = field(default_factory=set)

    def expect(self, script: Script) -> None:
        """Add the calls of a script to what the books must hold."""
        for number, ends in enumerate(script.ends[: script.lost_at + 1]):
            call = script.call(number)
            if ends == "lost":
                self.uncertain.add(call)
            elif ends == "refused":
                self.refused[call] += 1
            else:
                self.carried_out[call] += 1
                self.raised.update([call] * (ends == "raised"))

    def compare(self, script: Script, prompt: Any, found: Sequence[str], adapter: Any) -> None:
        """Compare what a rollout gave with its script."""
        where = f"round {script.round}, task {script.task}"
        if prompt != prompt_of(script.task):
            self.faults.append(f"{where}: the prompt {prompt!r}")
        for number, (got, expected) in enumerate(zip(found, script.outcomes(), strict=True)):
            if differs(got, expected):
                self.faults.append(f"{where}, call {number} ({script.ends[number]}): {got!r}, not {expected!r}")
        if adapter.rewards != script.rewards() or adapter.reward != script.reward:
            self.faults.append(f"{where}: the rewards {adapter.rewards}, not {script.rewards()}")
        if (adapter.failure is not None) != ("lost" in script.ends):
            self.faults.append(f"{where}: failure is {adapter.failure!r}")

    def add(self, other: Judge) -> None:
        """Take over what another judge has found."""
        self.faults += other.faults
        self.uncertain |= other.uncertain
        for name in BOOKS:
            getattr(self, name).update(getattr(other, name))

    def audit(self, *books: Any, rounds: range) -> None:
        """Compare what the books of the servers say of some rounds with what they must hold."""
        for name in BOOKS:
            found: Counter[Call] = sum((getattr(each, name) for each in books), Counter())
            expected = getattr(self, name)
            for call in (call for call in found.keys() | expected.keys() if call[1] in rounds):
                fits = found[call] <= 1 if call in self.uncertain else found[call] == expected[call]
                if not fits:
                    self.faults.append(f"call {call}: {found[call]} times {name}, not {expected[call]}")
