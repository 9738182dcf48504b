"""What the platform knows of an environment besides what its server says: questions to the platform's own API.

Only an endpoint with an `api_url` is one of the platform, and its key goes to no other address. The routes and fields
are those of openreward 0.1.167 (`tests/ors/test_platform.py` compares the requests).
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from typing import Any
from urllib.parse import quote

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


async def missing_secrets(endpoint: Endpoint, pool: Pool) -> list[str]:
    """The keys that an environment requires and is not given, as far as the platform says it within a moment: for an
    error, which must not turn into another one."""
    given: set[Any] = {*endpoint.secrets, *(("api_key", "OPENREWARD_API_KEY") if endpoint.api_key else ())}
    with contextlib.suppress(Failure):
        required = await list_required_secrets(endpoint, pool, within=limits.ADVICE_WITHIN)
        return [key for key in required if key not in given]
    return []
