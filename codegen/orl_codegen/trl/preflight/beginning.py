"""The preflight of a trainer: made once, when its first rollout in an environment begins.

A factory is called by the trainer, in its constructor or in a step, so the trainer is found among the callers. That is
how an adapter learns which trainer it plays for; neither TRL's own trainers nor their subclasses have to be told.
"""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import ref

from orl_codegen.errors import PreflightError, printable
from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.runtime.plan import Plan
from orl_codegen.trl.preflight.diagnosis import Diagnosis
from orl_codegen.trl.preflight.setting import Setting, Tool

logger = logging.getLogger(__name__)

GRPO = ("trl.trainer.grpo_trainer", "GRPOTrainer")
ASYNC = ("trl.experimental.async_grpo.async_rollout_worker", "_AsyncRolloutLoop")

LONGEST = 8  # prompts of a dataset, by characters, whose tokens are counted

DROPPED = (
    "%d of %d rollouts ended early because the result of a tool call did not fit: TRL drops a result that takes the "
    "completion beyond max_completion_length=%s, or the conversation beyond the context of the model, and ends the "
    "rollout. Cut long results with OpenRewardSpec(..., max_tool_output=N), or raise max_completion_length. This is "
    "logged once."
)


def calling_trainer() -> Any | None:
    """The trainer, or the rollout loop of an asynchronous one, that has called this function through others."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_varnames[:1] == ("self",) and _kind(caller := frame.f_locals.get("self")):
            return caller
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _kind(player: object) -> tuple[str, str] | None:
    """Which of TRL's classes a trainer is. TRL is not imported for that: without it, there is no trainer."""
    bases = [(base.__module__, base.__qualname__) for base in type(player).__mro__]
    return next((base for base in bases if base in (GRPO, ASYNC)), None)


class Preflight:
    """What is checked before the rollouts of one trainer in one environment.

    Args:
        trainer: TRL's trainer, or the loop that plays the rollouts of an asynchronous one.
        plan: How rollouts of the environment are run.
    """

    def __init__(self, trainer: Any, plan: Plan) -> None:
        self._trainer, self._plan = ref(trainer), plan
        self._begun = self._prompted = self._dropped = False

    def begin(self, rollout: RolloutAdapter) -> None:
        """Check what is known before the first session opens.

        Raises:
            PreflightError: The training is certain to fail, or to learn from wrong data.
        """
        if not self._begun:
            self._check(rollout, None)
            self._begun = True

    def prompted(self, rollout: RolloutAdapter, asked: Any, answered: Any) -> None:
        """Check the first prompt: the messages of the dataset, to whose last one TRL appends what `reset` returns.

        Raises:
            PreflightError: It is too long.
        """
        if not self._prompted and isinstance(asked, list) and asked:
            self._prompted = True
            last = asked[-1]
            content = last["content"] if isinstance(last.get("content"), str) else ""
            self._check(rollout, [*asked[:-1], {**last, "content": f"{content}{answered}"}])

    def scored(self, dropped: int, rollouts: int) -> None:
        """Log that results of tools were dropped, once."""
        if dropped and not self._dropped:
            self._dropped = True
            limit = getattr(getattr(self._trainer(), "args", None), "max_completion_length", "")
            logger.warning(DROPPED, dropped, rollouts, limit)

    def _check(self, rollout: RolloutAdapter, prompt: Sequence[Any] | None) -> None:
        from orl_codegen.trl.preflight.checks import CHECKS, PROMPT_LENGTH, diagnose

        trainer = self._trainer()
        if trainer is None:
            return
        try:
            setting = _setting(trainer, rollout, self._plan, prompt)
        except Exception as error:  # another version of TRL, or a trainer of the user's own
            reason = printable(f"{type(error).__name__}: {error}")
            logger.warning("The settings of the trainer could not be checked before the training: %s.", reason)
            self._prompted = True  # which would be the same line again
            return
        _say(diagnose(setting, CHECKS if prompt is None else PROMPT_LENGTH), _speaks(trainer))


def _say(diagnoses: Iterable[Diagnosis], speaks: bool) -> None:
    """Raise the errors, or else log the warnings, in one process of the run."""
    found = list(diagnoses)
    errors = [each.text for each in found if each.verdict == "error"]
    if errors:
        raise PreflightError("The training was stopped before its first session. " + " ".join(errors))
    for each in found:
        if each.verdict == "warning" and speaks:
            logger.warning("%s: %s", each.check, each.text)


def _speaks(trainer: Any) -> bool:
    accelerator = getattr(trainer, "accelerator", None)
    return accelerator is None or bool(accelerator.is_main_process)


def _setting(trainer: Any, rollout: RolloutAdapter, plan: Plan, prompt: Sequence[Any] | None) -> Setting:
    tools = _tools(trainer, rollout)
    if _kind(trainer) == ASYNC:
        return _of_rollout_loop(trainer, tools, plan, prompt)
    return _of_trainer(trainer, tools, plan, prompt)


def _of_rollout_loop(loop: Any, tools: list[Tool], plan: Plan, prompt: Sequence[Any] | None) -> Setting:
    return Setting(
        processing_class=loop.tokenizer,
        tools=tools,
        max_completion_length=loop.max_tokens,
        chat_template=loop.chat_template,
        chat_template_kwargs=loop.chat_template_kwargs,
        lockstep=False,
        prompts=_longest(loop.dataset, plan) if prompt is None else [prompt],
        max_tool_output=plan.max_tool_output,
    )


def _of_trainer(trainer: Any, tools: list[Tool], plan: Plan, prompt: Sequence[Any] | None) -> Setting:
    args = trainer.args
    server = getattr(trainer, "vllm_generation", None)
    return Setting(
        processing_class=trainer.processing_class,
        tools=tools,
        max_completion_length=args.max_completion_length,
        chat_template=trainer.chat_template,
        chat_template_kwargs=trainer.chat_template_kwargs,
        context=_context(trainer),
        processes=trainer.accelerator.num_processes,
        vllm_mode=args.vllm_mode if args.use_vllm else None,
        prompts=_longest(trainer.train_dataset, plan) if prompt is None else [prompt],
        max_tool_output=plan.max_tool_output,
        evaluated=_evaluated(args),
        max_sessions=plan.slots.limit,
        sessions_from_reset=plan.prompts == "session" and len(trainer.environment_factories) == 1,
        keeps_columns=not args.remove_unused_columns,
        generate=None if server is None else type(server).generate,
    )


def _context(trainer: Any) -> int | None:
    args = trainer.args
    if args.use_vllm and args.vllm_mode == "colocate" and args.vllm_max_model_length:
        return int(args.vllm_max_model_length)
    return getattr(trainer.model.config.get_text_config(), "max_position_embeddings", None)


def _evaluated(args: Any) -> int:
    """How many rollouts are in play at once in a process when the trainer evaluates by itself."""
    return 0 if args.eval_strategy == "no" else int(args.per_device_eval_batch_size)


def _tools(trainer: Any, rollout: RolloutAdapter) -> list[Tool]:
    """What the model may call in this environment: the adapter's tools, and those that are no adapter's."""
    own = [tool for tool in trainer.tools if not hasattr(getattr(tool, "__self__", None), "reset")]
    methods = [name for name, _ in inspect.getmembers(type(rollout), inspect.isfunction)]
    tools = [getattr(rollout, name) for name in methods if name not in ("reset", "get_reward") and name[:1] != "_"]
    return own + tools


def _longest(dataset: Any, plan: Plan) -> list[Any]:
    """The longest prompts of a dataset that has them."""
    if plan.prompts == "session" or "prompt" not in (getattr(dataset, "column_names", None) or ()):
        return []
    return sorted(dataset["prompt"], key=lambda prompt: len(str(prompt)), reverse=True)[:LONGEST]
