"""The digest of a prompt: by it a session's prompt is compared with the one that stands in the dataset."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from orl_codegen.errors import PromptMismatch


def digest_of(messages: list[dict[str, Any]]) -> str:
    """A digest of messages as the wire has them."""
    text = json.dumps(messages, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def check_prompt(messages: list[dict[str, Any]], digest: str) -> None:
    """Compare a session's messages with those in the dataset.

    Raises:
        PromptMismatch: They differ, so the model is answering another question than the environment asks.
    """
    if digest_of(messages) != digest:
        raise PromptMismatch(
            "A session's prompt is not the one in the dataset: the environment does not give a task the same prompt "
            "each time, or it has changed since. If the prompt was kept by an earlier run, delete the folder that "
            "cache_dir= names, so that it is fetched again. Otherwise use "
            'OpenRewardSpec(..., prompts="session"), which takes the prompt of each session.'
        )
