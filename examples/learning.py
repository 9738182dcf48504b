"""A learning run on the CPU: in a few minutes, a tiny model learns to serve what a guest has ordered.

    python examples/learning.py --seeds 0 1 2 --output docs/assets/learning.svg

Nothing is downloaded: the tokenizer and the model, two layers of Qwen3 with random weights, are made here. A model that
small never writes a valid tool call by luck, so it is first shown rollouts in which the call is valid, but the dish and
each of its ingredients are drawn at random. After this warm start it serves anything. What is right for the guest it
learns from the rewards of the environment alone: from a real server, through `OpenRewardSpec` and `GRPOTrainer`.

The job is small on purpose. There is one order, that of the first task, and one call: no other order is practised, and
nothing is looked up. The plot needs matplotlib.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # where generated/ is
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import matplotlib.pyplot as plt
import trl
from datasets import Dataset
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM, set_seed
from transformers.utils import get_json_schema
from trl import GRPOConfig, SFTConfig, SFTTrainer

from generated.kitchen import Kitchen
from orl_codegen import OpenRewardSpec, serve
from orl_codegen.environments.kitchen import RECIPES
from orl_codegen.trl import GRPOTrainer

TEMPLATE = Path(trl.__file__).parent / "chat_templates" / "qwen3_instruct_2507.jinja"
INGREDIENTS = [recipe["ingredients"] for recipe in RECIPES.values()]
TOOLS = [get_json_schema(method) for name, method in vars(Kitchen).items() if not name.startswith("_")]
ON_THE_CPU = {"use_cpu": True, "bf16": False, "report_to": "none", "save_strategy": "no", "disable_tqdm": True}
BLUE, GREY = "#4c9be8", "#808080"  # legible on white and on black


def played_at_random(kitchen: Kitchen) -> list[dict[str, Any]]:
    """The messages of a rollout that serves a dish drawn at random, with ingredients each drawn at random."""
    order = kitchen.reset(task_index=0)
    ingredients = [random.choice(column) for column in zip(*INGREDIENTS, strict=True)]
    plate: dict[str, Any] = {"dish": random.choice(list(RECIPES)), "ingredients": ingredients}
    call = {"type": "function", "function": {"name": "serve_dish", "arguments": json.dumps(plate)}}
    return [
        {"role": "user", "content": order},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "serve_dish", "content": str(kitchen.serve_dish(**plate))},
        {"role": "assistant", "content": "Done."},
    ]


def make_tokenizer(texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer with Qwen3's special tokens and template. A name in the kitchen is one token."""
    names = [*RECIPES, *(name for ingredients in INGREDIENTS for name in ingredients)]
    bpe = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex("|".join([r"\n", r"\d+", *names])), "isolated")
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.pre_tokenizer = pre_tokenizers.Sequence([split, level])
    bpe.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    options: dict[str, Any] = {"special_tokens": special, "initial_alphabet": level.alphabet(), "show_progress": False}
    bpe.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=1500, **options))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    tokenizer.add_tokens(["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"])
    tokenizer.padding_side = "left"
    tokenizer.chat_template = TEMPLATE.read_text("utf-8")
    return tokenizer


def make_model(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """A Qwen3 of two layers, with random weights."""
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "head_dim": 16}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 2048}
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": None}
    return Qwen3ForCausalLM(Qwen3Config(vocab_size=len(tokenizer), tie_word_embeddings=True, **sizes, **heads, **ends))


def warm_start(model: Any, tokenizer: Any, rollouts: Sequence[Any], folder: str, steps: int, seed: int) -> None:
    """Show the model how a call is written."""
    config = SFTConfig(
        folder,
        max_steps=steps,
        per_device_train_batch_size=16,
        learning_rate=6e-3,
        warmup_steps=10,
        assistant_only_loss=True,
        max_length=None,
        seed=seed,
        **ON_THE_CPU,
    )
    rows = Dataset.from_list([{"messages": messages, "tools": json.dumps(TOOLS)} for messages in rollouts])
    SFTTrainer(model=model, processing_class=tokenizer, train_dataset=rows, args=config).train()


def nothing_served(
    environments: Sequence[Kitchen], log_metric: Callable[[str, float], None], **_: Any
) -> list[float | None]:
    """-0.2 where nothing was served. The environment gives no reward there, and without a reward nothing is learned."""
    log_metric("kitchen/reward", statistics.mean(kitchen.reward or 0.0 for kitchen in environments))
    return [0.0 if kitchen.finished else -0.2 for kitchen in environments]


def learn(model: Any, tokenizer: Any, spec: OpenRewardSpec[Kitchen], folder: str, steps: int, seed: int) -> list[float]:
    """Train on the rewards; returns the environment's mean reward of the 64 rollouts of each step."""
    config = GRPOConfig(
        folder,
        max_steps=steps,
        per_device_train_batch_size=64,
        num_generations=64,
        learning_rate=1e-3,
        warmup_steps=5,
        lr_scheduler_type="constant_with_warmup",
        max_completion_length=64,
        max_tool_calling_iterations=1,
        logging_steps=1,
        seed=seed,
        **ON_THE_CPU,
    )
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        args=config,
        train_dataset=spec.train_dataset,
        environment_factory=spec.environment_factory,
        reward_funcs=[spec.reward_funcs, nothing_served],
    )
    trainer.train()
    return [step["kitchen/reward"] for step in trainer.state.log_history if "kitchen/reward" in step]


def run(spec: OpenRewardSpec[Kitchen], folder: str, warm_steps: int, steps: int, seed: int) -> list[float]:
    """One run, from random weights: the mean reward of each step of GRPO."""
    set_seed(seed)
    kitchen = spec.environment_factory()
    rollouts = [played_at_random(kitchen) for _ in range(128)]
    untrained = make_tokenizer([])
    tokenizer = make_tokenizer([untrained.apply_chat_template(each, tools=TOOLS, tokenize=False) for each in rollouts])
    model = make_model(tokenizer)
    warm_start(model, tokenizer, rollouts, folder, warm_steps, seed)
    return learn(model, tokenizer, spec, folder, steps, seed)


def draw(runs: Sequence[Sequence[float]], output: Path) -> None:
    """A thin line for each run, and a thick one for their mean."""
    figure, axes = plt.subplots(figsize=(6.4, 3.0), layout="constrained")
    steps = range(1, len(runs[0]) + 1)
    for rewards in runs:
        axes.plot(steps, rewards, color=BLUE, alpha=0.5, linewidth=1)
    axes.plot(steps, [statistics.mean(rewards) for rewards in zip(*runs, strict=True)], color=BLUE, linewidth=2.5)
    axes.set_xlabel("step of GRPO", color=GREY)
    axes.set_ylabel("mean reward of 64 rollouts", color=GREY)
    axes.set_ylim(0, 1)
    axes.tick_params(colors=GREY)
    axes.spines[["left", "bottom"]].set_color(GREY)
    axes.spines[["top", "right"]].set_visible(False)
    with plt.rc_context({"svg.hashsalt": "learning", "svg.fonttype": "none"}):  # the same file for the same rewards
        figure.savefig(output, format="svg", transparent=True, metadata={"Date": None})
    plt.close(figure)


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="one run for each")
    parser.add_argument("--warm-steps", type=int, default=60, help="supervised steps on rollouts played at random")
    parser.add_argument("--max-steps", type=int, default=40, help="steps of GRPO")
    parser.add_argument("--output", type=Path, help="SVG file for the plot")
    return parser.parse_args()


def main() -> None:
    """Train once for each seed, say how the reward has changed, and draw it."""
    arguments, runs = parse(), []
    with serve("orl_codegen.environments.kitchen:Kitchen") as url, tempfile.TemporaryDirectory() as folder:
        spec = OpenRewardSpec(Kitchen, base_url=url, num_tasks=1)
        for seed in arguments.seeds:
            runs.append(run(spec, folder, arguments.warm_steps, arguments.max_steps, seed))
            first, last = statistics.mean(runs[-1][:10]), statistics.mean(runs[-1][-10:])
            print(
                f"seed {seed}: mean reward {first:.2f} in the first ten steps, {last:.2f} in the last ten", flush=True
            )
    if arguments.output:
        draw(runs, arguments.output)


if __name__ == "__main__":
    main()
