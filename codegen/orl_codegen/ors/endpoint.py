"""Where an environment is reached, and with which key and secrets.

A URL is reached at that URL alone, whatever the environment variables say, and it gets a key only if one is passed.
`OPENREWARD_API_KEY` goes to the platform, that is to say to a catalog name, and nowhere else.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus, unquote, urlsplit

from orl_codegen.errors import UsageError, printable
from orl_codegen.runtime.vocabulary import Environment

Secrets = Mapping[str, str | tuple[str, list[str]]]

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
    """

    url: str = field(repr=False)  # it may hold a password
    variant: str
    deployment: str
    api_key: str | None = field(default=None, repr=False)
    secrets: Secrets = field(default_factory=dict, repr=False)
    api_url: str | None = field(default=None, repr=False)

    def path(self, name: str) -> str:
        """The path of a route of the environment. Without the variant in it, each request would be redirected."""
        return f"/{quote(self.variant, safe='')}/{name}"

    def creation_headers(self) -> dict[str, str]:
        """What the two requests that create a session carry: the secrets, as the SDK packs them."""
        from openreward.api.sandboxes.secrets import augment_secrets_with_api_key, build_secrets_header

        secrets = augment_secrets_with_api_key(dict(self.secrets), self.api_key, self.url, self.api_url)
        return {"X-Secrets": build_secrets_header(secrets)} if secrets else {}

    def redacted(self, text: str) -> str:
        """Text of the server or of a library, without the key, the secrets and the password that it may quote: as they
        are, or as a Python literal, in JSON or in a URL, however often escaped."""
        values = self._confidential()
        return re.sub("|".join(map(_quoted, values)), "***", text) if values else text

    def describe(self, error: BaseException) -> str:
        """An exception of a request, in one line that is safe to show."""
        error = _first_cause(error)
        status, message = getattr(error, "status", None), getattr(error, "message", None)
        if type(error).__name__ == "AuthenticationError":
            said = "HTTP 401: the key was refused, or one is needed"
        elif status is not None:  # str() and repr() of aiohttp's own errors quote the URL and the headers
            said = f"HTTP {status}: {message}"
        else:
            said = f"{type(error).__name__}: {error}".removesuffix(": ")
        return printable(self.redacted(said), 500)

    def shown(self) -> str:
        """The endpoint in an error message."""
        parts = urlsplit(self.url)
        where = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        return printable(f"{self.variant} at {where}")

    def _confidential(self) -> list[str]:
        values = [secret if isinstance(secret, str) else secret[0] for secret in self.secrets.values()]
        password = urlsplit(self.url).password or ""
        return sorted(filter(None, {*values, self.api_key, password, unquote(password)}), key=len, reverse=True)


def _first_cause(error: BaseException) -> BaseException:
    """What happened, instead of what the SDK made of it: how often it tried, or that it calls the session ended."""
    causes = getattr(error, "errors", None)
    if isinstance(causes, list) and causes:
        return _first_cause(causes[-1])
    ended = type(error).__name__ == "SessionTerminatedError" and error.__cause__ is not None
    return error.__cause__ if ended and error.__cause__ is not None else error


def _quoted(value: str) -> str:
    """A pattern for a value that other text quotes."""
    return "".join(map(_spelled, value))


def _spelled(character: str) -> str:
    """A pattern for one character in any spelling. Text that is escaped twice has more backslashes, nothing else."""
    octets = character.encode("utf-8", "surrogatepass")
    escaped = {character.encode("unicode_escape").decode(), json.dumps(character)[1:-1], repr(octets)[2:-1]}
    if not character.isalnum():
        escaped.add("\\" + character)
    escaped |= {quote(octets, safe=""), quote_plus(octets)}
    spellings = {r"\\+".join(map(re.escape, re.split(r"\\+", text))) for text in escaped}
    return f"(?:{re.escape(character)}|(?i:{'|'.join(sorted(spellings, key=len, reverse=True))}))"


def endpoint(
    environment: Environment,
    *,
    base_url: str | None = None,
    variant: str | None = None,
    api_key: str | None = None,
    secrets: Secrets | None = None,
) -> Endpoint:
    """Work out where the environment of an adapter is reached.

    Raises:
        UsageError: An adapter of a Python class without `base_url`; something that is no URL; a catalog name without a
            key; a secret that is no text, or that the platform cannot place.
    """
    _check_secrets(secrets)
    target, variant = environment.target, variant or environment.variant
    url = base_url or (target if "://" in target else None)
    if url is not None:
        _check_url(url)
        return Endpoint(url.rstrip("/"), variant, variant, api_key, _for_own_server(secrets or {}))
    if ":" in target or target.endswith(".py"):
        raise UsageError(
            f"The adapter was made from the Python class {printable(target)}, which runs nowhere yet. Serve it and "
            f"pass the URL: `with serve({printable(target)!r}) as url: OpenRewardSpec(..., base_url=url)`."
        )
    key = api_key or os.environ.get("OPENREWARD_API_KEY")
    if not key:
        raise UsageError(
            f"{printable(target)} is an environment of the platform, which asks for a key. Set OPENREWARD_API_KEY or "
            "pass api_key=; or pass base_url= if you host the environment yourself."
        )
    sessions, api = _platform_url("sessions", "SESSION"), _platform_url("api", "API")
    return Endpoint(sessions, variant, target, key, _for_platform(secrets or {}), api)


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        there = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        there = there and not (parts.query or parts.fragment or re.search(r"\s", url))
    except ValueError:  # a port that is no number, a bracket that is left open
        there = False
    if not there:
        shown = printable(url.rpartition("@")[2].partition("?")[0])
        raise UsageError(f"{shown} is no URL of a server. Write scheme, host and port: http://127.0.0.1:8080.")


def _check_secrets(secrets: object) -> None:
    """Nothing of what is wrong is shown but the key: it is a secret all the same."""
    if not isinstance(secrets or {}, Mapping):
        raise UsageError("secrets is no mapping. Pass secrets={key: value}.")
    for key, secret in dict(secrets or {}).items():  # type: ignore[call-overload]
        if not isinstance(key, str) or not _is_secret(secret):
            raise UsageError(
                f"The secret {printable(key)} is no text. Pass secrets={{key: value}}, or secrets={{key: (value, "
                "[domain, ...])}."
            )


def _is_secret(secret: object) -> bool:
    if isinstance(secret, tuple) and len(secret) == 2 and isinstance(secret[1], (list, tuple)):
        return all(isinstance(text, str) for text in (secret[0], *secret[1]))
    return isinstance(secret, str)


def _platform_url(subdomain: str, name: str) -> str:
    """What the SDK's client would use: the variables that move the platform elsewhere count for it too."""
    parts = urlsplit(os.environ.get("OPENREWARD_URL", PLATFORM))
    return os.environ.get(f"OPENREWARD_{name}_URL", f"{parts.scheme}://{subdomain}.{parts.netloc}").rstrip("/")


def _for_own_server(secrets: Secrets) -> Secrets:
    """Any key goes. The allowed domains only mean something to the platform's proxy."""
    return {key: (secret, []) if isinstance(secret, str) else secret for key, secret in secrets.items()}


def _for_platform(secrets: Secrets) -> Secrets:
    """The platform lets a secret out to the domains that it knows for the key, so an unknown key needs its own."""
    from openreward.api.sandboxes.secrets import WELL_KNOWN_SECRETS

    unknown = [key for key, secret in secrets.items() if isinstance(secret, str) and key not in WELL_KNOWN_SECRETS]
    if unknown:
        names = ", ".join(printable(key) for key in unknown)
        raise UsageError(
            f"The platform has to know which domains a secret may be sent to, and does not know the key {names}. "
            "Pass a pair: secrets={key: (value, [domain, ...])}."
        )
    return dict(secrets)
