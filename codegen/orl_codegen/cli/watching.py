"""`--watch`: work again whenever what a Python environment class is made of has changed, or the configuration has.

Watched are the package that the file of the class is in, with all its folders, or else the folder of the file: that is
where what it imports of its own usually is. Changes that come while the work is done are not lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, TypeVar

import click

from orl_codegen.cli.arguments import Selection
from orl_codegen.errors import OrlCodegenError, UsageError, printable
from orl_codegen.generator.target import PythonClass, Target

Argument = TypeVar("Argument")
Result = TypeVar("Result")

READY_AFTER = 50
"""Milliseconds after which the system is asked anew for events; after the first time, the work begins."""


def work_on_changes(choose: Callable[[], Selection], work: Callable[[Selection], object]) -> NoReturn:
    """Work now and after each change, until interrupted. After an error, wait for the next change.

    Args:
        choose: Reads the configuration, now and each time that it has changed.
        work: Does the work on a selection of environments, all of which are Python files.

    Raises:
        UsageError: There is nothing to watch, or the system refuses to watch it.
    """
    selection, ready = _watchable(choose()), True
    while True:
        code = False
        for configuration, code in _changes(selection):
            if configuration:
                break
            if ready or code:
                _told_of_errors(work, selection)
        chosen = _told_of_errors(_chosen, choose)
        selection, ready = chosen or selection, chosen is not None or code


def _chosen(choose: Callable[[], Selection]) -> Selection:
    return _watchable(choose())


def _told_of_errors(act: Callable[[Argument], Result], argument: Argument) -> Result | None:
    try:
        return act(argument)
    except OrlCodegenError as error:
        click.echo(f"orl-codegen: {error}", err=True)
        return None


def _watchable(selection: Selection) -> Selection:
    """Those environments of a selection that are Python files."""
    jobs = tuple(job for job in selection.jobs if isinstance(job.target, PythonClass) and job.target.path)
    if not jobs:
        raise UsageError("--watch watches Python files, and no TARGET is one. Name path/to/server.py[:Class].")
    return replace(selection, jobs=jobs)


def _changes(selection: Selection) -> Iterator[tuple[bool, bool]]:
    """Yields once when changes are noticed from now on, and after each: of the configuration, and of code?"""
    from watchfiles import watch

    config, output = (selection.config.root / "pyproject.toml").resolve(), selection.folder.resolve()
    folders = {config.parent, *(folder for job in selection.jobs for folder in _folders(job.target))}
    begun = False

    def counts(_: object, path: str) -> bool:
        return Path(path) == config or (path.endswith(".py") and not Path(path).is_relative_to(output))

    try:
        for changed in watch(
            *sorted(folders), watch_filter=counts, recursive=False, yield_on_timeout=True, rust_timeout=READY_AFTER
        ):
            if changed or not begun:
                begun = True
                configuration = {Path(path) == config for _, path in changed}
                yield True in configuration, False in configuration
    except (OSError, RuntimeError) as error:  # as where the system has no more watches to give
        raise UsageError(f"The files cannot be watched: {printable(error)}. Run the command without --watch.") from None


def _folders(target: Target) -> Iterable[Path]:
    """The folder of a file; of a file in a package, every folder of the package that is outermost."""
    assert isinstance(target, PythonClass) and target.path
    top = target.path.resolve().parent
    if not _is_package(top):
        return [top]
    while _is_package(top.parent):
        top = top.parent
    return [top, *(path for path in top.rglob("*") if path.is_dir() and path.name != "__pycache__")]


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file()
