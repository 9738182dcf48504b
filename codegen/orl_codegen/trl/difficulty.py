"""Which tasks to train on: those that logged rollouts solve sometimes, and not always."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, get_args

from orl_codegen.errors import ServerError, UsageError, printable
from orl_codegen.ors import limits
from orl_codegen.ors.advice import PLATFORM, advice
from orl_codegen.ors.client import asking
from orl_codegen.ors.endpoint import Endpoint, endpoint, is_catalog_name
from orl_codegen.ors.failures import Failure
from orl_codegen.ors.parts import Part
from orl_codegen.ors.platform import TaskFigures, get_task_difficulty
from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.sessions.loop import event_loop

TrainingStage = Literal["pretrained", "sft", "rl"]


def tasks_by_difficulty(
    adapter: type[RolloutAdapter],
    *,
    low: float,
    high: float,
    split: str = "train",
    min_rollouts: int = 2,
    model_name: str | None = None,
    min_model_params: int | None = None,
    max_model_params: int | None = None,
    training_stage: TrainingStage | None = None,
    variant: str | None = None,
    api_key: str | None = None,
) -> list[int]:
    """Choose tasks by what rollouts in them have earned, as far as the platform has them logged.

        indices = tasks_by_difficulty(Kitchen, low=0.2, high=0.8)
        spec = OpenRewardSpec(Kitchen, indices=indices)

    A group of rollouts whose rewards are all alike has no advantages, so it teaches nothing. Chosen are tasks whose
    average is neither too low nor too high, and whose rewards were not all alike.

    Args:
        adapter: The generated class, of an environment in the catalog.
        low: The lowest average reward.
        high: The highest average reward.
        split: The split of the tasks. Rollouts that were logged without one do not count.
        min_rollouts: How many rollouts of a task must be logged. A task with fewer is left out, as one without any is.
        model_name: Count only rollouts that were logged under this name of a model.
        min_model_params: Count only rollouts of models with at least so many parameters.
        max_model_params: Count only rollouts of models with at most so many parameters.
        training_stage: Count only rollouts of `"pretrained"`, `"sft"` or `"rl"` models.
        variant: Which environment of the server, if not the one that the adapter was made from. Rollouts that were
            logged without one count as those of the server's first environment, where the SDK plays them.
        api_key: Key of the platform, instead of OPENREWARD_API_KEY.

    Returns:
        The indices of the tasks, ascending.

    Raises:
        UsageError: The environment is not in the catalog, an argument is out of range, or no task is left.
        ServerError: The platform could not be reached, or gave no such answer.
    """
    _check(low, high, min_rollouts, training_stage)
    where = _place(adapter, variant, api_key)
    wanted = {
        "split": split,
        "model_name": model_name,
        "min_model_params": min_model_params,
        "max_model_params": max_model_params,
        "training_stage": training_stage,
    }
    filters = {name: str(value) for name, value in wanted.items() if value is not None}
    figures = event_loop().run(_figures(where, filters))
    known = [task for task in figures if task.rollouts >= min_rollouts]
    chosen = [task.index for task in known if low <= task.average <= high and task.lowest < task.highest]
    if not chosen:
        raise UsageError(_none(where, split, low, high, known))
    return chosen


def _check(low: float, high: float, min_rollouts: int, training_stage: str | None) -> None:
    if not -math.inf < low <= high < math.inf:
        raise UsageError(f"low={low} and high={high} are no range of rewards. Pass two numbers, the lower one as low.")
    if not (type(min_rollouts) is int and min_rollouts > 0):
        raise UsageError(f"min_rollouts={printable(repr(min_rollouts))} is invalid. Pass 1 or more.")
    if training_stage not in (None, *get_args(TrainingStage)):
        known = ", ".join(f'"{stage}"' for stage in get_args(TrainingStage))
        raise UsageError(f"training_stage={printable(repr(training_stage))} is invalid. Pass one of {known}.")


def _place(adapter: type[RolloutAdapter], variant: str | None, api_key: str | None) -> Endpoint:
    environment = adapter._environment
    if not is_catalog_name(environment.target):
        raise UsageError(
            f"The platform has figures for environments in its catalog, and {adapter.__name__} was made from "
            f"{printable(environment.target)}. Generate the adapter from Owner/Name, or choose indices yourself."
        )
    return endpoint(environment.target, variant or environment.variant, api_key=api_key)


async def _figures(where: Endpoint, filters: dict[str, str]) -> list[TaskFigures]:
    """One entry for each task of the environment that has any, ascending."""
    try:
        found = await get_task_difficulty(where, event_loop().pool, filters)
        unnamed = any(task.variant is None for task in found) and await _is_first(where)
        return _merged(task for task in found if _is_of(where, task, unnamed))
    except Failure as failure:
        reason, todo = str(failure).rstrip("."), advice(failure, where, PLATFORM)
    raise ServerError(f"The platform gave no figures of the tasks of {printable(where.deployment)}: {reason}. {todo}")


def _is_of(where: Endpoint, task: TaskFigures, unnamed: bool) -> bool:
    return unnamed if task.variant is None else _same(task.variant, where.variant)


async def _is_first(where: Endpoint) -> bool:
    """Whether the environment is the server's first one, which the SDK plays where no variant is named."""
    async with asking(where, event_loop().pool) as client:
        listed = await client.get("/list_environments", within=limits.ANSWER_WITHIN)
    names = [part.text() for part in Part(listed, "list_environments", where.safe).list()]
    return bool(names) and _same(names[0], where.variant)


def _same(one: str, other: str) -> bool:
    return one.lower() == other.lower()  # as servers compare the names in their paths


def _merged(figures: Iterable[TaskFigures]) -> list[TaskFigures]:
    """Figures of one task, logged with the name of the environment and without, as one."""
    tasks: dict[int, TaskFigures] = {}
    for each in figures:
        other = tasks.get(each.index)
        tasks[each.index] = each if other is None else _together(each, other)
    return [tasks[index] for index in sorted(tasks)]


def _together(one: TaskFigures, other: TaskFigures) -> TaskFigures:
    rollouts = one.rollouts + other.rollouts
    total = one.average * one.rollouts + other.average * other.rollouts
    return TaskFigures(
        one.index,
        one.variant,
        rollouts,
        total / max(rollouts, 1),
        min(one.lowest, other.lowest),
        max(one.highest, other.highest),
    )


def _none(where: Endpoint, split: str, low: float, high: float, known: list[TaskFigures]) -> str:
    name = f"the split {printable(split)} of {printable(where.deployment)}"
    if not known:
        return (
            f"The platform has no figures of any task in {name}. Log rollouts first, with the SDK or with "
            "OpenRewardSpec(..., log_rollouts=...), or let more of them count."
        )
    averages = [task.average for task in known]
    return (
        f"No task in {name} has rewards that differ and an average from {low:g} to {high:g}. The averages of the "
        f"{len(known)} tasks with figures go from {min(averages):g} to {max(averages):g}. Pass another low or high."
    )
