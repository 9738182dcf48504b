"""JSON that holds half of a surrogate pair, which it can spell, but which neither UTF-8 nor a tokenizer takes."""

from __future__ import annotations

import json
import re
from typing import Any

REPLACEMENT = "\ufffd"

_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


def json_of(answer: bytes | str) -> Any:
    """JSON with U+FFFD wherever an answer holds half of a surrogate pair, in keys as in values.

    Raises:
        ValueError: It is not JSON.
        RecursionError: It is nested too deeply.
    """
    text = answer if isinstance(answer, str) else answer.decode(json.detect_encoding(answer), "surrogatepass")
    value = json.loads(text.removeprefix("\ufeff"))
    return _replaced(value) if _may_hold_halves(text) else value


def _may_hold_halves(text: str) -> bool:
    """Whether a closer look is worth its time: most answers hold no surrogate at all, neither escaped nor raw."""
    return "\\ud" in text or "\\uD" in text or (not text.isascii() and _HALF_A_PAIR.search(text) is not None)


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return _HALF_A_PAIR.sub(REPLACEMENT, value)
    if isinstance(value, list):
        return [_replaced(part) for part in value]
    if isinstance(value, dict):
        return _with_replaced_keys(value)
    return value


def _with_replaced_keys(value: dict[str, Any]) -> dict[str, Any]:
    """No value gets lost: a key that would turn into another one gets a further U+FFFD."""
    taken = {key for key in value if not _HALF_A_PAIR.search(key)}
    replaced = {}
    for key, part in value.items():
        name = _replaced(key)
        while name != key and name in taken:
            name += REPLACEMENT
        taken.add(name)
        replaced[name] = _replaced(part)
    return replaced
