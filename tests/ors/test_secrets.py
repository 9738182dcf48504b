"""What is packed for the constructor of an environment is what the SDK would pack."""

from __future__ import annotations

from typing import Any

import pytest
from openreward.api.sandboxes.secrets import (
    WELL_KNOWN_SECRETS,
    augment_secrets_with_api_key,
    build_secrets_header,
)

from orl_codegen.ors.secrets import KNOWN_DOMAINS, secrets_header


def test_the_table_of_keys_is_that_of_the_sdk() -> None:
    """A version of the SDK that knows another key shows here."""
    assert dict(KNOWN_DOMAINS) == WELL_KNOWN_SECRETS


@pytest.mark.parametrize("secrets", [{}, {"OPENAI_API_KEY": "sk"}, {"MINE": ("hush", ["a.example", "b.example"])}])
@pytest.mark.parametrize("api_key", [None, "platform-key"])
@pytest.mark.parametrize(
    "urls", [("https://sessions.openreward.ai", "https://api.openreward.ai"), ("http://h:1", None)]
)
def test_the_header_is_that_of_the_sdk(secrets: Any, api_key: str | None, urls: tuple[str, str | None]) -> None:
    """Byte for byte, with the domains that the key may be sent to."""
    theirs = augment_secrets_with_api_key(secrets, api_key, *urls)
    expected = {"X-Secrets": build_secrets_header(theirs)} if theirs else {}
    assert secrets_header(secrets, api_key, *urls) == expected


def test_a_service_that_is_moved_gets_the_key_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables that move the platform's services count, as they do for the SDK."""
    monkeypatch.setenv("OPENREWARD_WEB_FETCH_URL", "https://fetch.example.org/fetch")
    theirs = augment_secrets_with_api_key({}, "key", "http://h:1", None)
    assert theirs is not None
    assert secrets_header({}, "key", "http://h:1", None) == {"X-Secrets": build_secrets_header(theirs)}
