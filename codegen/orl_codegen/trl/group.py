"""Group scoring as a reward function: the environment scores the rollouts of one task against each other."""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from orl_codegen.errors import RolloutError
from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.runtime.plan import Plan
from orl_codegen.trl.rewards import settled

logger = logging.getLogger(__name__)

JSON = dict[str, Any]

AT_ONCE = 16  # groups that are scored at the same time


class GroupReward:
    """A reward function that asks the environment to score each task's rollouts as one group. It pickles.

    A group is scored in the session of one of its rollouts; where those are out of reach, as in `AsyncGRPOTrainer`, in
    a session of its own.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.__name__ = "group_reward"  # what TRL logs it as

    def __call__(
        self,
        *,
        completions: Sequence[Any],
        task_index: Sequence[int],
        split: Sequence[str | None] | None = None,
        environments: Sequence[Any] | None = None,
        **_: Any,
    ) -> list[float | None]:
        """The scores of the completions; None for those of a group that could not be scored.

        A group is a run of rows with one task. TRL passes nothing that tells two groups of a task apart, so they count
        as one where a batch has them side by side.
        """
        tasks = [self._plan.task(*task) for task in zip(task_index, split or [None] * len(task_index), strict=True)]
        groups = [[row for row, _ in run] for _, run in itertools.groupby(enumerate(tasks), lambda pair: pair[1])]
        # Rollouts of `AsyncGRPOTrainer` stay with the other reward function, which it calls at the same time.
        rollouts = settled(completions, environments or ()) or [None] * len(completions)
        rewards: list[float | None] = [None] * len(completions)

        def score(rows: list[int]) -> None:
            candidates = [{"messages": transcript(completions[row])} for row in rows]
            scored = self._score(tasks[rows[0]], candidates, [rollouts[row] for row in rows])
            for row, reward in zip(rows, scored, strict=True):
                rewards[row] = reward

        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(score, groups))
        return rewards

    def _score(self, task: JSON, candidates: list[JSON], rollouts: list[RolloutAdapter | None]) -> list[float | None]:
        kept = [one for one in rollouts if one is not None and one._plan.keep_for_group and one.failure is None]
        usable = [one._session for one in kept if one._session is not None and not one._session.closed]
        session = usable[0] if usable else self._plan.open(task)
        try:
            return session.score_group(candidates)
        except RolloutError as error:
            logger.warning("The rollouts of task %s could not be scored as a group: %s", task["index"], error)
            return [None] * len(candidates)
        finally:
            session.close_soon()
            for rollout in rollouts:
                if rollout is not None:
                    rollout._close_scored()


def transcript(completion: Any) -> list[JSON]:
    """TRL's completion as messages of the wire: the results of tools are blocks of a user's message there."""
    if isinstance(completion, str):
        return [{"role": "assistant", "blocks": [_text(completion)]}]
    calls: list[str] = []  # ids of the calls that have no result yet
    return [_message(message, number, calls) for number, message in enumerate(completion)]


def _message(message: JSON, number: int, calls: list[str]) -> JSON:
    text = message.get("content") or ""
    blocks = [_text(text)] if isinstance(text, str) else [_text(part.get("text") or "[image]") for part in text]
    if message.get("role") == "tool":
        call = calls.pop(0) if calls else ""
        return {"role": "user", "blocks": [{"type": "tool_result", "tool_call_id": call, "blocks": blocks}]}
    for position, call in enumerate(message.get("tool_calls") or ()):
        calls.append(f"{number}-{position}")
        blocks += _call(calls[-1], call.get("function") or {})
    return {"role": message.get("role") or "assistant", "blocks": blocks}


def _call(call: str, function: JSON) -> list[JSON]:
    """A call as a block. Arguments that are not an object, which a model may write, become text before it."""
    arguments = written = function.get("arguments")
    if isinstance(written, str):
        with contextlib.suppress(ValueError, RecursionError):
            arguments = json.loads(written)
    odd = not isinstance(arguments, dict) and written is not None
    block = {"type": "tool_call", "id": call, "name": str(function.get("name"))}
    return [
        *([_text(str(written))] if odd else []),
        block | {"input": arguments if isinstance(arguments, dict) else {}},
    ]


def _text(text: str) -> JSON:
    return {"type": "text", "text": text}
