"""TRL's trainers on the CPU, in seconds and without a model hub.

A byte-level tokenizer and a random two-layer Qwen3, whose `generate` is replaced by a function that reads the prompt
and writes what a model would; the chat template, the tool schemas, the parsing of calls, the calls themselves, the
rewards, the loss and the optimizer step are TRL's own.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import pickle
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import trl
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

Write = Callable[[str], str]
"""Maps the text of a prompt to what the model writes next."""


def tokenizer(template: str = "qwen3", texts: Sequence[str] = ()) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer with Qwen's special tokens and TRL's copy of one of Qwen's chat templates. The words of
    `texts` have tokens of their own."""
    bpe = Tokenizer(models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not texts)
    words = pre_tokenizers.Split(Regex(r"\n| *\S+"), "isolated")
    bpe.pre_tokenizer = pre_tokenizers.Sequence([words, level]) if texts else level
    bpe.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    options = {"special_tokens": special, "initial_alphabet": level.alphabet(), "show_progress": False}
    bpe.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=8000 if texts else 300, **options))
    fast = PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.add_tokens(["<tool_call>", "</tool_call>", "<think>", "</think>"])
    fast.padding_side = "left"
    fast.chat_template = (Path(trl.__file__).parent / "chat_templates" / f"{template}.jinja").read_text()
    return fast


def model(fast: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """A Qwen3 just large enough to train."""
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "head_dim": 16}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 8192}
    ends = {"eos_token_id": fast.eos_token_id, "pad_token_id": fast.pad_token_id, "bos_token_id": None}
    return Qwen3ForCausalLM(Qwen3Config(vocab_size=len(fast), **sizes, **heads, **ends))


def train(
    spec: Any,
    write: Write,
    folder: Path,
    *,
    reward_funcs: Any = None,
    eval_dataset: Any = None,
    batch: int = 4,
    trainer_class: Any = trl.GRPOTrainer,
    tools: Any = None,
    **options: Any,
) -> Any:
    """One step of `GRPOTrainer` with a spec's three properties, then an evaluation if there is a dataset for it;
    returns the trainer."""
    fast = tokenizer()
    options = {"max_completion_length": 256, "max_tool_calling_iterations": 3, "shuffle_dataset": False} | options
    options.setdefault("per_device_eval_batch_size", batch)
    arguments = trl.GRPOConfig(
        output_dir=str(folder),
        per_device_train_batch_size=batch,
        num_generations=2,
        max_steps=1,
        report_to="none",
        use_cpu=True,
        bf16=False,
        disable_tqdm=True,
        **options,
    )
    trainer = trainer_class(
        model=model(fast),
        processing_class=fast,
        args=arguments,
        train_dataset=spec.train_dataset,
        eval_dataset=eval_dataset,
        environment_factory=spec.environment_factory,
        tools=tools,
        reward_funcs=spec.reward_funcs if reward_funcs is None else reward_funcs,
    )
    with patch.object(trainer.model, "generate", side_effect=writing(fast, write)):
        trainer.train()
        if eval_dataset is not None:
            trainer.evaluate()
    return trainer


@dataclass
class Phases:
    """How many seconds the resets and the tool calls of a step took."""

    resets: float = 0.0
    tools: float = 0.0


def timed(trainer_class: Any, phases: Phases) -> Any:
    """The same trainer, which notes the seconds of its phases."""

    class Timed(trainer_class):  # type: ignore[misc]
        def _generate_and_score_completions(self, inputs: Any) -> Any:
            self.began = time.perf_counter()
            return super()._generate_and_score_completions(inputs)

        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            phases.resets = time.perf_counter() - self.began
            return super()._generate(*args, **kwargs)

        def _tool_call_loop(self, *args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return super()._tool_call_loop(*args, **kwargs)
            finally:
                phases.tools = time.perf_counter() - began

    return Timed


def logged(trainer: Any, name: str) -> float:
    """A metric of the only step."""
    return float(trainer.state.log_history[0][name])


def writing(fast: PreTrainedTokenizerFast, write: Write) -> Any:
    """What replaces `generate` of a model that uses this tokenizer."""

    def generate(input_ids: torch.Tensor, **_: Any) -> torch.Tensor:
        texts = [write(text) + "<|im_end|>" for text in fast.batch_decode(input_ids)]
        rows = [fast(text, add_special_tokens=False)["input_ids"] for text in texts]
        width = max(map(len, rows))
        padded = [row + [fast.pad_token_id] * (width - len(row)) for row in rows]
        return torch.cat([input_ids, torch.tensor(padded)], dim=-1)

    return generate


def call(name: str, arguments: str) -> str:
    """A call as Qwen3 writes it; `arguments` are JSON."""
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


def play_echo(prompt: str) -> str:
    """Echo the word that the prompt asks for, then write `Done`."""
    if "<tool_response>" in prompt:
        return "Done"
    word = re.findall(r"Echo '(\w+)'", prompt)[-1]
    return call("echo", f'{{"text": "{word}"}}')


def roll_out_asynchronously(spec: Any, wanted: int, write: Write, reward_funcs: Any = None) -> list[Any]:
    """Run the rollout loop of `AsyncGRPOTrainer` in a thread of this process and return its first `wanted` samples.
    Its arguments are pickled and unpickled, as they would be on the way to a process of its own."""
    from accelerate import PartialState
    from trl.experimental.async_grpo.async_rollout_worker import _AsyncRolloutLoop

    PartialState()  # TRL's logger needs it
    fast, samples = tokenizer(), multiprocessing.Queue()
    sent = {
        "dataset": spec.train_dataset,
        "environment_factory": spec.environment_factory,
        "reward_funcs": [spec.reward_funcs] if reward_funcs is None else reward_funcs,
    }
    with completions_server(fast, write) as url:
        loop = _AsyncRolloutLoop(
            **pickle.loads(pickle.dumps(sent)),
            model_name="tiny",
            processing_class=fast,
            eos_token_ids=[fast.eos_token_id],
            rollout_buffer=samples,
            model_version_value=multiprocessing.Value("i", 0),
            heartbeat_value=multiprocessing.Value("d", 0.0),
            failed_event=multiprocessing.Event(),
            exception_info_queue=multiprocessing.Queue(1),
            metrics_queue=multiprocessing.Queue(4096),
            num_generations=2,
            max_inflight_tasks=8,
            vllm_server_url=url,
            max_tokens=128,
            max_tool_calling_iterations=4,
        )
        thread = threading.Thread(target=loop.run, daemon=True)
        thread.start()
        found = [samples.get(timeout=60) for _ in range(wanted)]
        loop._loop.call_soon_threadsafe(loop._stop_event.set)
        thread.join(20)
    del loop, thread
    gc.collect()  # the loop still holds the rollouts that were not awaited; collecting them closes their sessions
    return found


@contextmanager
def completions_server(fast: PreTrainedTokenizerFast, write: Write) -> Iterator[str]:
    """A stand-in for vLLM: answers `/v1/completions` with what `write` returns for the prompt, and is up."""
    from aiohttp import web

    async def completions(request: web.Request) -> web.Response:
        prompt = fast.decode((await request.json())["prompt"])
        ids = fast(write(prompt) + "<|im_end|>", add_special_tokens=False)["input_ids"]
        return web.json_response({"choices": [{"token_ids": ids, "logprobs": {"token_logprobs": [-0.1] * len(ids)}}]})

    async def health(_: web.Request) -> web.Response:
        return web.json_response({})

    async def served(_: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "tiny", "max_model_len": 4096}]})

    async def start() -> int:
        application = web.Application()
        application.router.add_post("/v1/completions", completions)
        application.router.add_get("/health", health)
        application.router.add_get("/v1/models", served)
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return int(runner.addresses[0][1])

    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    yield f"http://127.0.0.1:{asyncio.run_coroutine_threadsafe(start(), loop).result(10)}"
    loop.call_soon_threadsafe(loop.stop)
