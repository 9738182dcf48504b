"""What can go wrong with a request.

    Failure
    ├── Unreachable    there is no connection, or it broke off
    ├── Late           there was no answer in time
    ├── Refused        the server answered with another status than 2xx
    ├── Malformed      the answer is not what the Open Reward Standard says
    ├── ToolRaised     the environment raised an exception
    └── SessionOver    the session was closed, or lost, before the answer came

The text of each is safe to show: it is escaped, and holds neither the key nor a secret. Callers turn a failure into
one of `orl_codegen.errors`, which says what to do about it.
"""

from __future__ import annotations

from typing import Any, Literal

Cause = Literal["address", "name", "proxy", "certificate", "scheme", "unanswered", "cut"]


class Failure(Exception):
    """A request did not give what it should."""


class Unreachable(Failure):
    """There is no connection, or it broke off.

    Attributes:
        sent: Whether the server may have seen the request.
        cause: Nothing listens at the `address`; the `name` of the host is not known; the `proxy`, the `certificate` or
            the `scheme` (https where TLS is not spoken, or http where it is) stands in the way; the connection was
            closed `unanswered`, or `cut`.
    """

    def __init__(self, text: str, *, sent: bool, cause: Cause = "cut") -> None:
        super().__init__(text)
        self.sent, self.cause = sent, cause

    @property
    def passes(self) -> bool:
        """Whether it may be different the next time."""
        return self.cause not in ("certificate", "scheme")


class Late(Failure):
    """There was no answer in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the server did not answer within {seconds:g} seconds")


class Refused(Failure):
    """The server answered with another status than 2xx.

    Attributes:
        status: The HTTP status.
        detail: The `detail` of the answer as JSON, or the beginning of its text; raw, so never to be shown.
        message: The detail, safe to show.
        retry_after: The seconds that the server asks to wait, if it does.
        starting: Whether the server says that what the request was for is still starting, so that nothing ran.
    """

    def __init__(
        self, status: int, detail: Any, message: str, *, retry_after: float | None = None, starting: bool = False
    ) -> None:
        super().__init__(f"HTTP {status}: {message}" if message else f"HTTP {status}")
        self.status, self.detail, self.message = status, detail, message
        self.retry_after, self.starting = retry_after, starting


class Malformed(Failure):
    """The answer is not what the Open Reward Standard says.

    Attributes:
        path: The route and the field that is wrong; None where the answer as a whole is something else.
    """

    def __init__(self, text: str, *, path: str | None = None) -> None:
        super().__init__(text)
        self.path = path


class ToolRaised(Failure):
    """The environment raised an exception while it worked on a call. The session goes on."""


class SessionOver(Failure):
    """The session was closed, or lost, before the answer came."""


def without_traceback(text: str) -> str:
    """The exception in what a server says of one: some send the traceback along, of which a model makes no use."""
    if "Traceback (most recent call last)" not in text:
        return text
    lines = text.strip().splitlines()
    last_frame = max(number for number, line in enumerate(lines) if line.startswith((" ", "\t")) or "Traceback" in line)
    return "\n".join(lines[last_frame + 1 :]) or lines[-1].strip()
