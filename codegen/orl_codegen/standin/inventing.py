"""An environment of which only the snapshot is known: its tasks, prompts and answers are made up.

Everything follows from the snapshot, the seed and the script of rewards, so the same session goes the same way on every
machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from orl_codegen.generator.snapshot import Snapshot
from orl_codegen.standin.inputs import Inputs
from orl_codegen.standin.scoring import Scoring
from orl_codegen.standin.world import FINISHED, JSON, Raised, listing, refused, split_names

UNCOUNTED = 8
"""Tasks of a split whose number the snapshot does not state."""

SHOWN_INPUT = 1000
"""Characters of an input that an answer repeats."""


class Invented:
    """An environment made up from a snapshot.

    Args:
        snapshot: What it offers.
        scoring: The rewards, and the ends of episodes.
    """

    def __init__(self, snapshot: Snapshot, scoring: Scoring) -> None:
        self.snapshot = snapshot
        self.scoring = scoring
        self.inputs = Inputs({name: offer.specs for name, offer in snapshot.offers.items()}, snapshot.terminal_tool)

    def num_tasks(self, split: str) -> int:
        """What the snapshot states; at least as many as were probed."""
        known = self.snapshot.num_tasks.get(split)
        probed = self.snapshot.probed if split == self.snapshot.split else ()
        return known if known is not None else max(UNCOUNTED, *(index + 1 for index in probed), 0)

    def task(self, split: str, index: int) -> JSON:
        """Nothing but its id, which is all that is known of it."""
        return {"id": f"{split}-{index}"}

    def play(self, task_spec: JSON) -> Improvised:
        """A session of any task, also of one that is not from here."""
        return Improvised(self, task_spec)

    def index_of(self, task_spec: Mapping[str, Any]) -> int:
        """The index in the id of a task; that of the first task if the id is not from here."""
        split, _, index = str(task_spec.get("id")).rpartition("-")
        return int(index) if split in split_names(self.snapshot) and index.isascii() and index.isdigit() else 0


class Improvised:
    """One session of it."""

    def __init__(self, world: Invented, task_spec: JSON) -> None:
        self.task = task_spec
        self._world = world
        self._id = str(task_spec.get("id"))
        self._carried_out = 0
        self._finished = False

    def ask(self, route: str) -> Any:
        """The prompt says that this is a stand-in, so that nobody takes its text for the environment's."""
        snapshot = self._world.snapshot
        if route == "task_tools":
            return listing(snapshot, self._world.index_of(self.task))
        text = f"Task {self._id} of a stand-in for {snapshot.variant}. No environment is behind it: call any tool."
        blocks = [{"text": text, "detail": None, "type": "text"}]
        return blocks if route == "prompt" else [{"role": "user", "blocks": blocks, "detail": None}]

    def call(self, name: str, input: JSON) -> JSON | Raised:
        """Refused where the SDK's server would refuse it, in the same order; otherwise what was called with what."""
        if name not in self._world.inputs:
            return refused(f"{name!r} is not a valid tool", "not_found")
        if self._finished:
            return refused(FINISHED.format(name=name), "episode_finished")
        if problems := self._world.inputs.problems(name, input):
            return refused(f"Tool input validation error: {problems}", "input_validation")
        terminal = self._world.snapshot.terminal_tool
        graded = None if terminal is None else name == terminal["name"]
        reward, self._finished = self._world.scoring.outcome(self._id, self._carried_out, [name, input], graded)
        self._carried_out += 1
        text = f"Stand-in: {name} was called with {_shown(input)}."
        blocks = [{"text": text, "detail": None, "type": "text"}]
        output = {"blocks": blocks, "metadata": None, "reward": reward, "finished": self._finished}
        return {"ok": True, "output": output}

    def score_group(self, candidates: list[Any]) -> JSON | Raised:
        """A reward for each candidate, drawn from its text."""
        rewards = [self._world.scoring.drawn(self._id, candidate) for candidate in candidates]
        return {"scores": [{"reward": reward, "metadata": None} for reward in rewards]}


def _shown(input: JSON) -> str:
    text = json.dumps(input, ensure_ascii=False)
    return text if len(text) <= SHOWN_INPUT else text[:SHOWN_INPUT] + "…"
