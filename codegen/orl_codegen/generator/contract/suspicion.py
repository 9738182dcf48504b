"""Text that deserves a second look in review: it is kept as data and listed in the report."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from orl_codegen.chat_tokens import CHAT_TOKENS

_ORDINARY = re.compile(r"[\t\n\r -~]*")

BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def suspicious(value: Any) -> tuple[str, ...]:
    """What is odd about the strings (keys included) anywhere in a JSON value, one short phrase per oddity."""
    return tuple(dict.fromkeys(oddity for text in _strings_in(value) for oddity in _oddities(text)))


def _strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _strings_in(key)
            yield from _strings_in(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _strings_in(part)


def _oddities(text: str) -> Iterator[str]:
    for token in CHAT_TOKENS.findall(text):
        yield f"chat special token {token}"
    if _ORDINARY.fullmatch(text):
        return
    for character in text:
        if character in BIDI:
            yield f"bidirectional control U+{ord(character):04X}"
        elif unicodedata.category(character) == "Cf":
            yield f"invisible character U+{ord(character):04X}"
        elif unicodedata.category(character) == "Cc" and character not in "\t\n\r":
            yield f"control character U+{ord(character):04X}"
        elif unicodedata.category(character) == "Co":
            yield f"private-use character U+{ord(character):04X}"
