"""Text of a server or of a library, without the keys, secrets and passwords that it may quote."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus


def redacted(text: str, values: Iterable[str]) -> str:
    """The text with each of the values masked: as it is, as a Python literal, in JSON or in a URL, however often
    escaped."""
    longest_first = sorted(filter(None, values), key=len, reverse=True)
    return re.sub("|".join(map(_quoted, longest_first)), "***", text) if longest_first else text


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
