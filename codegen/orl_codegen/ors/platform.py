"""What the platform knows of an environment besides what its server says: questions to the platform's own API.

Only an endpoint with an `api_url` is one of the platform, and its key goes to no other address. The routes and fields
are those of openreward 0.1.167 (`tests/ors/test_platform.py` compares the requests).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from orl_codegen.ors import limits
from orl_codegen.ors.client import Client
from orl_codegen.ors.endpoint import Endpoint
from orl_codegen.ors.failures import Failure
from orl_codegen.ors.parts import Part
from orl_codegen.ors.transport import Pool

_KEY = re.compile(r"[\w.-]{1,100}", re.ASCII)


def api_client(endpoint: Endpoint, pool: Pool) -> Client:
    """Requests to the platform's API, about an environment that is one of the platform."""
    assert endpoint.api_url is not None
    return Client(replace(endpoint, url=endpoint.api_url, deployment=""), pool)


def environment_path(endpoint: Endpoint, about: str = "") -> str:
    """The path of the API that an environment has, or of something `about` it."""
    path = f"/v1/environments/{quote(endpoint.deployment, safe='/')}"
    return f"{path}/{about}" if about else path


async def list_required_secrets(endpoint: Endpoint, pool: Pool, *, within: float) -> list[str]:
    """The keys of the secrets that an environment requires. The list is the platform's: there is none elsewhere.

    Raises:
        Failure: There was no such answer within so many seconds.
    """
    if endpoint.api_url is None:
        return []
    route = "required-secrets"
    answer = await api_client(endpoint, pool).get(environment_path(endpoint, route), within=within)
    return [_key(part) for part in Part(answer, route, endpoint.safe).field("secrets").list()]


def _key(part: Part) -> str:
    if not _KEY.fullmatch(part.text()):
        raise part.malformed("the key of a secret")
    return part.text()


@dataclass(frozen=True)
class TaskFigures:
    """What the logged rollouts of a task earned.

    Attributes:
        index: The task.
        variant: The environment on the server, as it was logged; None where it was not.
        rollouts: How many there are.
        average: Their average reward.
        lowest: Their lowest reward.
        highest: Their highest reward.
    """

    index: int
    variant: str | None
    rollouts: int
    average: float
    lowest: float
    highest: float


async def get_task_difficulty(endpoint: Endpoint, pool: Pool, filters: Mapping[str, str]) -> list[TaskFigures]:
    """The figures of the tasks of an environment that is one of the platform; of tasks without any there are none.

    Args:
        endpoint: The environment.
        pool: The connections.
        filters: Which rollouts count: `split`, `model_name`, `min_model_params`, `max_model_params`, `training_stage`.

    Raises:
        Failure: There was no such answer.
    """
    route = "task-difficulty"
    path = f"{environment_path(endpoint, route)}?{urlencode(filters)}"
    answer = await api_client(endpoint, pool).get(path, within=limits.ANSWER_WITHIN)
    return [_figures(part) for part in Part(answer, route, endpoint.safe).field("tasks").list()]


async def ids_of(endpoint: Endpoint, client: Client) -> dict[str, str]:
    """`environment_id` and `variant_id`, as far as the platform says them within a moment."""
    ids: dict[str, str] = {}
    with contextlib.suppress(Failure):
        answer = await client.get(environment_path(endpoint), within=limits.ADVICE_WITHIN)
        ids["environment_id"] = Part(answer, "environments", endpoint.safe).field("id").text()
        listed = await client.get(environment_path(endpoint, "variants"), within=limits.ADVICE_WITHIN)
        for variant in Part(listed, "variants", endpoint.safe).list():
            if variant.field("name").text("").lower() == endpoint.variant.lower():
                ids["variant_id"] = variant.field("id").text()
    return ids


def _figures(part: Part) -> TaskFigures:
    variant = part.field("variant")
    return TaskFigures(
        part.field("task_index").count(),
        None if variant.value is None else variant.text(),
        part.field("num_rollouts").count(),
        _number(part.field("avg_reward")),
        _number(part.field("min_reward")),
        _number(part.field("max_reward")),
    )


def _number(part: Part) -> float:
    number = part.reward()
    if number is None:
        raise part.malformed("a finite number")
    return number


async def missing_secrets(endpoint: Endpoint, pool: Pool) -> list[str]:
    """The keys that an environment requires and is not given, as far as the platform says it within a moment: for an
    error, which must not turn into another one."""
    given: set[Any] = {*endpoint.secrets, *(("api_key", "OPENREWARD_API_KEY") if endpoint.api_key else ())}
    with contextlib.suppress(Failure):
        required = await list_required_secrets(endpoint, pool, within=limits.ADVICE_WITHIN)
        return [key for key in required if key not in given]
    return []
