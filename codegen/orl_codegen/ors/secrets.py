"""Secrets of a session: checked, given the domains that they may be sent to, and packed into a header.

The platform's proxy lets a secret out of a sandbox only to its allowed domains. It knows those of common keys; the
table is that of openreward 0.1.167 (a test compares the two). Elsewhere the domains mean nothing, and any key is taken.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from orl_codegen.errors import UsageError, printable

Secrets = Mapping[str, str | tuple[str, list[str]]]
"""`{key: value}`, or `{key: (value, [allowed domain, ...])}`."""

_HUGGING_FACE = ["huggingface.co", "api-inference.huggingface.co"]
_GITHUB = "github.com api.github.com uploads.github.com objects.githubusercontent.com raw.githubusercontent.com"

_DOMAINS = {
    "OPENAI_API_KEY": ["api.openai.com"],
    "ANTHROPIC_API_KEY": ["api.anthropic.com"],
    "GEMINI_API_KEY": ["generativelanguage.googleapis.com"],
    "GOOGLE_API_KEY": ["generativelanguage.googleapis.com"],
    "COHERE_API_KEY": ["api.cohere.com"],
    "MISTRAL_API_KEY": ["api.mistral.ai"],
    "GROQ_API_KEY": ["api.groq.com"],
    "TOGETHER_API_KEY": ["api.together.xyz"],
    "PERPLEXITY_API_KEY": ["api.perplexity.ai"],
    "FIREWORKS_API_KEY": ["api.fireworks.ai"],
    "DEEPSEEK_API_KEY": ["api.deepseek.com"],
    "REPLICATE_API_TOKEN": ["api.replicate.com"],
    "HUGGINGFACE_API_KEY": _HUGGING_FACE[::-1],
    "HF_TOKEN": _HUGGING_FACE,
    "HUGGING_FACE_HUB_TOKEN": _HUGGING_FACE,
    "TAVILY_API_KEY": ["api.tavily.com"],
    "KAGGLE_KEY": ["www.kaggle.com"],
    "KAGGLE_USERNAME": ["www.kaggle.com"],
    "KAGGLE_API_KEY": ["www.kaggle.com"],
    "E2B_API_KEY": ["api.e2b.app"],
    "MODAL_TOKEN_ID": ["api.modal.com"],
    "MODAL_TOKEN_SECRET": ["api.modal.com"],
    "DAYTONA_API_KEY": ["app.daytona.io"],
}

KNOWN_DOMAINS: Mapping[str, list[str]] = {
    **_DOMAINS,
    **{key.lower(): domains for key, domains in _DOMAINS.items()},
    "gh_auth_token": _GITHUB.split(),
}
"""The keys whose domains the platform knows, in capitals and in lower case."""

_SEARCH = "https://search.openreward.ai"
_SERVICES = {"OPENREWARD_WEB_SEARCH_URL": f"{_SEARCH}/search", "OPENREWARD_WEB_FETCH_URL": f"{_SEARCH}/fetch"}
"""Services of the platform that its own toolsets call with the key, and the variables that move them."""


def check_secrets(secrets: object) -> None:
    """Refuse secrets of the wrong form, naming the key alone: the value may still be a secret.

    Raises:
        UsageError: It is not a mapping of texts, or of pairs of a text and its domains.
    """
    if not isinstance(secrets or {}, Mapping):
        raise UsageError("secrets is not a mapping. Pass secrets={key: value}.")
    for key, secret in dict(secrets or {}).items():  # type: ignore[call-overload]
        if not isinstance(key, str) or not _is_secret(secret):
            raise UsageError(
                f"The secret {printable(key)} is not text. Pass secrets={{key: value}}, or secrets={{key: (value, "
                "[domain, ...])}."
            )


def _is_secret(secret: object) -> bool:
    if isinstance(secret, tuple) and len(secret) == 2 and isinstance(secret[1], (list, tuple)):
        return all(isinstance(text, str) for text in (secret[0], *secret[1]))
    return isinstance(secret, str)


def check_domains(secrets: Secrets) -> None:
    """Refuse secrets that the platform would not know where to send.

    Raises:
        UsageError: A key comes without domains, and is not among `KNOWN_DOMAINS`.
    """
    unknown = [key for key, secret in secrets.items() if isinstance(secret, str) and key not in KNOWN_DOMAINS]
    if unknown:
        names = ", ".join(printable(key) for key in unknown)
        raise UsageError(
            f"The platform has to know which domains a secret may be sent to, and does not know the key {names}. "
            "Pass a pair: secrets={key: (value, [domain, ...])}."
        )


def secrets_header(secrets: Secrets, api_key: str | None, *urls: str | None) -> dict[str, str]:
    """The header that brings secrets, and the API key, to the environment; empty where there are none.

    Args:
        secrets: The secrets.
        api_key: The key of the platform; an environment may call the platform's services with it.
        urls: Where the key may be sent to besides those services.
    """
    packed = {name: _with_domains(name, secret) for name, secret in secrets.items()}
    if api_key is not None:
        domains = list(dict.fromkeys([*_hosts(*urls), *_hosts(*(os.environ.get(*one) for one in _SERVICES.items()))]))
        domains += [f"{host.split('.')[0]}.openreward.internal" for host in domains if host.count(".") >= 2]
        key: dict[str, object] = {"value": api_key, "allowed_domains": domains}
        packed |= {"api_key": key, "OPENREWARD_API_KEY": key}
    return {"X-Secrets": base64.b64encode(json.dumps(packed).encode()).decode()} if packed else {}


def _with_domains(key: str, secret: str | tuple[str, list[str]]) -> dict[str, object]:
    value, domains = (secret, KNOWN_DOMAINS.get(key, [])) if isinstance(secret, str) else secret
    return {"value": value, "allowed_domains": list(domains)}


def _hosts(*urls: str | None) -> Iterator[str]:
    yield from (host for url in urls if url and (host := urlsplit(url).hostname))
