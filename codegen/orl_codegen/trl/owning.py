"""Adapters that own their reward: what a factory makes in a process that it was sent to.

`AsyncGRPOTrainer` plays rollouts in a process of its own, and ends each of them like this:

1. it asks the adapter for its reward (`get_reward`), without the completion;
2. it gives the adapter to the next rollout;
3. later it calls the reward functions with prompts and completions, but without adapters.

A terminal tool takes the model's last message, which only step 3 has, when the adapter plays something else already. So
in step 1 a rollout that still waits for that message is copied, and left on its prompt: TRL hands on the very string
that `reset` returned, through lists and concatenation, until it reaches the reward function. The string is the only
thing that belongs to one rollout and passes through TRL unchanged; a key in its text would be shown to the model. What
the rollout earns counts in step 3, and step 1 gives None for it.
"""

from __future__ import annotations

import functools
from typing import Any

from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.runtime.vocabulary import ToolResult


class MarkedPrompt(str):
    """A prompt that a rollout can be left on. TRL appends it to the text of a message, which gives a marked prompt
    again.

    Attributes:
        rollouts: The rollout that was left, if any.
    """

    rollouts: list[RolloutAdapter]

    def __radd__(self, text: str) -> MarkedPrompt:
        longer = MarkedPrompt(str.__add__(text, self))
        longer.rollouts = self.rollouts
        return longer

    def __copy__(self) -> MarkedPrompt:
        return self  # a text does not change, and what `__reduce__` gives would have lost the rollout

    def __deepcopy__(self, memo: dict[int, Any]) -> MarkedPrompt:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


def left_behind(prompt: Any) -> RolloutAdapter | None:
    """The rollout that was left on a prompt, given as TRL's messages."""
    content = prompt[-1].get("content") if isinstance(prompt, list) and prompt else None
    texts = [part.get("text") for part in content] if isinstance(content, list) else [content]
    rollouts = [rollout for text in texts if isinstance(text, MarkedPrompt) for rollout in text.rollouts]
    return rollouts[0] if rollouts else None


class _Owning(RolloutAdapter):
    """What `owning` adds to an adapter."""

    _adapter: type[RolloutAdapter]
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
            self._close_scored()
            return self._score()
        self._left.append(self._handed_over())
        return None

    def _handed_over(self) -> RolloutAdapter:
        """This rollout, with its session, as an adapter that does not own its reward."""
        rollout = self._adapter.__new__(self._adapter)
        vars(rollout).update(vars(self))
        self._session, self._scored = None, True
        return rollout

    def _marked(self, prompt: ToolResult | None) -> ToolResult:
        text = MarkedPrompt(prompt if isinstance(prompt, str) else "")
        text.rollouts = self._left
        return [*prompt, {"type": "text", "text": text}] if isinstance(prompt, list) else text


@functools.cache
def owning(adapter: type[RolloutAdapter]) -> type[RolloutAdapter]:
    """A class like `adapter` that gives its reward itself. TRL names the reward after the class."""
    members = {"__doc__": adapter.__doc__, "__module__": adapter.__module__, "_adapter": adapter}
    return type(adapter.__name__, (_Owning, adapter), members)
