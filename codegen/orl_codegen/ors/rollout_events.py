"""What the platform takes as the log of a rollout: the events, and the run that they belong to.

A rollout is one event that begins it, and then one for each message; their fields are those that openreward 0.1.167
sends (`tests/runtime/test_rollout_log.py` compares the two). Fields without a value are left out.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from orl_codegen.errors import UsageError, printable

JSON = dict[str, Any]

MessageType = Literal["user_message", "assistant_message", "system_message", "tool_call", "tool_result"]

RUN_INFO: Mapping[str, type | tuple[str, ...]] = {
    "model_name": str,
    "run_type": ("train", "eval", "adhoc"),
    "model_params": int,
    "model_active_params": int,
    "training_stage": ("pretrained", "sft", "rl"),
    "initial_step": int,
    "checkpoint": str,
    "peft_type": str,
    "peft_rank": int,
    "rl_algorithm": str,
    "batch_size": int,
    "lr": float,
    "optimizer": str,
    "framework": str,
    "framework_version": str,
}
"""What may be said of a run, with the type or the values that each takes. Rollouts can be told apart by it later."""

EXAMPLE = 'log_rollouts="name of the run", or log_rollouts={"run_name": ..., "model_name": ...}'


@dataclass(frozen=True)
class LoggedRun:
    """The run that rollouts are logged under.

    Attributes:
        name: Its name.
        info: What is said of it, of `RUN_INFO`.
    """

    name: str
    info: Mapping[str, Any] = field(default_factory=dict)


def run_of(given: object) -> LoggedRun:
    """The run that `log_rollouts=` names.

    Raises:
        UsageError: It is neither a name nor a mapping with one, or it says of the run what the platform does not take.
    """
    named = {"run_name": given} if isinstance(given, str) else given
    if not isinstance(named, Mapping) or not isinstance(named.get("run_name"), str) or not named["run_name"].strip():
        raise UsageError(f"log_rollouts={printable(repr(given), 60)} names no run. Pass {EXAMPLE}.")
    info = {key: value for key, value in named.items() if key != "run_name"}
    for key, value in info.items():
        if not _is_taken(key, value):
            raise UsageError(_not_taken(key, value))
    if info and "model_name" not in info:
        raise UsageError(f"log_rollouts says something of the run, but not its model_name. Pass {EXAMPLE}.")
    return LoggedRun(named["run_name"], info)


def _is_taken(key: object, value: object) -> bool:
    wanted = RUN_INFO.get(key) if isinstance(key, str) else None
    if isinstance(wanted, tuple):
        return value in wanted
    return wanted is not None and (type(value) is wanted or (wanted is float and type(value) is int))


def _not_taken(key: object, value: object) -> str:
    wanted = RUN_INFO.get(key) if isinstance(key, str) else None
    if wanted is None:
        known = ", ".join(("run_name", *RUN_INFO))
        return f"log_rollouts has {printable(repr(key), 60)}, which the platform does not know. It takes {known}."
    meant = " or ".join(map(repr, wanted)) if isinstance(wanted, tuple) else f"of type {wanted.__name__}"
    return f"{key}={printable(repr(value), 60)} in log_rollouts is invalid. It has to be {meant}."


def begin_event(rollout: str, run: LoggedRun, **about: Any) -> JSON:
    """The event that a rollout begins with.

    Args:
        rollout: The id of the rollout.
        run: The run.
        about: `environment`, `variant`, `split`, `metadata`, `task_spec`.
    """
    info = dict(run.info) or None
    event = {"eventType": "rollout", "eventId": rollout, **_now(), "runName": run.name, **about, "run_info": info}
    return {key: value for key, value in event.items() if value is not None}


def task_event(rollout: str, index: int) -> JSON:
    """The event that says which task of its split a rollout plays: figures of tasks are made of those."""
    info = {"task_index": index}
    return {"eventType": "rollout_update", "eventId": rollout, **_now(), "rollout_info": info}


def message_event(rollout: str, index: int, type: MessageType, content: str, **more: Any) -> JSON:
    """The event of a message.

    Args:
        rollout: The id of the rollout.
        index: How many messages came before it.
        type: What it is.
        content: Its text; of a call, the arguments as JSON.
        more: `name` and `callId` of a call, `callId` of its result; `reward`, `isFinished`, `metadata`.
    """
    ids = {"eventId": new_id(), "rolloutEventId": rollout, "index": index}
    given = {"isFinished": False, "metadata": {}} | more
    event = {"eventType": "message", **ids, **_now(), "type": type, "content": storable(content), **given}
    return {key: value for key, value in event.items() if value is not None}


def new_id() -> str:
    """An id that nothing else has."""
    return str(uuid.uuid4())


def storable(text: str) -> str:
    """Text that a database takes: without NUL, and with an escape for half of a surrogate pair."""
    return text.replace("\0", "").encode("utf-8", "backslashreplace").decode("utf-8")


def _now() -> JSON:
    return {"timestamp": int(time.time() * 1000)}


def without_none(value: JSON) -> JSON:
    """An object without the fields that hold nothing, at any depth, as the SDK sends it."""
    kept = {key: part for key, part in value.items() if part is not None}
    return {key: without_none(part) if isinstance(part, dict) else part for key, part in kept.items()}
