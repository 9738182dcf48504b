"""Ctrl-C at every point at which it can come: the rollout ends, and the adapter takes the next one."""

from __future__ import annotations

import contextlib
import dis
import functools
import sys
import threading
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any

import pytest

from orl_codegen import OpenRewardSpec
from orl_codegen.sessions.loop import close_sessions
from tests.runtime import adapters
from tests.support.servers import RunningServer

WITHIN = 60.0

CODE = ("runtime/adapter.py", "sessions/turns.py", "sessions/handle.py")


class Interrupted:
    """Runs something, and interrupts it at the point with a number, as Ctrl-C would.

    Attributes:
        at: Where that was; None where the work ended before.
    """

    def __init__(self, number: int, work: Callable[[], Any]) -> None:
        self._left, self._work = number, work
        self.at: str | None = None

    def run(self) -> None:
        """Run it on this thread."""
        with contextlib.suppress(KeyboardInterrupt):
            sys.settrace(self._trace)
            try:
                self._work()
            finally:
                sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.endswith(CODE):
            return self._trace  # what it calls may be code of ours
        frame.f_trace_opcodes = True
        if event == "opcode" and frame.f_lasti in interruptible(frame.f_code):
            self._left -= 1
            if self._left == 0:
                self.at = f"{frame.f_code.co_qualname}, line {frame.f_lineno}"
                raise KeyboardInterrupt
        return self._trace


@functools.cache
def interruptible(code: CodeType) -> frozenset[int]:
    """Where Python looks for signals: behind each call, at the beginning of a function, and where a loop goes back."""
    looks = ("CALL", "CALL_KW", "CALL_FUNCTION_EX", "RESUME", "JUMP_BACKWARD")
    return frozenset(after.offset for before, after in pairwise(dis.get_instructions(code)) if before.opname in looks)


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize("what", ["reset", "call"])
def test_the_adapter_takes_the_next_rollout(server: RunningServer, what: str) -> None:
    """Wherever a reset or a call was interrupted, the next reset and its calls are as ever, and nothing is left."""
    spec = OpenRewardSpec(adapters.Echo, base_url=server.url)
    points: list[str | None] = []

    def interrupted(number: int) -> str | None:
        rollout = spec.environment_factory()
        if what == "call":
            rollout.reset(task_index=1)
        trial = Interrupted(number, partial(rollout.reset, task_index=1) if what == "reset" else partial(call, rollout))
        trial.run()
        points.append(trial.at)
        assert rollout.reset(task_index=3) == "Echo 'word3' to win."
        assert call(rollout) == "waited"
        rollout._close()
        points.append("done")
        return trial.at

    def everywhere() -> None:
        number = 1
        while interrupted(number) is not None:
            number += 1

    thread = threading.Thread(target=everywhere, daemon=True)  # one for all, as there is one main thread
    thread.start()
    thread.join(WITHIN)
    assert not thread.is_alive() and points[-1] == "done", points[-1]
    assert len(points) > 2 * 20
    close_sessions()  # a session that was about to become the adapter's is nobody's until the process ends
    assert server.wait_for_sessions(0) == 0


def call(rollout: Any) -> Any:
    """A call that changes nothing."""
    return rollout.wait(seconds=0)
