"""Evaluation with Inspect: the environment, tools and rewards of an adapter as an Inspect task.

from inspect_ai import eval
from orl_codegen import OpenRewardSpec
from orl_codegen.inspect import evaluation
from generated.kitchen import Kitchen

eval(evaluation(OpenRewardSpec(Kitchen, split="test"), epochs=4), model="openai/gpt-4.1")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orl_codegen.inspect.rollout import Rollout, rollout_of
    from orl_codegen.inspect.task import evaluation

__all__ = ["Rollout", "evaluation", "rollout_of"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    from orl_codegen.extras import require

    require("eval", "orl_codegen.inspect")
    return getattr(import_module(f"{__name__}.{'task' if name == 'evaluation' else 'rollout'}"), name)
