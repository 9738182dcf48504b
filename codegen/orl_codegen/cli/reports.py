"""The reports of `check` and `diff`: their options, where each goes, and in which format."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from orl_codegen.cli.interrupted import said_if_interrupted
from orl_codegen.drift.policy import DEFAULT_FAIL_ON, DEFAULT_PROFILE
from orl_codegen.drift.rules import PROFILES, SEVERITIES
from orl_codegen.errors import UsageError, printable

if TYPE_CHECKING:
    from orl_codegen.drift.findings import Report

Command = TypeVar("Command", bound=Callable[..., Any])

FAILING = SEVERITIES[: SEVERITIES.index("off")]
"""The severities that can fail a check."""

REPORT_FORMATS = ("text", "json", "github", "markdown", "sarif", "junit", "html")

STANDARD_OUTPUT = "-"


@dataclass(frozen=True)
class Destinations:
    """Where the reports of a run go.

    Attributes:
        printed: The format of what is printed.
        files: The format of each file.
    """

    printed: str
    files: Mapping[Path, str]


def report_options(command: Command) -> Command:
    """The options that `check` and `diff` share."""
    for option in reversed(_REPORT_OPTIONS):
        command = option(command)
    return command


_REPORT_OPTIONS = [
    click.option(
        "--format",
        "format_",
        type=click.Choice(REPORT_FORMATS),
        help="How the report is printed.  [default: text]",
    ),
    click.option(
        "--report",
        "reports",
        metavar="FMT=PATH",
        multiple=True,
        help="Write the report in a format to a file, too; - is standard output. May be repeated.",
    ),
    click.option(
        "--profile",
        type=click.Choice(PROFILES),
        help="Whose severities count: those of a training run, or of code that calls the adapter.  "
        f"[default: {DEFAULT_PROFILE}]",
    ),
    click.option(
        "--fail-on",
        type=click.Choice(FAILING),
        help=f"The mildest severity that gives exit status 1.  [default: {DEFAULT_FAIL_ON}]",
    ),
    click.option(
        "--accept-block", "accept_blocks", is_flag=True, help="Add the TOML block that accepts what fails, to paste."
    ),
]


def destinations(format_: str | None, reports: Sequence[str]) -> Destinations:
    """What `--format` and `--report` ask for, before any work is done.

    Raises:
        UsageError: A format does not exist, or two reports would go to one place.
        OutputError: A file cannot be written.
    """
    from orl_codegen.generator.output.whole_files import refuse_unwritable

    printed, files = format_, dict[Path, str]()
    for text in reports:
        wanted, place = _destination(text)
        path = Path(os.path.realpath(Path(place).parent)) / Path(place).name
        if path in files or (place == STANDARD_OUTPUT and printed is not None):
            where = "standard output" if place == STANDARD_OUTPUT else printable(place, 500)
            raise UsageError(f"Two reports would go to {where}. Give each --report a place of its own.")
        if place == STANDARD_OUTPUT:
            printed = wanted
        else:
            refuse_unwritable(path)
            files[path] = wanted
    return Destinations(printed or "text", MappingProxyType(files))


def _destination(text: str) -> tuple[str, str]:
    format_, _, place = text.partition("=")
    if format_ not in REPORT_FORMATS or not place:
        raise UsageError(
            f"--report {printable(text)}: write FMT=PATH, such as markdown=report.md, where FMT is one of "
            f"{', '.join(REPORT_FORMATS)}, and PATH a file, or - for standard output."
        )
    return format_, place


def hand_over(report: Report, places: Destinations, *, printing: bool = True) -> None:
    """Write the report to its files, and print it, in colours on a terminal unless NO_COLOR is set.

    It is printed even if a file cannot be written: finding out may have taken long.
    """
    from orl_codegen.drift.formats import FORMATS

    try:
        _write({path: click.unstyle(FORMATS[format_](report)) for path, format_ in places.files.items()})
    finally:
        if printing:
            text = FORMATS[places.printed](report)
            click.echo(text, nl=False, color=False if os.environ.get("NO_COLOR") else None)


def _write(files: Mapping[Path, str]) -> None:
    from orl_codegen.generator.output.whole_files import write_whole

    with said_if_interrupted() as written:
        written.so_far = "the reports may have been written" if files else written.so_far
        write_whole(files)
