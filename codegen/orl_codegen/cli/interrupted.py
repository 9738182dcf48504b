"""What a command had written when it was interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class Interrupted(Exception):
    """The command was interrupted; the text says what it had written."""


@dataclass
class Written:
    """What a command has written so far, for the line that says so where it is interrupted."""

    so_far: str = "nothing was written"


@contextmanager
def said_if_interrupted() -> Iterator[Written]:
    """Turn Ctrl-C within the block into `Interrupted`, with what the block has noted by then."""
    written = Written()
    try:
        yield written
    except KeyboardInterrupt:
        raise Interrupted(written.so_far) from None
