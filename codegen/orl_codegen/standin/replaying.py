"""An environment that was recorded: what passed then is answered again, and nothing else."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from orl_codegen.schema.json_values import canonical
from orl_codegen.standin.cassette import Cassette, Exchange, RecordedSession, request_key
from orl_codegen.standin.world import FINISHED, JSON, NOT_RECORDED, NotServed, Raised, refused

_AGAIN = "The cassette does not hold it. Record a run that asks for it: orl-codegen record URL --cassette FILE."


class Replayed:
    """The environment in a cassette."""

    def __init__(self, cassette: Cassette) -> None:
        self.snapshot = cassette.snapshot
        self._tasks = cassette.tasks
        self._sessions: dict[str, list[RecordedSession]] = defaultdict(list)
        self._played: Counter[str] = Counter()
        for session in cassette.sessions:
            self._sessions[canonical(session.task)].append(session)

    def num_tasks(self, split: str) -> int:
        """What the server said; otherwise up to the last task that was recorded."""
        recorded = max((index + 1 for of, index in self._tasks if of == split), default=0)
        return self.snapshot.num_tasks.get(split, recorded)

    def task(self, split: str, index: int) -> JSON:
        """Its spec as it was recorded."""
        if (split, index) not in self._tasks:
            raise NotServed(404, f"Task {index} of the split {split!r} was not recorded. {_AGAIN}")
        return self._tasks[split, index]

    def play(self, task_spec: JSON) -> Replay:
        """A session. The n-th of a task begins with the n-th recording, and after the last one with the first again."""
        key = canonical(task_spec)
        recorded = self._sessions.get(key)
        if not recorded:
            raise NotServed(404, f"No session of this task was recorded. {_AGAIN}")
        first = self._played[key] % len(recorded)
        self._played[key] += 1
        return Replay(task_spec, [*recorded[first:], *recorded[:first]])


class Replay:
    """One session of it.

    Args:
        task: The spec of its task.
        recorded: The recordings of the task, the one that is preferred first.
    """

    def __init__(self, task: JSON, recorded: list[RecordedSession]) -> None:
        self.task = task
        self._recorded = recorded
        self._going = recorded  # those that went like this session so far
        self._position = 0
        self._finished = False

    def ask(self, route: str) -> Any:
        """The recorded answer; that of another session of the task where nobody asked in this one."""
        for session in (*self._going, *self._recorded):
            if route in session.answers:
                return session.answers[route]
        raise NotServed(404, f"In this task, nobody asked for {route} while it was recorded. {_AGAIN}")

    def call(self, name: str, input: JSON) -> JSON | Raised:
        """The recorded result, if a recording goes on like this."""
        found = self._next("call", {"name": name, "input": input})
        if found is not None:
            self._finished = self._finished or _ends(found.result)
            return found.result
        if self._finished:
            return refused(FINISHED.format(name=name), "episode_finished")
        said = f"{name} was not called like this, as call {self._position + 1} of this task, while it was recorded."
        return refused(f"{said} {_AGAIN}", NOT_RECORDED)

    def score_group(self, candidates: list[Any]) -> JSON | Raised:
        """The recorded scores, if a recording goes on like this."""
        found = self._next("score_group", {"candidates": candidates})
        return Raised(f"This group was not scored while it was recorded. {_AGAIN}") if found is None else found.result

    def _next(self, route: str, body: JSON) -> Exchange | None:
        at, wanted = self._position, request_key(route, body)
        going = [each for each in self._going if len(each.exchanges) > at and each.exchanges[at].key == wanted]
        if not going:
            return None
        self._going, self._position = going, at + 1
        return going[0].exchanges[at]


def _ends(result: JSON | Raised) -> bool:
    return not isinstance(result, Raised) and (result.get("output") or {}).get("finished") is True
