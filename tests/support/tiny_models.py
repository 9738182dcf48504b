"""Tiny language models that know a few conversations by heart, and the server of transformers in front of them.

The model looks at the last tokens only, so it needs to be shown no more than these: it learns in seconds, and then
writes the same after the whole prompt, with all of its tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from tests.support import grpo
from tests.support.servers import RunningServer, serving_application

SEEN = 64  # tokens that each of the two layers looks back
STEPS = 400  # at most; a model has learned everything after some 60
TEMPLATE = "qwen3_instruct_2507"


@dataclass(frozen=True)
class Conversation:
    """What is said in a rollout, with the tools of the environment."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]


def teach(conversations: Sequence[Conversation], folder: Path) -> None:
    """Leave a model and its tokenizer in a folder. It writes what the assistant says in these conversations, each turn
    after what comes before it."""
    plain = grpo.tokenizer(TEMPLATE)
    texts = [plain.apply_chat_template([*each.messages], tools=[*each.tools], tokenize=False) for each in conversations]
    fast = grpo.tokenizer(TEMPLATE, texts)
    model = _new_model(fast)
    _learn(model, [_lesson(fast, text) for text in texts])
    model.save_pretrained(folder)
    fast.save_pretrained(folder)


@dataclass
class Served:
    """A model behind a server.

    Attributes:
        url: The base URL that clients of OpenAI's API take.
        model: The name of the model.
        server: The server, with its requests.
        prompts: The tokens of each prompt that the model was given.
    """

    url: str
    model: str
    server: RunningServer
    prompts: list[list[int]] = field(default_factory=list)


@contextmanager
def transformers_serve(folder: Path) -> Iterator[Served]:
    """What `transformers serve FOLDER` runs: its application, with the model in the folder."""
    from transformers.cli.serving.chat_completion import ChatCompletionHandler
    from transformers.cli.serving.model_manager import ModelManager
    from transformers.cli.serving.server import build_server
    from transformers.cli.serving.utils import GenerationState

    manager, state = ModelManager(device="cpu", force_model=str(folder)), GenerationState()
    chat: Any = ChatCompletionHandler(model_manager=manager, generation_state=state)
    application: Any = build_server(manager, chat, chat, chat, chat, chat, state)  # only its chat route is asked
    model, _ = manager.load_model_and_processor(str(folder))
    with serving_application(application) as server:
        served = Served(f"{server.url}/v1", str(folder), server)
        note_prompts(model, served.prompts)
        yield served


def note_prompts(model: Any, prompts: list[list[int]]) -> None:
    """Note down the tokens of each prompt that `model.generate` is given, without those that fill it up."""
    generate = model.generate

    def noting(*args: Any, **kwargs: Any) -> Any:
        rows, masks = kwargs["input_ids"], kwargs["attention_mask"]
        prompts.extend(row[mask.bool()].tolist() for row, mask in zip(rows, masks, strict=True))
        return generate(*args, **kwargs)

    model.generate = noting


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: several are no faster with matrices this small, and cost more."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _new_model(fast: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "head_dim": 16}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 16384}
    window = {"use_sliding_window": True, "sliding_window": SEEN, "max_window_layers": 0}
    ends = {"eos_token_id": fast.eos_token_id, "pad_token_id": fast.pad_token_id, "bos_token_id": None}
    return Qwen3ForCausalLM(
        Qwen3Config(vocab_size=len(fast), tie_word_embeddings=True, **sizes, **heads, **window, **ends)
    )


Lesson = tuple[torch.Tensor, torch.Tensor]
"""The last tokens of a conversation, and which of them the assistant wrote."""


def _lesson(fast: PreTrainedTokenizerFast, text: str) -> Lesson:
    ids = fast(text, add_special_tokens=False)["input_ids"]
    begin = fast("<|im_start|>assistant\n", add_special_tokens=False)["input_ids"]
    written, writes = [], False
    for place, token in enumerate(ids):
        writes = writes or ids[max(0, place - len(begin)) : place] == begin
        written.append(writes)
        writes = writes and token != fast.eos_token_id
    first = max(0, written.index(True) - 2 * SEEN - len(begin))
    return torch.tensor([ids[first:]]), torch.tensor([written[first:]])


def _learn(model: Qwen3ForCausalLM, lessons: Sequence[Lesson]) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    for _ in range(STEPS):
        losses = [_loss(model, *lesson) for lesson in lessons]
        if max(losses).item() < 0.01:
            return
        torch.stack(losses).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    raise AssertionError(f"The model has not learned its conversations in {STEPS} steps.")


def _loss(model: Qwen3ForCausalLM, ids: torch.Tensor, written: torch.Tensor) -> torch.Tensor:
    """How far the model is from writing what the assistant wrote."""
    hidden = model.model(input_ids=ids).last_hidden_state[:, :-1][written[:, 1:]]
    return torch.nn.functional.cross_entropy(model.lm_head(hidden), ids[:, 1:][written[:, 1:]])
