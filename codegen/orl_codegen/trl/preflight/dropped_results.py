"""Tool results that TRL did not show to the model.

Where the result of a call takes the completion beyond `max_completion_length`, or the conversation beyond the context
of the model, TRL takes the result out again and ends the rollout. Nothing says so; but the adapter has made more calls
than the completion has results, and the completion ends with a call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from orl_codegen.runtime.adapter import RolloutAdapter


def note_dropped(rollouts: Sequence[RolloutAdapter | None], completions: Sequence[Any]) -> None:
    """Have the preflight of each rollout say how many of its rollouts lost a result."""
    lost: dict[Any, list[bool]] = defaultdict(list)
    for rollout, completion in zip(rollouts, completions, strict=False):
        if rollout is not None and rollout._preflight is not None:
            lost[rollout._preflight].append(_lost_result(rollout, completion))
    for preflight, each in lost.items():
        preflight.scored(sum(each), len(each))


def _lost_result(rollout: RolloutAdapter, completion: Any) -> bool:
    if not isinstance(completion, list) or not completion or not completion[-1].get("tool_calls"):
        return False
    shown = [message for message in completion if message.get("role") == "tool"]
    return len(shown) < len(rollout.rewards) - rollout._message_taken
