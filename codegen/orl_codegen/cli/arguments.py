"""The options that `generate`, `check` and `show` share, combined with those of the configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from orl_codegen.errors import OrlCodegenError, UsageError
from orl_codegen.generator.config import Config, find_config, override
from orl_codegen.generator.options import ON_CONFLICT, Job, Options
from orl_codegen.generator.target import parse_target

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Selection:
    """What a command works on.

    Attributes:
        jobs: The environments.
        folder: The folder of the generated files.
        config: The configuration of the project.
        defaults: The options of an environment that is known only from its files.
        whole: Whether the jobs are the whole configuration, so that any other generated file is an orphan.
    """

    jobs: tuple[Job, ...]
    folder: Path
    config: Config
    defaults: Options
    whole: bool


def asking_options(command: Command) -> Command:
    """TARGETs, and the options for asking an environment. None stands for "not given"."""
    for option in reversed(_ASKING):
        command = option(command)
    return command


def environment_options(command: Command) -> Command:
    """`asking_options`, and those for the folder and the names of the files."""
    for option in reversed(_WRITING):
        command = option(command)
    return asking_options(command)


def _complete_target(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The environments of the configuration, or else files."""
    try:
        known = [job.target.record for job in find_config().jobs]
    except OrlCodegenError:  # it is told when the command runs
        known = []
    found = [CompletionItem(record) for record in known if record.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def _default(field: str) -> str:
    """What the help says about a default; `None` stands for "not given", so click does not know the defaults itself."""
    value = getattr(Options, field)
    if isinstance(value, bool):
        name = field.replace("_", "-")
        value = name if value else f"no-{name}"
    return f"  [default: {value:g}]" if isinstance(value, float) else f"  [default: {value}]"


_ASKING = [
    click.argument("targets", metavar="[TARGET]...", nargs=-1, shell_complete=_complete_target),
    click.option("--split", help="Split whose tasks are probed." + _default("split")),
    click.option("--variant", metavar="NAME", help="Which environment of a server with several."),
    click.option(
        "--task-tools/--no-task-tools",
        default=None,
        help="Whether to collect the tools of single tasks." + _default("task_tools"),
    ),
    click.option("--probe", metavar="first|all|0,5,10-20", help="Tasks to open for that." + _default("probe")),
    click.option(
        "--concurrency", type=int, metavar="N", help="How many tasks are open at a time." + _default("concurrency")
    ),
    click.option("--toolset", metavar="NAME", help="Built-in toolset to open the sessions with."),
    click.option(
        "--secret",
        "secrets",
        metavar="KEY=ENVVAR",
        multiple=True,
        help="Secret for the sessions, and the environment variable that holds it. May be repeated.",
    ),
    click.option(
        "--api-key-env",
        metavar="NAME",
        help="Environment variable with the API key.  [default: OPENREWARD_API_KEY, for catalog names only]",
    ),
    click.option("--allow-partial", is_flag=True, default=None, help="Leave out tasks and tools that fail."),
    click.option(
        "--on-conflict",
        type=click.Choice(ON_CONFLICT),
        help="What to do with a tool that differs from task to task." + _default("on_conflict"),
    ),
    click.option("--timeout", type=float, metavar="SECONDS", help="Longest wait for the server." + _default("timeout")),
    click.option("--templates", metavar="DIR", help="Folder of Jinja2 templates that replace the shipped ones."),
]

_WRITING = [
    click.option(
        "-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="Folder of the generated files."
    ),
    click.option("--name", metavar="SLUG", help="Name of the two files."),
    click.option("--class-name", metavar="NAME", help="Name of the adapter class."),
    click.option(
        "--type-check/--no-type-check",
        default=None,
        help="Whether mypy must accept the module." + _default("type_check"),
    ),
]


timings_option = click.option("--timings", is_flag=True, help="Print how long each stage took.")


def select(targets: Sequence[str], output: Path | None, *, needs_jobs: bool = True, **given: Any) -> Selection:
    """Combine the command line with the configuration, which it overrides.

    A TARGET that the configuration lists has its options from there; without TARGET, all that it lists are selected.

    Raises:
        UsageError: There is nothing to do, no folder is named, or an option is invalid.
    """
    config = find_config()
    options = given_options(given)
    jobs = [job for text in targets for job in _configured(text, options, config)] if targets else list(config.jobs)
    if not jobs and needs_jobs:
        raise UsageError(
            "There is nothing to do: name a TARGET (orl-codegen TARGET -o DIR), or list environments in "
            "[tool.orl-codegen] of pyproject.toml."
        )
    if len(jobs) != 1 and ("name" in options or "class_name" in options):
        raise UsageError(
            "--name and --class-name need exactly one TARGET. Name one, or set `name` for each in pyproject.toml."
        )
    folder = output or config.output
    if folder is None:
        raise UsageError("Name the output folder: -o DIR, or `output` in [tool.orl-codegen] of pyproject.toml.")
    jobs = [Job(job.target, override(job.options, options, Path.cwd())) for job in jobs]
    defaults = override(config.defaults, options, Path.cwd())
    return Selection(tuple(jobs), folder, config, defaults, whole=not targets)


def jobs_of(text: str | None, **given: Any) -> tuple[Job, ...]:
    """One TARGET with its options, for commands that do not need a folder; without one, those of the configuration."""
    options, config = given_options(given), find_config()
    jobs = config.jobs if text is None else _configured(text, options, config)[:1]
    return tuple(Job(job.target, override(job.options, options, Path.cwd())) for job in jobs)


def given_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the command line, in the form that they have in the configuration."""
    options = {name: value for name, value in given.items() if value not in (None, ())}
    if "secrets" in options:
        options["secrets"] = dict(_secret(text) for text in options["secrets"])
    return options


def _configured(text: str, given: Mapping[str, Any], config: Config) -> list[Job]:
    """A TARGET with its options in the configuration, once for each variant listed there, or else with the defaults."""
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
