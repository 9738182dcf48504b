"""The options that `generate`, `check` and `show` share, and what they mean together with the configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from orl_codegen.errors import UsageError
from orl_codegen.generator.config import Config, find_config, override
from orl_codegen.generator.options import Job, Options
from orl_codegen.generator.target import parse_target

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Selection:
    """What a command is about.

    Attributes:
        jobs: The environments.
        folder: The folder of the generated files.
        config: The configuration of the project.
        defaults: The options of an environment that is known by its files only.
        whole: Whether the jobs are all of the configuration, so that a file of ours beyond them belongs to nobody.
    """

    jobs: tuple[Job, ...]
    folder: Path
    config: Config
    defaults: Options
    whole: bool


def asking_options(command: Command) -> Command:
    """TARGETs, and the options that say how an environment is asked. None stands for "not given"."""
    for option in reversed(_ASKING):
        command = option(command)
    return command


def environment_options(command: Command) -> Command:
    """`asking_options`, and those that say where the files belong and what they are called."""
    for option in reversed(_WRITING):
        command = option(command)
    return asking_options(command)


_ASKING = [
    click.argument("targets", metavar="[TARGET]...", nargs=-1),
    click.option("--split", help="Split whose tasks are probed.  [default: train]"),
    click.option("--variant", metavar="NAME", help="Which environment of a server with several."),
    click.option("--task-tools/--no-task-tools", default=None, help="Whether to collect the tools of single tasks."),
    click.option("--probe", metavar="first|all|0,5,10-20", help="Tasks to open for that.  [default: first]"),
    click.option("--toolset", metavar="NAME", help="Built-in toolset to open the sessions with."),
    click.option(
        "--secret",
        "secrets",
        metavar="KEY=ENVVAR",
        multiple=True,
        help="Secret for the sessions, by the environment variable that holds it. May be repeated.",
    ),
    click.option(
        "--api-key-env",
        metavar="NAME",
        help="Environment variable with the API key.  [default: OPENREWARD_API_KEY, for catalog names only]",
    ),
    click.option("--allow-partial", is_flag=True, default=None, help="Leave out tasks and tools that fail."),
    click.option(
        "--on-conflict",
        type=click.Choice(["widen", "error"]),
        help="What to do with a tool that differs from task to task.  [default: widen]",
    ),
    click.option("--timeout", type=float, metavar="SECONDS", help="Longest wait for the server.  [default: 30]"),
    click.option("--templates", metavar="DIR", help="Folder of Jinja2 templates to use instead of the shipped ones."),
]

_WRITING = [
    click.option(
        "-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="Folder of the generated files."
    ),
    click.option("--name", metavar="SLUG", help="What the two files are called."),
    click.option("--class-name", metavar="NAME", help="What the adapter class is called."),
    click.option("--type-check/--no-type-check", default=None, help="Whether mypy must accept the module."),
]


def select(targets: Sequence[str], output: Path | None, *, needs_jobs: bool = True, **given: Any) -> Selection:
    """Put the command line on top of the configuration.

    A TARGET that stands in the configuration brings its options from there; without TARGET it is all that do.

    Raises:
        UsageError: There is nothing to do, no folder is named, or an option cannot be meant.
    """
    config = find_config()
    options = _given(given)
    jobs = [job for text in targets for job in _configured(text, options, config)] if targets else list(config.jobs)
    if not jobs and needs_jobs:
        raise UsageError(
            "There is nothing to do: name a TARGET (orl-codegen TARGET -o DIR), or list environments in "
            "[tool.orl-codegen] of pyproject.toml."
        )
    if len(jobs) != 1 and ("name" in options or "class_name" in options):
        raise UsageError(
            "--name and --class-name are for one TARGET. Name one, or give each its `name` in pyproject.toml."
        )
    folder = output or config.output
    if folder is None:
        raise UsageError("Say where the files belong: -o DIR, or `output` in [tool.orl-codegen] of pyproject.toml.")
    jobs = [Job(job.target, override(job.options, options, Path.cwd())) for job in jobs]
    defaults = override(config.defaults, options, Path.cwd())
    return Selection(tuple(jobs), folder, config, defaults, whole=not targets)


def job_of(text: str, **given: Any) -> Job:
    """One TARGET with its options, for commands that need no folder."""
    options = _given(given)
    job = _configured(text, options, find_config())[0]
    return Job(job.target, override(job.options, options, Path.cwd()))


def _given(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that stand on the command line, in the form that the configuration has them in."""
    options = {name: value for name, value in given.items() if value not in (None, ())}
    if "secrets" in options:
        options["secrets"] = dict(_secret(text) for text in options["secrets"])
    return options


def _configured(text: str, given: Mapping[str, Any], config: Config) -> list[Job]:
    """A TARGET with the options that the configuration has for it - several, for variants of one server - or with its
    defaults."""
    target = parse_target(text)
    known = [job for job in config.jobs if job.target.record == target.record]
    wanted = [job for job in known if given.get("variant") in (None, job.options.variant)]
    return wanted or [Job(target, config.defaults)]


def _secret(text: str) -> tuple[str, str]:
    key, equals, name = text.partition("=")
    if not (key and equals and name):
        raise UsageError(
            "--secret takes KEY=ENVVAR: the name of the environment variable that holds the secret, never the secret."
        )
    return key, name


def default_options() -> Options:
    """The defaults of the project."""
    return find_config().defaults
