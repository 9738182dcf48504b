"""Train a model with asynchronous GRPO: vLLM writes the next rollouts while the trainer works on the last ones.

It takes two GPUs, one for vLLM and one for the trainer, and the running server of an environment:

    CUDA_VISIBLE_DEVICES=1 VLLM_SERVER_DEV_MODE=1 vllm serve Qwen/Qwen3-4B --max-model-len 16384 \
        --logprobs-mode processed_logprobs --weight-transfer-config '{"backend": "nccl"}'

    CUDA_VISIBLE_DEVICES=0 python examples/train_async.py --target http://127.0.0.1:8080 \
        --adapter generated.kitchen:Kitchen --model Qwen/Qwen3-4B

Every option of AsyncGRPOConfig is an option of this script.
"""

from __future__ import annotations

import pkgutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from trl import TrlParser
from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer

from orl_codegen import OpenRewardSpec


@dataclass
class Arguments:
    """What to train, and in which environment."""

    model: str = field(metadata={"help": "name or folder of the model, which vLLM serves"})
    adapter: str = field(default="generated.kitchen:Kitchen", metadata={"help": "the adapter, as package.module:Class"})
    target: str | None = field(
        default=None, metadata={"help": "URL of the environment, if not the one that the adapter was generated from"}
    )
    split: str = field(default="train", metadata={"help": "split of the tasks"})
    num_tasks: int | None = field(default=None, metadata={"help": "how many of its tasks; by default all"})


def main() -> None:
    """Train."""
    arguments, config = TrlParser((Arguments, AsyncGRPOConfig)).parse_args_and_config()
    sys.path.insert(0, str(Path.cwd()))  # the process that plays the rollouts starts with the same path
    adapter = pkgutil.resolve_name(arguments.adapter)
    spec = OpenRewardSpec(adapter, base_url=arguments.target, split=arguments.split, num_tasks=arguments.num_tasks)
    trainer = AsyncGRPOTrainer(
        model=arguments.model,
        args=config,
        train_dataset=spec.train_dataset,
        environment_factory=spec.environment_factory,
        reward_funcs=spec.reward_funcs,
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
