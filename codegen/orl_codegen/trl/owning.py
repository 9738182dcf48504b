"""Adapters that own their reward: what a factory makes in a process that it was sent to.

`AsyncGRPOTrainer` asks an adapter for its reward first. The reward functions come later, with prompts and completions
but without adapters, which play other rollouts by then. So a rollout that has yet to hand the model's last message to a
terminal tool is left behind on its prompt: TRL passes on the very string that `reset` returned, and the reward function
finds the rollout there. What it earns counts there, and `get_reward` gives None for it.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.runtime.vocabulary import ToolResult


class Prompt(str):
    """A prompt that a rollout can be left on. TRL appends it to the text of a message, which gives a `Prompt` again.

    Attributes:
        rollouts: The rollout that was left, if any.
    """

    rollouts: list[RolloutAdapter]

    def __radd__(self, text: str) -> Prompt:
        longer = Prompt(str.__add__(text, self))
        longer.rollouts = self.rollouts
        return longer

    def __copy__(self) -> Prompt:
        return self  # a text does not change, and what `__reduce__` gives would have lost the rollout

    def __deepcopy__(self, memo: dict[int, Any]) -> Prompt:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


def left_behind(prompt: Any) -> RolloutAdapter | None:
    """The rollout that was left on a prompt, given as TRL's messages."""
    content = prompt[-1].get("content") if isinstance(prompt, list) and prompt else None
    texts = [part.get("text") for part in content] if isinstance(content, list) else [content]
    rollouts = [rollout for text in texts if isinstance(text, Prompt) for rollout in text.rollouts]
    return rollouts[0] if rollouts else None


class _Owning(RolloutAdapter):
    """What `owning` adds to an adapter."""

    _left: list[RolloutAdapter]

    def reset(self, /, **row: Any) -> ToolResult | None:
        """Open a session, as the adapter does, and return its prompt in a form that the rollout can be left on."""
        self._left = []
        prompt = super().reset(**row)
        return prompt if self._environment.terminal_tool is None else self._marked(prompt)

    def get_reward(self) -> float | None:
        """The reward of the rollout that has just ended, or None where it has none, or not yet."""
        self._raise_what_stops_training()
        if not self._awaits_message():
            self._close()
            return self._score()
        rollout = copy.copy(self)
        rollout.__class__ = self._plan.adapter  # type: ignore[assignment]
        self._session = None  # it is the other's now, and closes with it
        self._left.append(rollout)
        return None

    def _marked(self, prompt: ToolResult | None) -> ToolResult:
        text = Prompt(prompt if isinstance(prompt, str) else "")
        text.rollouts = self._left
        return [*prompt, {"type": "text", "text": text}] if isinstance(prompt, list) else text


@functools.cache
def owning(adapter: type[RolloutAdapter]) -> type[RolloutAdapter]:
    """A class like `adapter` that gives its reward itself. TRL names the reward after the class."""
    return type(adapter.__name__, (_Owning, adapter), {"__doc__": adapter.__doc__, "__module__": adapter.__module__})
