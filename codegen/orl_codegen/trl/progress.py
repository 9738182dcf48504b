"""How far a long wait is, on standard error: a bar on a terminal and in a notebook, a line now and then in a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

LINES = 10  # in a log, from the beginning to the end


@contextmanager
def advancing(what: str, total: int, wanted: bool | None) -> Iterator[Callable[[], None]]:
    """What to call after each of `total` steps.

    Args:
        what: Is being done.
        total: How many steps there are.
        wanted: Whether to show it; None: only on a terminal.
    """
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    shown = console.is_terminal if wanted is None else wanted
    if shown and not (console.is_terminal or console.is_jupyter):
        yield _lines(what, total, console)
        return
    with Progress(console=console, transient=True, disable=not shown) as progress:
        yield partial(progress.advance, progress.add_task(what, total=total))


def _lines(what: str, total: int, console: Console) -> Callable[[], None]:
    steps = count(1)

    def advance() -> None:
        done = next(steps)
        if done * LINES // total > (done - 1) * LINES // total:
            console.print(f"{what}: {done} of {total}", highlight=False)

    return advance
