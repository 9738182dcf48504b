"""Reward functions of one's own beside the environment's, in the demo kitchen.

    python examples/custom_reward.py --model Qwen/Qwen3-4B --max_completion_length 4096

TRL hands each reward function the adapters of the rollouts, as `environments`; what their attributes mean is said in
the docstring of `RolloutAdapter`. A reward function gives one number for each rollout, or None for a rollout on which
it has no opinion. The rewards of all functions are added up, each times its weight. AsyncGRPOTrainer hands no adapters
over: there, a reward function has the messages in `completions` to go by.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # where generated/ is

from trl import GRPOConfig, TrlParser

from generated.kitchen import Kitchen
from orl_codegen import OpenRewardSpec, serve
from orl_codegen.trl import GRPOTrainer


def brought_to_an_end(environments: Sequence[Kitchen], **_: Any) -> list[float | None]:
    """1.0 where the model has ended the episode itself. None where the infrastructure did: no fault of the model."""
    return [None if kitchen.failure else float(kitchen.finished) for kitchen in environments]


def few_calls(environments: Sequence[Kitchen], log_metric: Callable[[str, float], None], **_: Any) -> list[float]:
    """Takes off 0.1 for each call beyond the third; `rewards` and `metadata` have one entry for each call."""
    calls = [len(kitchen.rewards) for kitchen in environments]
    log_metric("kitchen/calls", sum(calls) / len(calls))
    return [-0.1 * max(0, count - 3) for count in calls]


def read_before_serving(completions: Sequence[Any], **_: Any) -> list[float]:
    """1.0 where the model has read a recipe. This one needs no adapters, and so works in AsyncGRPOTrainer as well."""
    return [float("read_recipe" in tools_called(messages)) for messages in completions]


def tools_called(messages: Sequence[Any]) -> list[str]:
    """The names of the tools that the model has called, in order."""
    return [call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()]


@dataclass
class Arguments:
    """What to train."""

    model: str = field(metadata={"help": "name or folder of the model"})


def main() -> None:
    """Train."""
    arguments, config = TrlParser((Arguments, GRPOConfig)).parse_args_and_config()
    config.reward_weights = [1.0, 0.2, 1.0, 0.1]
    with serve("orl_codegen.environments.kitchen:Kitchen") as url:
        spec = OpenRewardSpec(Kitchen, base_url=url)
        trainer = GRPOTrainer(
            model=arguments.model,
            args=config,
            train_dataset=spec.train_dataset,
            environment_factory=spec.environment_factory,
            reward_funcs=[spec.reward_funcs, brought_to_an_end, few_calls, read_before_serving],
        )
        trainer.train()
        trainer.save_model()


if __name__ == "__main__":
    main()
