"""A session that begins to open before the `reset` that will ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orl_codegen.sessions.handle import SessionHandle


@dataclass
class Ahead:
    """A session that is nobody's until it is taken.

    Attributes:
        task: The task, as the wire names it.
        session: The session; None once it was taken or closed.
        taken: Whether it was taken.
    """

    task: dict[str, Any]
    session: SessionHandle | None
    taken: bool = False

    def take(self, task: dict[str, Any]) -> SessionHandle | None:
        """The session, where it is for this task, and of this process. Otherwise it is closed."""
        if task != self.task or (self.session is not None and self.session.elsewhere):
            self.close()
        session, self.session = self.session, None
        self.taken = session is not None
        return session

    def close(self) -> None:
        """Close the session in the background, unless it was taken."""
        session, self.session = self.session, None
        if session is not None:
            session.close_soon()
