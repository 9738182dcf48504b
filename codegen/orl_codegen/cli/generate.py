"""`orl-codegen generate`: snapshot, render, verify, write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orl_codegen.cli.arguments import Selection, environment_options, select, timings_option
from orl_codegen.cli.display import Display, display, report, report_timings
from orl_codegen.cli.interrupted import Written, said_if_interrupted
from orl_codegen.errors import UsageError, defused, printable
from orl_codegen.generator.stopwatch import Stopwatch

if TYPE_CHECKING:
    from orl_codegen.generator.output.writing import FileChange
    from orl_codegen.generator.pipeline import Adapter


@click.command()
@environment_options
@click.option("--offline", is_flag=True, help="Render again from the committed snapshots; no network.")
@click.option("--dry-run", is_flag=True, help="Write nothing; exit status 1 if a file would change.")
@click.option("--diff", "show_diff", is_flag=True, help="Print the unified diff of every change.")
@click.option("--prune", is_flag=True, help="Remove files of orl-codegen that no environment of pyproject.toml claims.")
@timings_option
@click.option(
    "--watch", is_flag=True, help="Generate again whenever the Python code of a TARGET or the configuration changes."
)
@click.option("-q", "--quiet", is_flag=True, help="Only errors.")
@click.option("-v", "--verbose", is_flag=True, help="Every note, and the unchanged files.")
def generate(watch: bool, prune: bool, offline: bool, **given: Any) -> int:
    """Snapshot the tools of each TARGET, render its adapter, type-check it, and write both files.

    TARGET is a catalog name (Owner/Name), the URL of a server, or a Python environment class (path/to/server.py[:Class]
    or package.module:Class). Without TARGET, it generates every environment in [tool.orl-codegen] of pyproject.toml.
    """
    how = {name: given.pop(name) for name in ("dry_run", "show_diff", "quiet", "verbose", "timings")}
    how["type_check_all"] = given["type_check"] is True
    choose = partial(select, given.pop("targets"), given.pop("output"), needs_jobs=not offline, **given)
    if watch and (offline or prune):
        raise UsageError("--watch keeps asking the live environments: leave out --offline and --prune.")
    if watch:
        return _watch(choose, partial(_generate, offline=False, prune=False, written=Written(), **how))
    selection = choose()
    if prune and not (selection.whole and selection.config.jobs):
        raise UsageError(
            "--prune removes files that no environment of pyproject.toml claims. List the environments there, in "
            "[[tool.orl-codegen.environments]], and do not name a TARGET."
        )
    with said_if_interrupted() as written:
        return _generate(selection, offline=offline, prune=prune, written=written, **how)


def _watch(choose: Callable[[], Selection], work: Callable[[Selection], int]) -> int:
    """Generate now and after each change, until Ctrl-C, which is how this is meant to end."""
    from orl_codegen.cli.watching import work_on_changes

    try:
        work_on_changes(choose, work)
    except KeyboardInterrupt:
        return 0


def _generate(
    selection: Selection,
    *,
    dry_run: bool,
    show_diff: bool,
    quiet: bool,
    verbose: bool,
    timings: bool,
    type_check_all: bool,
    offline: bool,
    prune: bool,
    written: Written,
) -> int:
    from orl_codegen.generator import pipeline
    from orl_codegen.generator.output.folder import recorded_targets

    folder, stopwatch = selection.folder, Stopwatch()
    with display(quiet) as shown:
        adapters = pipeline.generate(
            selection.jobs,
            folder,
            offline=offline,
            defaults=selection.defaults,
            progress=shown.of,
            type_check_all=type_check_all,
            stopwatch=stopwatch,
        )
        with stopwatch.stage("writing"):
            targets = recorded_targets(folder)
            find_changes = partial(_changes, folder, adapters, prune)
            changes = find_changes() if dry_run else _write(folder, find_changes, shown, written)
        for made in adapters:
            report(shown, made, verbose)
        if timings:
            report_timings(shown, stopwatch)
    if not quiet:
        _warn_of_replaced(adapters, targets)
        _list_files(folder, adapters, changes, dry_run, verbose)
    if show_diff:
        for change in changes:
            click.echo(unified_diff(change.path, change.old, change.new), nl=False)
    return 1 if dry_run and changes else 0


def _changes(folder: Path, adapters: Sequence[Adapter], prune: bool) -> tuple[FileChange, ...]:
    """The changes that make the folder hold the files of the adapters and, of orl-codegen, nothing else on request."""
    from orl_codegen.generator.output import writing

    files = {name: text for made in adapters for name, text in made.files.items()}
    removed = writing.unclaimed(folder, [made.slug for made in adapters]) if prune else ()
    return writing.changes(folder, files) + removed


def _write(
    folder: Path, find_changes: Callable[[], tuple[FileChange, ...]], shown: Display, written: Written
) -> tuple[FileChange, ...]:
    from orl_codegen.generator.output import writing

    def about_to_write() -> tuple[FileChange, ...]:
        found = find_changes()
        if found:
            written.so_far = "the files may have been written: run the command again"
        return found

    changes = writing.write(folder, about_to_write, shown.say)
    written.so_far = "the files were written" if changes else written.so_far
    return changes


def _warn_of_replaced(adapters: Sequence[Adapter], targets: Mapping[str, str]) -> None:
    """Tell the user if the files of another target had the same name; `targets` are those before the run, by slug."""
    for made in adapters:
        before, now = targets.get(made.slug), made.taken.target
        if before and before != now:
            replaced = f"{made.slug} was generated from {printable(before)}, and now from {printable(now)}"
            click.echo(f"orl-codegen: {replaced}. To keep both, give one another name: --name.", err=True)


def _list_files(
    folder: Path, adapters: Sequence[Adapter], changes: Sequence[FileChange], dry_run: bool, verbose: bool
) -> None:
    """Print a line for each changed file; for each unchanged one too, if the user wants to know or nothing changed."""
    for change in changes:
        done, planned = ("removed", "would remove") if change.new is None else ("wrote", "would write")
        click.echo(f"{planned if dry_run else done} {relative_path(change.path)}")
    unchanged = {folder / name for made in adapters for name in made.files} - {change.path for change in changes}
    if verbose or not changes:
        for path in sorted(unchanged):
            click.echo(f"unchanged {relative_path(path)}")


def unified_diff(path: Path, old: str | None, new: str | None) -> str:
    """The unified diff of a file; what a terminal or a CI runner would obey is escaped."""
    import difflib

    names = [
        f"a/{relative_path(path)}" if old is not None else "/dev/null",
        f"b/{relative_path(path)}" if new is not None else "/dev/null",
    ]
    before, after = (old or "").split("\n"), (new or "").split("\n")
    lines = difflib.unified_diff(before, after, names[0], names[1], lineterm="")
    return "".join(f"{defused(line)}\n" for line in lines)


def relative_path(path: Path) -> str:
    """A path, relative to the working directory if it is inside it."""
    absolute = path.absolute()
    return printable(absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else path, 500)
