"""How processes of ours end, and how forked ones begin.

What is open closes at a normal exit, after an exception, and on SIGINT, SIGTERM and SIGHUP. Everything that has to do
with it is here, because signals, exit hooks and fork hooks are one per process. Nothing is arranged on import but the
fork hook, which only tells those that have asked for it: each function says who calls it.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol
from weakref import WeakSet

Handler = Callable[[int, FrameType | None], Any] | int | None

TERMINATING = (signal.SIGTERM, signal.SIGHUP)
"""What ends a process at once, unless it has a handler. Python has one for SIGINT, which raises KeyboardInterrupt."""


class Interrupts:
    """Has SIGTERM and SIGHUP end this process as Ctrl-C does: in an orderly way. The command line uses it.

    Attributes:
        number: The signal that has arrived; SIGINT if it was none of the two.
    """

    def __init__(self) -> None:
        self.number: int = signal.SIGINT

    def arrange(self) -> None:
        """Put the handlers in place. A signal that is ignored stays so: `nohup` ignores SIGHUP."""
        for number in TERMINATING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._interrupt)

    def _interrupt(self, number: int, _: FrameType | None) -> None:
        self.number = number
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell script
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    def finish(self) -> None:
        """Let further ones end the process at once: Python itself is ending, and would print a traceback."""
        for number in (signal.SIGINT, *TERMINATING):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        # Where Ctrl-C left code that Python compiles from text, as it does to define a dataclass, `python -m` would end
        # with the status of SIGINT, whoever caught it since. The next such code makes it forget.
        exec("")


@contextmanager
def uninterrupted() -> Iterator[None]:
    """While something closes whose end has a limit: a signal that would end the process takes effect behind it, and
    one more at once."""
    late: list[int] = []

    def keep(number: int) -> None:
        late.append(number)
        if len(late) > 1:
            restore()
            signal.raise_signal(number)

    try:
        with signals_to(keep) as restore:
            yield
    finally:
        if len(late) == 1:
            signal.raise_signal(late[0])


@contextmanager
def signals_to(receive: Callable[[int], None]) -> Iterator[Callable[[], None]]:
    """Within the block, `receive` gets the signals that would end the process; those that are ignored stay so.

    The block is given a function that ends this early. It is the main thread that handles signals, so in others this
    does nothing.
    """
    here = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *TERMINATING)} if here else {}
    handlers = {number: handler for number, handler in handlers.items() if handler not in (None, signal.SIG_IGN)}

    def restore() -> None:
        for number, handler in handlers.items():
            signal.signal(number, handler)

    for number in handlers:
        signal.signal(number, lambda received, _: receive(received))
    try:
        yield restore
    finally:
        restore()


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
    the other threads are joined here. Ctrl-C in one of the hooks before skips it. Then `atexit` makes up for it, which
    the children of multiprocessing do not run. The event loop's module calls this, when it is imported: later is too
    late once the process is ending.
    """
    skipped = True

    def finish() -> None:
        nonlocal skipped
        try:
            while threads := [thread for thread in threading.enumerate() if _is_waited_for(thread)]:
                for thread in threads:
                    thread.join()
        finally:
            skipped = False
            close()

    threading._threading_atexits.insert(0, finish)  # type: ignore[attr-defined]  # they run in reverse order
    atexit.register(lambda: close() if skipped else None)


def _is_waited_for(thread: threading.Thread) -> bool:
    """Whether Python waits for the end of a thread before it ends itself."""
    return not thread.daemon and thread not in (threading.main_thread(), threading.current_thread())


class BeforeTermination:
    """Calls `close` on SIGTERM and SIGHUP, and then the handler that was there.

    Only the main thread can arrange it, so whatever may be made there arranges it: `arrange` may be called often.

    Args:
        close: Told whether the signal ends the process in any case, because there was no handler.
    """

    def __init__(self, close: Callable[[bool], None]) -> None:
        self._close = close
        self._previous: dict[int, Handler] = {}

    def arrange(self) -> None:
        """Put the handlers in place, if this is the main thread, for the signals that are not ignored."""
        if len(self._previous) == len(TERMINATING) or threading.current_thread() is not threading.main_thread():
            return
        for number in TERMINATING:
            handler = signal.getsignal(number)
            # None: not a handler of Python's, so it could not be called. Ignored: the process is meant to go on.
            if number not in self._previous and handler is not None and handler is not signal.SIG_IGN:
                self._previous[number] = handler
                signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        previous = self._previous[number]
        self._close(not callable(previous))
        if callable(previous):
            previous(number, frame)
        else:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


class Inherited(Protocol):
    """What a forked child has a copy of, perhaps in the middle of what another thread did with it."""

    def forked(self) -> None:
        """Begin anew in the child, without waiting for anything: what other threads held, they hold for ever."""


_inherited: WeakSet[Inherited] = WeakSet()
_whole = threading.RLock()


def begin_anew_in_children(one: Inherited) -> None:
    """Have `one.forked()` called in each child that is forked from this process, before anything else of ours runs
    there. For everything that has a lock or waits for a thread; whatever makes such a thing calls it."""
    _inherited.add(one)


@contextmanager
def unforked() -> Iterator[None]:
    """Forks wait for the end of the block. For imports: a child would wait for good for what another thread imports."""
    with _whole:
        yield


def _forked() -> None:
    _whole.release()
    for one in list(_inherited):
        one.forked()


os.register_at_fork(before=_whole.acquire, after_in_parent=_whole.release, after_in_child=_forked)
