"""What transformers makes of the tools: their JSON, and the text that a chat template puts into the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orl_codegen.errors import UsageError, printable
from orl_codegen.extras import require
from orl_codegen.generator.output.functions import as_functions
from orl_codegen.generator.output.reading import ShownTool


@dataclass(frozen=True)
class Prompt:
    """A prompt with the tools and an empty message of the user.

    Attributes:
        text: What the chat template makes of them.
        tokens: How many tokens that is.
        of_tools: How many of these there are because of the tools.
    """

    text: str
    tokens: int
    of_tools: int


def json_schemas(tools: Sequence[ShownTool]) -> list[dict[str, Any]]:
    """What `get_json_schema` gives for each method, in the order in which trainers list them.

    Raises:
        ExtraError: transformers is not installed.
        UsageError: It refuses a method.
    """
    require("trl", "What transformers makes of tools", ["transformers"])
    from transformers.utils import get_json_schema

    try:
        return [get_json_schema(function) for function in as_functions(tools)]
    except UsageError:
        raise
    except Exception as error:  # it parses what a module says, with many kinds of errors
        raise UsageError(
            f"transformers cannot describe the tools: {printable(error)}. Generate the module again."
        ) from None


def prompt_with(tools: Sequence[ShownTool], tokenizer: str) -> Prompt:
    """The prompt of a model, as its tokenizer's chat template writes it.

    Args:
        tools: The tools.
        tokenizer: What `AutoTokenizer.from_pretrained` takes: a folder, or a name on the hub.

    Raises:
        ExtraError: transformers is not installed.
        UsageError: The tokenizer cannot be loaded, or has no fitting chat template.
    """
    schemas = json_schemas(tools)
    loaded = _tokenizer(tokenizer)
    try:
        text, bare = _rendered(loaded, schemas), _rendered(loaded, [])
        tokens, without = (len(loaded(each, add_special_tokens=False)["input_ids"]) for each in (text, bare))
    except Exception as error:  # a template is a program
        raise UsageError(
            f"The chat template of {printable(tokenizer)} fails: {printable(error, 500)}. Name the tokenizer of a "
            "model that is made for chats with tools."
        ) from None
    return Prompt(text, tokens, tokens - without)


def _tokenizer(name: str) -> Any:
    require("trl", "What transformers makes of tools", ["transformers"])
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name)
    except Exception as error:  # of many kinds: no such folder, no network, a broken file
        why = printable(str(error).partition("\n")[0], 500)
        raise UsageError(
            f"The tokenizer {printable(name)} cannot be loaded: {why} Name its folder, or its model on the hub."
        ) from None


def _rendered(tokenizer: Any, schemas: Sequence[dict[str, Any]]) -> str:
    messages = [{"role": "user", "content": ""}]
    text = tokenizer.apply_chat_template(
        messages, tools=list(schemas) or None, tokenize=False, add_generation_prompt=True
    )
    assert isinstance(text, str)
    return text
