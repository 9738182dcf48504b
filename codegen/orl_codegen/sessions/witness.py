"""What is told how a session goes, while it goes."""

from __future__ import annotations

from typing import Any

from orl_codegen.ors.outputs import Output

JSON = dict[str, Any]


class Witness:
    """Is told everything of a session that is one rollout, on the thread of the event loop. This one keeps nothing."""

    def opened(self, messages: list[JSON]) -> None:
        """The session is open, with a prompt of these messages of the wire."""

    def answered(self, name: str, input: JSON, output: Output) -> None:
        """The environment answered a call."""

    def refused(self, name: str, input: JSON, reason: str) -> None:
        """The environment refused a call, or raised an exception in it; the session goes on."""

    def failed(self, reason: str) -> None:
        """The session is lost, or could not be opened."""
