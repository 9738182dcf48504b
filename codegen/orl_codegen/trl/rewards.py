"""The reward function: the scores that the environments gave, and none that they did not give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.trl.batch_figures import batch_figures
from orl_codegen.trl.owning import left_behind
from orl_codegen.trl.preflight.dropped_results import note_dropped

AT_ONCE = 32  # terminal tools that are called at the same time


def last_reward(
    *,
    completions: Sequence[Any] = (),
    environments: Sequence[Any] | None = None,
    prompts: Sequence[Any] = (),
    log_metric: Callable[[str, float], None] | None = None,
    **columns: Any,
) -> list[float | None]:
    """The last reward of each rollout that was not null, or None: never 0.0 for a rollout that has none.

    A rollout that ended without the environment's terminal tool has its last message handed to that tool first; without
    `completions` there is no message, and that tool is not called. None also stands for a rollout whose adapter gives
    its reward itself (see `owning.py`), and for environments of others.

    The sessions of scored rollouts are closed in the background, so that none is held through the optimizer step.

    Raises:
        PromptMismatch, SchemaDrift, SessionError: Went wrong while the model wrote, where TRL would not let it through.
    """
    ours = settled(completions, environments, prompts)
    note_dropped(ours, completions)
    if log_metric is not None and any(ours):
        _report(ours, completions, _tasks(columns), log_metric)
    rewards = [None if rollout is None or _owns_reward(rollout) else rollout._score() for rollout in ours]
    _close_scored([rollout for rollout in ours if rollout is not None])
    return rewards or [None] * len(completions)


def settled(
    completions: Sequence[Any], environments: Sequence[Any] | None, prompts: Sequence[Any] = ()
) -> list[RolloutAdapter | None]:
    """The rollouts behind the completions, each with all that it will be told; None for those that are not ours.

    Every reward function that ends sessions begins with this, because they are called in any order.
    """
    rollouts = [left_behind(prompt) for prompt in prompts] if environments is None else environments
    ours = [rollout if isinstance(rollout, RolloutAdapter) else None for rollout in rollouts]
    for rollout in filter(None, ours):
        rollout._raise_what_stops_training()
    _hand_over_messages(ours, completions)
    return ours


def last_message(completion: Any) -> str:
    """The text of the last message that the model wrote; completions are messages, or text."""
    if isinstance(completion, str):
        return completion
    written = [message.get("content") for message in completion if message.get("role") == "assistant"]
    content = written[-1] if written else None
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part.get("type") == "text")
    return content or ""


def _hand_over_messages(rollouts: Sequence[RolloutAdapter | None], completions: Sequence[Any]) -> None:
    pairs = zip(rollouts, completions, strict=False)
    waiting = [
        (rollout, last_message(text)) for rollout, text in pairs if rollout is not None and rollout._awaits_message()
    ]
    if waiting:
        with ThreadPoolExecutor(min(AT_ONCE, len(waiting))) as pool:
            list(pool.map(lambda pair: pair[0]._take_message(pair[1]), waiting))


def _owns_reward(rollout: RolloutAdapter) -> bool:
    return hasattr(rollout, "get_reward")


def _close_scored(rollouts: Sequence[RolloutAdapter]) -> None:
    """Close the sessions that nobody is going to use any more.

    Group scoring closes those that it uses itself, whether it comes before or after. A rollout that owns its reward may
    still call tools for it, and one that was scored without its message may still be given that.
    """
    for rollout in rollouts:
        wanted = rollout._plan.keep_for_group or _owns_reward(rollout) or rollout._awaits_message()
        if not wanted:
            rollout._close_scored()


def _report(
    rollouts: Sequence[RolloutAdapter | None],
    completions: Sequence[Any],
    tasks: Sequence[Any],
    log_metric: Callable[[str, float], None],
) -> None:
    places = [place for place, rollout in enumerate(rollouts) if rollout is not None]
    ours = [rollout for rollout in rollouts if rollout is not None]
    theirs = [
        [column[place] for place in places] if len(column) == len(rollouts) else [] for column in (completions, tasks)
    ]
    for name, value in batch_figures(ours, *theirs):
        log_metric(name, value)


def _tasks(columns: Mapping[str, Any]) -> list[Any]:
    """What tells the tasks of a batch apart, where its columns say so."""
    if not {"split", "task_index"} <= columns.keys():
        return []
    environments = columns.get("environment") or columns["split"]
    return [*zip(environments, columns["split"], columns["task_index"], strict=True)]
