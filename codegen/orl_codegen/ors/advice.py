"""What to do about a failure: the last sentence of an error, for whoever runs a command or a training."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from orl_codegen.errors import printable
from orl_codegen.ors.endpoint import Endpoint
from orl_codegen.ors.failures import Failure, Late, Malformed, Refused, Unreachable
from orl_codegen.ors.overrides import reserved

LOG = "Check the server log."
ODD_FIELD = "Fix the environment: the Open Reward Standard says otherwise."

CAUSES = {
    "address": "Check that the server is running and the address is right.",
    "name": "Check the host in the address, and that this machine can resolve names.",
    "proxy": "Check HTTP_PROXY and HTTPS_PROXY; hosts that NO_PROXY lists are reached without a proxy.",
    "certificate": "Check the host in the address; if the certificate is your own, name the file of its authority in "
    "SSL_CERT_FILE.",
    "cut": LOG,
}

TLS_WANTED = re.compile(r"plain HTTP.*(HTTPS|SSL)|HTTP request to an HTTPS server", re.IGNORECASE | re.DOTALL)
"""What nginx, Apache and Go's servers say with an HTTP 400 where TLS is expected."""


@dataclass(frozen=True)
class Means:
    """How the reader changes what was asked for, each as a sentence.

    Attributes:
        key: Pass a key.
        other_key: Pass another key.
        redirected: Take the address of a redirect.
        busy: Ask for less.
        nowhere: What may be wrong where there is no such route, environment or task.
        foreign: What may be wrong where the answer is not one of the standard.
        late: Wait longer, or find out what hangs.
        secrets: Pass secrets.
    """

    key: str
    other_key: str
    redirected: str
    busy: str
    nowhere: str
    foreign: str
    late: str
    secrets: str


COMMAND = Means(
    key="It wants a key: name the environment variable that holds it with --api-key-env.",
    other_key="Check the key in the environment variable, and whether it may be used here (--api-key-env).",
    redirected="Redirects are not followed: name the address that it leads to.",
    busy="Try again later, or open fewer tasks at a time with --concurrency.",
    nowhere="Is this the URL of an ORS server?",
    foreign="Is this the URL of an ORS server?",
    late="Check whether it is hanging, or allow more time with --timeout.",
    secrets="Pass each with --secret KEY=ENVVAR.",
)
TRAINING = Means(
    key="It wants a key: pass it as api_key=.",
    other_key="Check the key in api_key= (for the platform: OPENREWARD_API_KEY), and whether it may be used here.",
    redirected="If that address is to be trusted, pass it as base_url=.",
    busy="Try again later, or have fewer sessions open with max_sessions=.",
    nowhere="Check that the address is that of an ORS server, and that it has this environment and this task.",
    foreign="Check that the address is that of an ORS server.",
    late="Check in the server log whether it is hanging.",
    secrets="Pass each with secrets={key: value}.",
)
PLATFORM = replace(
    TRAINING,
    nowhere="Check the name of the environment, and whether the key may be used for it.",
    foreign="Check OPENREWARD_API_URL and OPENREWARD_URL, if they are set.",
    late="Try again later.",
)
IN_SESSION = replace(
    TRAINING,
    nowhere="Check in the server log whether it has given the session up, or was started anew.",
    foreign="Check the server log, and what stands between here and the server.",
    late="Check in the server log whether it is hanging, or allow more time with call_timeout=.",
)


def advice(failure: Failure, endpoint: Endpoint, means: Means) -> str:
    """What to do about a failure of a request to an endpoint, as a sentence."""
    if isinstance(failure, Refused):
        return _about_status(failure, endpoint, means)
    if isinstance(failure, Unreachable):
        return _about_connection(failure, endpoint)
    if isinstance(failure, Late):
        return means.late
    if isinstance(failure, Malformed):
        return means.foreign if failure.path is None else ODD_FIELD
    return LOG


def about_secrets(missing: Sequence[str], means: Means) -> str:
    """What to add to an error of an environment that was not given all the secrets that it requires."""
    if not missing:
        return ""
    which = f"secret {missing[0]}, which was" if len(missing) == 1 else f"secrets {', '.join(missing)}, which were"
    return f" The environment requires the {which} not passed. {means.secrets}"


def tolerable(failure: Failure) -> bool:
    """Whether a failure is one of the environment or of a moment, so that a run may go on without the rollout; nothing
    that is wrong with the address, the key or the connection as such."""
    if isinstance(failure, Refused):
        return failure.status >= 500 or failure.status in (408, 410, 429)
    return not isinstance(failure, Malformed) and not (isinstance(failure, Unreachable) and failure.cause != "cut")


def _about_status(refused: Refused, endpoint: Endpoint, means: Means) -> str:
    if refused.status in (401, 403):
        return means.key if endpoint.api_key is None else means.other_key
    if refused.status == 400 and TLS_WANTED.search(refused.message):
        return _other_scheme(endpoint)
    if refused.status == 400 and means is TRAINING and (names := reserved(endpoint.env_overrides)):
        shown = ", ".join(map(printable, names))
        return f"{means.nowhere} Unless the environment is yours, leave {shown} out of env_overrides."
    if refused.status == 407:
        return CAUSES["proxy"]
    if 300 <= refused.status < 400:
        return means.redirected
    if refused.status == 429:
        return means.busy
    return LOG if refused.status >= 500 or refused.status == 408 else means.nowhere


def _about_connection(failure: Unreachable, endpoint: Endpoint) -> str:
    if failure.cause == "scheme":
        return _other_scheme(endpoint)
    if failure.cause == "unanswered":  # some servers close a connection without a word where TLS is expected
        return LOG if _secure(endpoint) else "Check the server log, and whether https:// is needed instead of http://."
    return CAUSES[failure.cause]


def _other_scheme(endpoint: Endpoint) -> str:
    meant, written = ("http", "https") if _secure(endpoint) else ("https", "http")
    return f"Write {meant}:// instead of {written}:// in the address, or name another port."


def _secure(endpoint: Endpoint) -> bool:
    return endpoint.url.lower().startswith("https:")
