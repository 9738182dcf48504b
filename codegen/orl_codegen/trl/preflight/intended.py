"""The setting of a training that is intended: of an adapter, a model, and a few settings of its trainer.

Only here is the user's module imported, and a tokenizer loaded as TRL's trainers load it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from orl_codegen.errors import UsageError, printable
from orl_codegen.extras import require
from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.runtime.vocabulary import bound_tools
from orl_codegen.trl.preflight.checks import diagnose
from orl_codegen.trl.preflight.diagnosis import Diagnosis
from orl_codegen.trl.preflight.setting import Setting, VLLMMode
from orl_codegen.trl.spec import OpenRewardSpec

TEMPLATE = "chat template"
UNREAD = "tool calls"


@dataclass(frozen=True)
class Intended:
    """What a training is going to be like.

    Attributes:
        model: A folder, or a name on the hub.
        processes: How many processes train.
        vllm_mode: How `GRPOTrainer` uses vLLM, if at all.
        max_completion_length: Of `GRPOConfig`; by default what that has.
        max_model_length: `vllm_max_model_length` of `GRPOConfig`; by default what the model takes.
        max_tool_output: Of `OpenRewardSpec`.
        base_url: Where the environment runs, if not where the adapter was made from.
        tasks: Of how many tasks the prompts are looked at, in a session each.
    """

    model: str
    processes: int = 1
    vllm_mode: VLLMMode | None = None
    max_completion_length: int | None = None
    max_model_length: int | None = None
    max_tool_output: int | None = None
    base_url: str | None = None
    tasks: int = 0


def diagnose_intended(adapter: type[RolloutAdapter], intended: Intended) -> Iterator[Diagnosis]:
    """What each check finds.

    Raises:
        ExtraError: TRL is not installed.
        UsageError: The model or its tokenizer cannot be loaded.
        OrlCodegenError: The prompts could not be fetched.
    """
    processing_class, context = _load(intended.model)
    template, error = _training_template(processing_class)
    yield error or Diagnosis(TEMPLATE, "ok", "TRL can render tool calls with it, and knows how to read them.")
    setting = Setting(
        processing_class=processing_class,
        tools=list(bound_tools(adapter).values()),
        max_completion_length=intended.max_completion_length or _default_completion_length(),
        chat_template=template,
        context=intended.max_model_length or context,
        processes=intended.processes,
        vllm_mode=intended.vllm_mode,
        prompts=_prompts(adapter, intended),
        max_tool_output=intended.max_tool_output,
    )
    yield from (each for each in diagnose(setting) if error is None or each.check != UNREAD)


def _load(model: str) -> tuple[Any, int | None]:
    """The processing class, and how many tokens the model takes."""
    require("trl", "orl-codegen doctor", ["trl", "transformers"])
    from transformers import AutoConfig, AutoProcessor

    try:
        config = AutoConfig.from_pretrained(model).get_text_config()
        return AutoProcessor.from_pretrained(model), getattr(config, "max_position_embeddings", None)
    except Exception as error:  # whatever is wrong with the files, or with the way to the hub
        reason = printable(f"{type(error).__name__}: {error}", 500)
        raise UsageError(
            f"The tokenizer and the configuration of {printable(model)} cannot be loaded: {reason}. Pass --model a "
            "folder that save_pretrained has written, or a name on the hub."
        ) from None


def _training_template(processing_class: Any) -> tuple[str | None, Diagnosis | None]:
    """The template that TRL would train with, if not the model's own; or why it takes neither.

    These are the steps of the constructors of TRL's trainers, in their order.
    """
    from trl import chat_template_utils as templates

    if not templates.supports_tool_calling(processing_class):
        return None, Diagnosis(TEMPLATE, "error", f"It does not render tool calls and their results. {OTHER_MODEL}")
    tokenizer = getattr(processing_class, "tokenizer", processing_class)
    try:
        if not any(getattr(tokenizer, name, None) for name in ("response_template", "response_schema")):
            templates.add_response_schema(processing_class)
        if not templates.is_chat_template_prefix_preserving(processing_class):
            return templates.get_training_chat_template(processing_class), None
    except Exception as error:  # TRL's refusals, or what a template raises
        reason = printable(str(error).partition(". ")[0], 300)
        return None, Diagnosis(TEMPLATE, "error", f"TRL refuses it: {reason}. {OTHER_MODEL}")
    return None, None


OTHER_MODEL = (
    "GRPOTrainer raises an error when it is made. Take a model whose template TRL knows, or set chat_template and "
    "response_template of the tokenizer."
)


def _default_completion_length() -> int:
    from trl import GRPOConfig

    default: int = GRPOConfig.max_completion_length
    return default


def _prompts(adapter: type[RolloutAdapter], intended: Intended) -> list[Any]:
    """The prompts of the first tasks, as the dataset would have them."""
    if not intended.tasks:
        return []
    spec = OpenRewardSpec(
        adapter, base_url=intended.base_url, num_tasks=intended.tasks, prompts="dataset", progress=False
    )
    return [row["prompt"] for row in spec.rows]


def load_adapter(place: str) -> type[RolloutAdapter]:
    """The adapter in a module: `path/to/module.py[:Class]` or `package.module[:Class]`. Runs the code of the module.

    Raises:
        UsageError: It cannot be imported, or does not have one adapter of that name.
    """
    where, _, name = place.rpartition(":") if ":" in place else (place, "", "")
    try:
        module = _module_of(Path(where)) if where.endswith(".py") else _named_module(where)
    except UsageError:
        raise
    except BaseException as error:  # the module may do anything, SystemExit included
        raised = printable(f"{type(error).__name__}: {error}", 500)
        raise UsageError(f"{printable(where)} cannot be imported: {raised}.") from error
    found = {key: value for key, value in vars(module).items() if _is_adapter(value) and name in ("", key)}
    own = {key: value for key, value in found.items() if value.__module__ == module.__name__} or found
    if len({*own.values()}) != 1:
        several = (
            f"adapters {', '.join(own)}: add :Class" if own else "no adapter of that name" if name else "no adapter"
        )
        raise UsageError(f"{printable(where)} has {printable(several)}. MODULE is one that orl-codegen has generated.")
    (adapter,) = {*own.values()}
    return adapter  # type: ignore[no-any-return]


def _is_adapter(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, RolloutAdapter) and hasattr(value, "_environment")


def _named_module(name: str) -> ModuleType:
    sys.path.insert(0, "")  # as `python -m` would
    return import_module(name)


def _module_of(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"There is no file {printable(path)}.")
    sys.path.insert(0, str(path.resolve().parent))  # as `python module.py` would
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
