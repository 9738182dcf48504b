"""What the command line shows on standard error: progress while it works, and a report at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from orl_codegen.errors import printable, printable_lines
from orl_codegen.generator.options import Job
from orl_codegen.generator.stopwatch import Stopwatch

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from orl_codegen.generator.contract.contract import Note
    from orl_codegen.generator.pipeline import Adapter

SHOWN_NOTES = 5


class Display:
    """A progress bar for each environment, if this is a terminal, and plain lines for what the user should know."""

    def __init__(self, console: Console, bars: Bars | None) -> None:
        self._console = console
        self._bars = bars

    def say(self, text: str) -> None:
        """Print a line. It is never cut, and nothing in it is read as markup, as an emoji or as a command."""
        self._console.print(printable_lines(text), markup=False, emoji=False, highlight=False, soft_wrap=True)

    def of(self, job: Job) -> JobDisplay:
        """The display that one environment reports to."""
        name = printable(job.target.record, 60)
        return JobDisplay(self, name, self._bars, self._bars.add_task(name, total=None) if self._bars else None)

    def counter(self, name: str, total: int) -> Callable[[], None]:
        """What moves a bar of its own by one of `total`."""
        if self._bars is None:
            return lambda: None
        return partial(self._bars.advance, self._bars.add_task(printable(name, 60), total=total))


class JobDisplay:
    """The progress of one environment."""

    def __init__(self, display: Display, name: str, bars: Bars | None, bar: TaskID | None) -> None:
        self._display = display
        self._name = name
        self._bars = bars
        self._bar = bar

    def probed(self, done: int, total: int) -> None:
        """Move the bar."""
        if self._bars is not None and self._bar is not None:
            self._bars.update(self._bar, completed=done, total=total)

    def say(self, message: str) -> None:
        """Print a line about the environment."""
        self._display.say(f"{self._name}: {message}")


@contextmanager
def display(quiet: bool, counted: str = "tasks") -> Iterator[Display]:
    """A display for the duration of the block; the bars, which count such things, disappear after it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    console = Console(stderr=True, quiet=quiet)
    if quiet or not console.is_terminal:
        yield Display(console, None)
        return
    name = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), name, BarColumn(), MofNCompleteColumn(), TextColumn(counted))
    with Progress(*columns, console=console, transient=True) as bars:
        yield Display(console, bars)


def report(shown: Display, adapter: Adapter, verbose: bool) -> None:
    """Report what the user should know about an adapter before committing it; where it is up to date, only if asked."""
    notes: list[Note] = list(adapter.survey.notes) if verbose or adapter.current is None else []
    for kind, count in Counter(note.kind for note in notes).items():
        of_kind = [note for note in notes if note.kind == kind]
        for note in of_kind if verbose else of_kind[:SHOWN_NOTES]:
            shown.say(f"{adapter.slug}: {kind}: {note.tool}: {note.message}")
        if count > SHOWN_NOTES and not verbose:
            shown.say(f"{adapter.slug}: {kind}: and {count - SHOWN_NOTES} more (-v lists them)")
    if adapter.taken.unprobed:
        shown.say(f"{adapter.slug}: left out: the tasks {_listed(adapter.taken.unprobed)} could not be opened")


def report_timings(shown: Display, stopwatch: Stopwatch) -> None:
    """Report how long each stage took."""
    for stage, seconds in stopwatch.seconds.items():
        shown.say(f"{seconds:8.2f} s  {stage}")
    shown.say(f"{sum(stopwatch.seconds.values()):8.2f} s  in all")


def _listed(indices: Iterable[int]) -> str:
    indices = list(indices)
    return ", ".join(map(str, indices[:10])) + (f" and {len(indices) - 10} more" if len(indices) > 10 else "")
