"""Train a model with GRPO in an environment, through its generated adapter.

One GPU, in the demo kitchen, which is served while the script runs:

    python examples/train_grpo.py --model Qwen/Qwen3-4B --max_completion_length 4096

An environment of yours. Where the adapter is not there yet, it is generated first:

    python examples/train_grpo.py --target http://127.0.0.1:8080 --adapter generated.shop:Shop --model Qwen/Qwen3-4B

Eight GPUs, with vLLM in the training processes:

    accelerate launch --num_processes 8 examples/train_grpo.py --target http://127.0.0.1:8080 \
        --adapter generated.shop:Shop --model Qwen/Qwen3-4B --use_vllm --vllm_mode colocate

Every option of GRPOConfig is an option of this script.
"""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from accelerate import PartialState
from trl import GRPOConfig, TrlParser

from orl_codegen import OpenRewardSpec, serve
from orl_codegen.runtime import RolloutAdapter
from orl_codegen.trl import GRPOTrainer

PLACES = "where it is: a URL, Owner/Name, package.module:Class or path/to/server.py:Class"


@dataclass
class Arguments:
    """What to train, and in which environment."""

    model: str = field(metadata={"help": "name or folder of the model"})
    target: str = field(default="orl_codegen.environments.kitchen:Kitchen", metadata={"help": PLACES})
    adapter: str = field(default="generated.kitchen:Kitchen", metadata={"help": "its adapter, as package.module:Class"})
    split: str = field(default="train", metadata={"help": "split of the tasks"})
    num_tasks: int | None = field(default=None, metadata={"help": "how many of its tasks; by default all"})


def load(adapter: str, target: str) -> type[RolloutAdapter]:
    """The adapter's class; its module is generated if there is none yet."""
    module, _, class_name = adapter.partition(":")
    path = Path(*module.split(".")).with_suffix(".py")
    with PartialState().local_main_process_first():  # the other processes of this machine wait for its files
        if not path.exists():
            names = ["--name", path.stem, "--class-name", class_name]
            subprocess.run([sys.executable, "-m", "orl_codegen", target, *names, "-o", str(path.parent)], check=True)
    sys.path.insert(0, str(Path.cwd()))
    return pkgutil.resolve_name(adapter)


@contextmanager
def reach(target: str) -> Iterator[str | None]:
    """The URL of an environment; None for one in the catalog, whose name is in the adapter."""
    if "://" in target or not (":" in target or target.endswith(".py")):
        yield target if "://" in target else None
    else:
        with serve(target) as url:
            yield url


def main() -> None:
    """Train."""
    arguments, config = TrlParser((Arguments, GRPOConfig)).parse_args_and_config()
    adapter = load(arguments.adapter, arguments.target)
    with reach(arguments.target) as url:
        spec = OpenRewardSpec(adapter, base_url=url, split=arguments.split, num_tasks=arguments.num_tasks)
        trainer = GRPOTrainer(
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
