"""Text of a server or of a library, without the keys, secrets and passwords that it may quote.

A value is found as it is, as a Python literal, in JSON, in HTML or in a URL, however often escaped, and in the base64
of any text that holds it, such as a header. It is not found where a server spells it in yet another way, or spreads it
over several texts. What is too short to be a secret is left alone: a result without any `1` is worth nothing.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

T = TypeVar("T")

STARS = "***"

SHORTEST = 4
"""Characters of the shortest value that is masked."""

NO_SECRETS = frozenset(
    "true false null none type text image data role user system assistant content blocks name tools".split()
)
"""Words of JSON and of the standard. Settings may be passed like secrets, and no answer could be read without these."""

SHORTEST_BASE64 = 6
"""Characters of the shortest piece of base64 that is masked: fewer would turn up in pictures by chance."""

BACKSLASHES = 32
"""How many of them may stand for one. Without a limit, a text of nothing else would take forever to search."""

_PARTS = re.compile(r"(\\*)([^\\]?)", re.DOTALL)
_NAME = re.compile("[0-9A-Za-z]+")


class Mask:
    """What takes some values out of texts.

    To look costs next to nothing where none of them is there: each value has a piece that every spelling of it leaves
    as it is, and only where the text holds that piece, a pattern is made and searched for.

    Args:
        values: The values.
        whole: Texts made of them that are masked as they are, whatever their length.
    """

    def __init__(self, values: Iterable[str], whole: Iterable[str] = ()) -> None:
        secret = {value for value in values if len(value) >= SHORTEST and value.lower() not in NO_SECRETS}
        encoded = {text for value in secret for text in _in_base64(value.encode("utf-8", "surrogatepass"))}
        self._values = [_Value(text) for text in sorted({*secret, *encoded, *whole} - {""})]

    def text(self, text: str) -> str:
        """The text, with stars for each value; values that overlap are masked as one."""
        spans = sorted(span for value in self._values for span in value.spans_in(text))
        return "".join(_starred(text, spans)) if spans else text

    def json(self, value: T) -> T:
        """JSON, masked in place in its texts and keys; numbers, and the data of images, stay as they are."""
        if not self.is_in(value):
            return value
        whole: list[Any] = [value]
        inside: list[Any] = [whole]  # not by recursion: a server nests as deep as it likes
        while inside:
            part = inside.pop()
            if isinstance(part, dict):
                self._mask_keys(part)
            for key, inner in list(_entries(part)):
                if isinstance(inner, str):
                    part[key] = self.text(inner)
                elif isinstance(inner, (dict, list)):
                    inside.append(inner)
        return whole[0]  # type: ignore[no-any-return]

    def is_in(self, value: object) -> bool:
        """Whether JSON holds one of the values; asked of all its texts at once, which is quicker by far."""
        texts = "\0".join(_texts(value)) if self._values else ""
        return any(secret.is_in(texts) for secret in self._values)

    def _mask_keys(self, part: dict[str, Any]) -> None:
        """No value gets lost: a key that would turn into another one gets further stars."""
        names = {key: self.text(key) for key in part}
        taken = {key for key, name in names.items() if key == name}
        if len(taken) == len(part):
            return
        entries = list(part.items())
        part.clear()
        for key, inner in entries:
            name = names[key]
            while name != key and name in taken:
                name += "*"
            taken.add(name)
            part[name] = inner


class _Value:
    """One value, and how to find it."""

    def __init__(self, value: str) -> None:
        self._value = value
        self._piece = max(_NAME.findall(value), key=len, default="")

    def is_in(self, text: str) -> bool:
        return self._piece in text and self._pattern.search(text) is not None

    def spans_in(self, text: str) -> Iterator[tuple[int, int]]:
        if self._piece in text:
            yield from (found.span() for found in self._pattern.finditer(text))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(
            "".join(_spelled(len(slashes), character) for slashes, character in _PARTS.findall(self._value))
        )


def _starred(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[str]:
    at = 0
    for start, end in spans:
        if start >= at:
            yield from (text[at:start], STARS)
        at = max(at, end)
    yield text[at:]


def _texts(value: object) -> Iterator[str]:
    """Every text in JSON that is masked, keys included."""
    inside = [value]
    while inside:
        part = inside.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, (dict, list)):
            yield from part if isinstance(part, dict) else ()
            inside += [inner for _, inner in _entries(part)]


def _entries(part: dict[str, Any] | list[Any]) -> Iterator[tuple[Any, Any]]:
    """The entries of an object or a list, without the data of an image."""
    if isinstance(part, list):
        return iter(enumerate(part))
    if part.get("type") == "image":
        return ((key, inner) for key, inner in part.items() if key != "data")
    return iter(part.items())


def _in_base64(value: bytes) -> Iterator[str]:
    """What is left of a value in the base64 of a text that holds it: of the three ways to divide it by three, each."""
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + value)
        piece = encoded[-(-before * 8 // 6) : (before + len(value)) * 8 // 6].decode()
        if len(piece) >= SHORTEST_BASE64:
            yield from (piece, piece.replace("+", "-").replace("/", "_"))


def _spelled(slashes: int, character: str) -> str:
    """A pattern for a character, and the backslashes before it, in any spelling.

    Text that is escaped twice has more backslashes, and more of `25` behind `%`, and nothing else.
    """
    before = rf"(?:\\{{{slashes},{slashes * BACKSLASHES}}}|(?:{_percent('%5C')}){{{slashes}}})" if slashes else ""
    if not character or (character.isascii() and character.isalnum()):
        return before + character
    octets = character.encode("utf-8", "surrogatepass")
    escaped = {character.encode("unicode_escape").decode(), json.dumps(character)[1:-1], repr(octets)[2:-1]}
    escaped.add(f"\\u{ord(character):04x}")  # as Go and PHP write `<`, `&` or `/` in JSON
    named = [_escaped(slashes, text.lstrip("\\")) for text in escaped if text.startswith("\\")]
    quoted = {_percent(quote(octets, safe="")), _percent(quote_plus(octets)), re.escape(html.escape(character))}
    quoted.discard(re.escape(character))
    literal = rf"\\{{{slashes},{(slashes + 1) * BACKSLASHES}}}{re.escape(character)}"
    others = [*sorted(named, key=len, reverse=True), *(before + text for text in sorted(quoted, key=len, reverse=True))]
    return f"(?:{literal}|(?i:{'|'.join(others)}))" if others else literal


def _escaped(slashes: int, names: str) -> str:
    """A pattern for `n`, `xe4` or `ud83d\\udd11`, with the backslash that makes it an escape and those before it."""
    first, *rest = map(re.escape, names.split("\\"))
    return rf"\\{{{slashes + 1},{(slashes + 1) * BACKSLASHES}}}{first}" + "".join(
        rf"\\{{1,{BACKSLASHES}}}{name}" for name in rest
    )


def _percent(text: str) -> str:
    return re.escape(text).replace("%", "%(?:25){0,4}")
