"""What is known of a training before it begins."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

Tool = Callable[..., Any]
VLLMMode = Literal["server", "colocate"]


@dataclass(frozen=True)
class Setting:
    """A run, as far as it is known.

    Attributes:
        processing_class: The tokenizer or processor, with what TRL adds to it.
        tools: What the model may call.
        chat_template: The template that TRL renders with, if not that of the processing class.
        chat_template_kwargs: Passed to the template.
        max_completion_length: Tokens of a completion, tool results included; of a single turn in `AsyncGRPOTrainer`.
        context: Tokens that the model takes, if known.
        lockstep: Whether the rollouts of a process go on turn by turn together, as in `GRPOTrainer`.
        processes: How many processes train.
        vllm_mode: How `GRPOTrainer` uses vLLM, if at all.
        prompts: Conversations with which rollouts begin, as far as they are known.
        max_tool_output: Characters of a tool result that the model is shown; None for all.
        evaluated: How many rollouts a process has in play at once in an evaluation; 0 where there is none.
        max_sessions: How many sessions it may have.
        sessions_from_reset: Whether each session is open from the beginning of its rollout.
        keeps_columns: Whether the trainer hands `reset` the columns of the dataset.
        generate: TRL's function that asks vLLM's server.
    """

    processing_class: Any
    tools: Sequence[Tool]
    max_completion_length: int
    chat_template: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    context: int | None = None
    lockstep: bool = True
    processes: int = 1
    vllm_mode: VLLMMode | None = None
    prompts: Sequence[Any] = ()
    max_tool_output: int | None = None
    evaluated: int = 0
    max_sessions: float = math.inf
    sessions_from_reset: bool = True
    keeps_columns: bool = True
    generate: Callable[..., Any] | None = None

    @property
    def tokenizer(self) -> Any:
        """The tokenizer, also of a processor."""
        return getattr(self.processing_class, "tokenizer", self.processing_class)

    @cached_property
    def tool_schemas(self) -> list[Any]:
        """The tools as the template is given them."""
        from transformers.utils import get_json_schema

        return [get_json_schema(tool) for tool in self.tools]

    def rendered(self, messages: Sequence[Any], tools: Sequence[Any] | None = None, **options: Any) -> str:
        """The text that the template makes of messages."""
        from transformers import ProcessorMixin
        from trl.data_utils import prepare_multimodal_messages

        if isinstance(self.processing_class, ProcessorMixin):
            messages = prepare_multimodal_messages(list(messages))
        text = self.processing_class.apply_chat_template(
            list(messages),
            tools=tools or None,  # as TRL does: some templates announce tools even where the list is empty
            chat_template=self.chat_template,
            tokenize=False,
            **options,
            **(self.chat_template_kwargs or {}),
        )
        return str(text)

    def ids(self, text: str) -> list[int]:
        """The tokens of a text that a template has rendered."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def prompt_length(self, prompt: Sequence[Any]) -> int:
        """How many tokens a prompt has, with the tools and what the template adds. Images count nothing."""
        return len(self.ids(self.rendered(prompt, self.tool_schemas, add_generation_prompt=True)))
