"""Where an environment is reached, and with which key and secrets.

A URL is reached at that URL alone, whatever the environment variables say, and it gets a key only if one is passed.
`OPENREWARD_API_KEY` goes to the platform, that is to say to a catalog name, and nowhere else.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import quote, unquote, urlsplit

from orl_codegen.errors import UsageError, printable
from orl_codegen.ors.overrides import check_overrides, warn_where_ignored
from orl_codegen.ors.redaction import Mask
from orl_codegen.ors.secrets import Secrets, check_domains, check_secrets, secrets_header

PLATFORM = "https://openreward.ai"


@dataclass(frozen=True)
class Endpoint:
    """One environment on one server.

    Attributes:
        url: What every path is appended to; no slash at its end.
        variant: The environment on the server.
        deployment: What the platform calls the environment, `Owner/Name`; the variant elsewhere.
        api_key: Sent with each request, if there is one.
        secrets: Handed to the constructor of the environment: `{key: value}` or `{key: (value, allowed domains)}`.
        api_url: The platform's own API, which an environment may call with the key; None elsewhere.
        env_overrides: Environment variables of the container of each session, in place of the environment's own.
    """

    url: str = field(repr=False)  # it may hold a password
    variant: str
    deployment: str
    api_key: str | None = field(default=None, repr=False)
    secrets: Secrets = field(default_factory=dict, repr=False)
    api_url: str | None = field(default=None, repr=False)
    env_overrides: Mapping[str, str] = field(default_factory=dict, repr=False)

    def path(self, name: str) -> str:
        """The path of a route of the environment. Without the variant in it, each request would be redirected."""
        return f"/{quote(self.variant, safe='')}/{name}"

    def creation_headers(self) -> dict[str, str]:
        """What the two requests that create a session carry: the secrets, and the key if there is one."""
        return secrets_header(self.secrets, self.api_key, self.url, self.api_url)

    @cached_property
    def mask(self) -> Mask:
        """Takes the key, the secrets and the password out of what the server or a library says."""
        values = [secret if isinstance(secret, str) else secret[0] for secret in self.secrets.values()]
        password = urlsplit(self.url).password or ""
        headers = [*self.creation_headers().values(), *self._basic()]
        return Mask(
            {*values, *self.env_overrides.values(), self.api_key or "", password, unquote(password)},
            {text.rstrip(sign) for text in headers for sign in ("", "=")},
        )

    def _basic(self) -> Iterator[str]:
        """User and password of the URL as the header `Authorization` spells them."""
        parts = urlsplit(self.url)
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        if pair != ":":
            yield from {b64encode(pair.encode(encoding, "replace")).decode() for encoding in ("latin-1", "utf-8")}

    def redacted(self, text: str) -> str:
        """Text of the server or of a library, without the key, the secrets and the password that it may quote."""
        return self.mask.text(text)

    def safe(self, value: object, limit: int = 200) -> str:
        """A value that the server sent, made safe for a message: redacted, escaped and cut."""
        return printable(self.redacted(str(value)), limit)

    def shown(self) -> str:
        """The endpoint in an error message."""
        parts = urlsplit(self.url)
        where = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        return printable(f"{self.variant} at {where}")


def endpoint(
    target: str,
    variant: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    secrets: Secrets | None = None,
    env_overrides: Mapping[str, str] | None = None,
) -> Endpoint:
    """Work out where an environment is reached.

    Args:
        target: As a snapshot records it: a catalog name, a URL, or a Python class.
        variant: Which environment of the server.
        base_url: Where it runs, if not where the target says.
        api_key: Key of the platform, instead of OPENREWARD_API_KEY; a URL gets one only if it is passed here.
        secrets: Handed to the environment in each session.
        env_overrides: Environment variables of the container of each session.

    Raises:
        UsageError: A Python class without `base_url`; something that is not a URL; a catalog name without a key; a
            secret or a variable that is not text; a secret that the platform cannot place.
    """
    check_secrets(secrets)
    check_overrides(env_overrides)
    overrides = dict(env_overrides or {})
    url = base_url or (target if "://" in target else None)
    if url is not None:
        _check_url(url)
        warn_where_ignored(overrides, variant)
        return Endpoint(url.rstrip("/"), variant, variant, api_key, secrets or {}, env_overrides=overrides)
    if not is_catalog_name(target):
        raise UsageError(
            f"The adapter was made from the Python class {printable(target)}, which is not running anywhere yet. Serve "
            f"it and pass the URL: `with serve({printable(target)!r}) as url: OpenRewardSpec(..., base_url=url)`."
        )
    key = api_key or os.environ.get("OPENREWARD_API_KEY")
    if not key:
        raise UsageError(
            f"{printable(target)} is an environment of the platform, which asks for a key. Set OPENREWARD_API_KEY or "
            "pass api_key=; or pass base_url= if you host the environment yourself."
        )
    check_domains(secrets or {})
    urls = _platform_url("sessions", "SESSION"), _platform_url("api", "API")
    return Endpoint(urls[0], variant, target, key, secrets or {}, urls[1], overrides)


def platform_api(where: Endpoint) -> tuple[str, str]:
    """The platform's API, and the key for it, also of an environment that runs elsewhere: the key that was passed for
    that is not the platform's.

    Raises:
        UsageError: There is no key of the platform.
    """
    if where.api_url is not None and where.api_key is not None:
        return where.api_url, where.api_key
    key = os.environ.get("OPENREWARD_API_KEY")
    if not key:
        raise UsageError(
            "log_rollouts uploads to the platform, which asks for a key. Set OPENREWARD_API_KEY, or leave log_rollouts "
            "out."
        )
    return _platform_url("api", "API"), key


def is_catalog_name(target: str) -> bool:
    """Whether a target, as a snapshot records it, is an environment in the platform's catalog, `Owner/Name`."""
    return not (":" in target or target.endswith(".py"))


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        complete = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        complete = complete and not (parts.query or parts.fragment or re.search(r"\s", url))
    except ValueError:  # a port that is not a number, a bracket that is left open
        complete = False
    if not complete:
        shown = printable(url.rpartition("@")[2].partition("?")[0])
        raise UsageError(f"{shown} is not the URL of a server. Write scheme, host and port: http://127.0.0.1:8080.")


def _platform_url(subdomain: str, name: str) -> str:
    """As the SDK's client works it out: the variables that move the platform elsewhere count here too."""
    parts = urlsplit(os.environ.get("OPENREWARD_URL", PLATFORM))
    return os.environ.get(f"OPENREWARD_{name}_URL", f"{parts.scheme}://{subdomain}.{parts.netloc}").rstrip("/")
