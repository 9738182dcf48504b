"""How processes of ours end: what is open closes on a normal exit, after an exception and on SIGTERM.

Everything that has to do with the end of a process is here, because signals and exit hooks are one per process. Nothing
is arranged on import: each function says who calls it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


def interrupt_on_sigterm() -> None:
    """Have SIGTERM end this process as Ctrl-C does: in an orderly way. The command line calls it."""

    def interrupt(*_: object) -> None:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell script
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGTERM, interrupt)


def end_with_parent(within: float) -> None:
    """End this process and its whole group once the parent has ended, and nothing holds standard input open any more.

    The child that serves an environment calls it. SIGTERM ends the group at once, which is what a server like uvicorn
    wants: it shuts down first, and raises the signal again then. One that does not has `within` seconds.
    """
    import sys
    import time

    def end(*_: object) -> None:
        os.killpg(0, signal.SIGKILL)

    def watch() -> None:
        sys.stdin.read()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(within)
        end()

    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=watch, daemon=True).start()


def before_exit(close: Callable[[], None]) -> None:
    """Call `close` at a normal exit and after an exception, once the threads that Python waits for are done.

    That is the last of the hooks that `threading` runs: by then the pools of `concurrent.futures` have shut down, and
    the other threads are joined here. `atexit` would come later, but not in the children of multiprocessing. The event
    loop's module calls it, when it is imported: later is too late once the process is ending.
    """

    def finish() -> None:
        try:
            while threads := [thread for thread in threading.enumerate() if _is_waited_for(thread)]:
                for thread in threads:
                    thread.join()
        finally:
            close()

    threading._threading_atexits.insert(0, finish)  # type: ignore[attr-defined]  # they run in reverse order


def _is_waited_for(thread: threading.Thread) -> bool:
    """Whether Python waits for the end of a thread before it ends itself."""
    return not thread.daemon and thread not in (threading.main_thread(), threading.current_thread())


class BeforeSigterm:
    """Calls `close` on SIGTERM, and then the handler that was there.

    Only the main thread can arrange it, so whatever may be made there arranges it: `arrange` may be called often.
    """

    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close
        self._arranged = False
        self._previous: Callable[[int, FrameType | None], Any] | int = signal.SIG_DFL

    def arrange(self) -> None:
        """Put the handler in place, if this is the main thread and SIGTERM is not ignored."""
        if self._arranged or threading.current_thread() is not threading.main_thread():
            return
        handler = signal.getsignal(signal.SIGTERM)
        # None: not a handler of Python's, so it could not be called. Ignored: the process is meant to go on.
        if handler is None or handler is signal.SIG_IGN:
            return
        self._arranged, self._previous = True, handler
        signal.signal(signal.SIGTERM, self._on_sigterm)

    def _on_sigterm(self, signum: int, frame: FrameType | None) -> None:
        self._close()
        if callable(self._previous):
            self._previous(signum, frame)
        else:
            signal.signal(signum, signal.SIG_DFL)
            os.kill(os.getpid(), signum)
