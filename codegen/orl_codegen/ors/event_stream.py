"""Server-sent events, read byte for byte, in pieces of any size.

As the HTML standard defines them: a line ends with CR, LF or both; one space after the colon belongs to the protocol,
and every other one to the data; a blank line ends an event. See https://html.spec.whatwg.org/multipage/server-sent-events.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE_END = re.compile(rb"\r\n|\n|\r")


class Event(NamedTuple):
    """One event: its type (`message` where the stream names none) and its data."""

    type: str
    data: str


class EventStream:
    """Takes the bytes of a stream as they come, and gives the events that they complete.

    Attributes:
        began: Whether there was an event, so that this is a stream and not some other text.
    """

    def __init__(self) -> None:
        self.began = False
        self._rest: list[bytes] = []  # pieces of a line that has not ended yet
        self._after_cr = False
        self._type = ""
        self._data: list[str] = []
        self._started = False

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that end within `piece`."""
        if self._after_cr and piece.startswith(b"\n"):  # the other half of a line end that was cut in two
            piece = piece[1:]
        if not piece:
            return
        self._after_cr = piece.endswith(b"\r")
        *lines, rest = _LINE_END.split(piece)
        for line in lines:
            whole = b"".join([*self._rest, line])
            self._rest.clear()
            yield from self._line(whole)
        if rest:
            self._rest.append(rest)

    def _line(self, raw: bytes) -> Iterator[Event]:
        if not self._started:
            self._started, raw = True, raw.removeprefix(b"\xef\xbb\xbf")
        line = raw.decode("utf-8", "replace")
        if not line:
            yield from self._dispatch()
            return
        field, _, value = line.partition(":")  # a comment has an empty field
        value = value.removeprefix(" ")
        if field == "event":
            self._type = value
        elif field == "data":
            self._data.append(value)

    def _dispatch(self) -> Iterator[Event]:
        if self._type or self._data:
            self.began = True
            yield Event(self._type or "message", "\n".join(self._data))
        self._type, self._data = "", []
