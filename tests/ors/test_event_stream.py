"""Server-sent events, however they are cut into pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orl_codegen.ors.event_stream import Event, EventStream

TEXT = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))


def read(body: bytes, cuts: list[int] | None = None) -> list[Event]:
    """The events of a stream that comes in pieces of the given lengths, and the rest in one."""
    stream, events = EventStream(), []
    for length in [*(cuts or []), len(body)]:
        events += stream.feed(body[:length])
        body = body[length:]
    return events


@given(
    st.lists(st.tuples(st.sampled_from(["chunk", "end", "task_id"]), st.lists(TEXT, min_size=1, max_size=3))),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 7)),
)
def test_data_arrives_byte_for_byte(events: list[tuple[str, list[str]]], end: str, cuts: list[int]) -> None:
    """Whatever the text, the line ends and the pieces: what was sent is what comes out."""
    lines = [[f"event: {type}", *(f"data: {line}" for line in data), ": a comment", ""] for type, data in events]
    body = end.join(line for event in lines for line in [*event]) + end
    assert read(body.encode(), cuts) == [Event(type, "\n".join(data)) for type, data in events]


@given(st.binary(), st.lists(st.integers(0, 9)))
def test_any_bytes_are_read_alike_in_one_piece_and_in_many(body: bytes, cuts: list[int]) -> None:
    """Nothing that a server sends raises, and where it is cut makes no difference."""
    assert read(body, cuts) == read(body)


@pytest.mark.parametrize(
    ("line", "data"),
    [("data:x", "x"), ("data: x", "x"), ("data:  x", " x"), ("data: x  ", "x  "), ("data", ""), ("data:", "")],
)
def test_one_space_after_the_colon_belongs_to_the_protocol(line: str, data: str) -> None:
    """Every other one is the tool's."""
    assert read(f"{line}\n\n".encode()) == [Event("message", data)]


def test_a_byte_order_mark_and_broken_text() -> None:
    """The mark is not part of the first line; bytes that are not UTF-8 become U+FFFD."""
    assert read(b"\xef\xbb\xbfdata: a\xff\n\n") == [Event("message", "a\ufffd")]


def test_an_event_of_ten_megabytes() -> None:
    """There is no longest line, and the time it takes grows with its length, not with the square of it."""
    body = b"event: end\ndata: " + b"x" * 10_000_000 + b"\n\n"
    [event] = read(body, [4096] * 2500)
    assert (event.type, len(event.data)) == ("end", 10_000_000)
