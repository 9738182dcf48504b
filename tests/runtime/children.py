"""What child processes run in the tests of endings."""

from __future__ import annotations

from typing import Any

from orl_codegen.errors import SessionError


def roll_out(factory: Any, of_parent: Any = None) -> None:
    """Play a rollout, and end with a second session open. A session of the parent is of no use here."""
    adapter, left_open = factory(), factory()
    assert adapter.reset(task_index=5) == "Echo 'word5' to win."
    assert adapter.echo(text="word5") == "match"
    assert adapter.reward == 1.0
    left_open.reset(task_index=6)
    if of_parent is not None:
        try:
            of_parent.echo(text="word0")
        except SessionError:
            raise AssertionError("a failure is noted, not raised") from None
        assert "process" in of_parent.failure
