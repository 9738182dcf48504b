"""`orl-codegen init`: from a TARGET to a project that has its adapter, and that notices when the environment moves."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import click

from orl_codegen.cli.arguments import environment_options, given_options
from orl_codegen.cli.display import display, report
from orl_codegen.cli.generate import relative_path
from orl_codegen.cli.interrupted import said_if_interrupted
from orl_codegen.errors import ServerError, UsageError, printable
from orl_codegen.generator.config import find_config, override
from orl_codegen.generator.options import Job, Options
from orl_codegen.generator.project import hook
from orl_codegen.generator.project.places import Places, find_places, record_in
from orl_codegen.generator.project.setup import FOLDER, Setup
from orl_codegen.generator.project.workflow import is_local, variables
from orl_codegen.generator.target import PythonClass, parse_target

if TYPE_CHECKING:
    from orl_codegen.generator.output.writing import FileChange
    from orl_codegen.generator.pipeline import Adapter

ASKED = "Which environment (Owner/Name, http://host:port or path/to/server.py:Class)"


@click.command()
@environment_options
@click.option("--dry-run", is_flag=True, help="Write nothing; exit status 1 if a file would change.")
@click.option("-q", "--quiet", is_flag=True, help="Only errors.")
def init(targets: tuple[str, ...], output: Path | None, dry_run: bool, quiet: bool, **given: Any) -> int:
    """Set a project up for one TARGET: write the configuration, the adapter, a GitHub workflow and a pre-commit hook.

    The options are those of `generate`; what is given goes into pyproject.toml. Files and settings that exist stay as
    they are. Either everything is written, or nothing: the adapter is made first.
    """
    setup = _setup(targets, output, given)
    from orl_codegen.generator import pipeline
    from orl_codegen.generator.output import writing

    with said_if_interrupted() as written, display(quiet) as shown:
        _refuse_without_secrets(setup)
        adapters = pipeline.generate(setup.jobs, setup.folder, progress=shown.of)
        _refuse_to_take_over(setup, adapters)
        find_changes = partial(_changes, setup, adapters)
        if dry_run:
            changes = find_changes()
        else:
            written.so_far = "the files may have been written: run the command again"
            changes = writing.write(setup.folder, find_changes, shown.say)
            written.so_far = "the files were written"
        for made in adapters:
            report(shown, made, verbose=False)
    if not quiet:
        _tell(setup, adapters, changes, dry_run)
    return 1 if dry_run and changes else 0


def _setup(targets: Sequence[str], output: Path | None, given: Mapping[str, Any]) -> Setup:
    """Work out what is to be set up.

    Raises:
        UsageError: No TARGET is named where nobody can be asked, or what is given contradicts the configuration.
    """
    if len(targets) > 1:
        raise UsageError("init sets up one TARGET at a time. Run it once for each.")
    places, config = find_places(Path.cwd()), find_config()
    if output and config.output and output.resolve() != config.output.resolve():
        raise UsageError(
            f"pyproject.toml says that the output folder of this project is {printable(config.output)}. Leave out -o, "
            "or change `output` there."
        )
    folder = places.relative(output) if output else FOLDER
    if not targets and config.jobs:
        return Setup(places, folder)
    target = parse_target(targets[0] if targets else _asked())
    entry = {"target": record_in(target, places.root), **_options(given, places)}
    return Setup(places, folder, entry)


def _asked() -> str:
    if not sys.stdin.isatty():
        raise UsageError("Name the TARGET to set up: orl-codegen init TARGET. There is no terminal to ask on.")
    answer: str = click.prompt(ASKED, err=True)
    return answer.strip()


def _options(given: Mapping[str, Any], places: Places) -> dict[str, Any]:
    """The options of the command line, as pyproject.toml spells them."""
    options = given_options(given)
    override(Options(), options, Path.cwd())  # what is wrong with them is said as of the command line
    if "templates" in options:
        options["templates"] = places.relative(Path(options["templates"]))
    return {name.replace("_", "-"): value for name, value in options.items()}


def _refuse_without_secrets(setup: Setup) -> None:
    """Ask the platform which secrets its environments require, before a session is opened without them."""
    for job in setup.jobs:
        missing = [key for key in _required(job) if key not in job.options.secrets]
        if missing:
            options = " ".join(f"--secret {key}={re.sub(r'[^A-Za-z0-9]', '_', key).upper()}" for key in missing)
            raise UsageError(
                f"{printable(job.target.record)} requires secrets that were not passed: {', '.join(missing)}. Nothing "
                f"was written. Put each into an environment variable, and name that variable: {options}."
            )


def _required(job: Job) -> tuple[str, ...]:
    """The keys of the secrets that the platform says an environment requires; none where it does not answer, since
    generating then says what is wrong."""
    from orl_codegen.generator.discovery.required_secrets import required_secrets

    try:
        return required_secrets(job.target, job.options)
    except ServerError:
        return ()


def _refuse_to_take_over(setup: Setup, adapters: Sequence[Adapter]) -> None:
    """Refuse to replace the files of another environment, which `generate` only warns of."""
    from orl_codegen.generator.output.folder import recorded_targets

    targets = recorded_targets(setup.folder)
    for made in adapters:
        before = targets.get(made.slug)
        if before and before != made.taken.target:
            raise UsageError(
                f"{made.slug}.py is the adapter of {printable(before)}. Nothing was written. Give the one of "
                f"{printable(made.taken.target)} another name: --name SLUG."
            )


def _changes(setup: Setup, adapters: Sequence[Adapter]) -> tuple[FileChange, ...]:
    """The files of the adapters, and those of the project around them."""
    from orl_codegen.generator.output import writing

    files = {name: text for made in adapters for name, text in made.files.items()}
    around = (writing.FileChange(path, *texts) for path, texts in setup.files().items())
    return (*writing.changes(setup.folder, files), *(change for change in around if change.old != change.new))


def _tell(setup: Setup, adapters: Sequence[Adapter], changes: Sequence[FileChange], dry_run: bool) -> None:
    """List the files, and say what to do next."""
    changed = [change.path for change in changes]
    for path in changed:
        click.echo(f"{'would write' if dry_run else 'wrote'} {relative_path(path)}")
    made = [setup.folder / name for adapter in adapters for name in adapter.files]
    for path in (path for path in (*made, *setup.files()) if path not in changed):
        click.echo(f"left as it is: {relative_path(path)}")
    parts = [*_left_to_do(setup), *([] if dry_run else [_commands(setup), _training(setup, adapters)])]
    click.echo("".join(f"\n{part}\n" for part in parts), nl=False)


def _left_to_do(setup: Setup) -> Iterator[str]:
    """What `init` cannot do by itself."""
    hooks = setup.files().get(setup.places.hooks, (None, ""))[1]
    if not setup.has_hook:
        yield "There is no pre-commit hook: it would run in the root of the repository, where no pyproject.toml is."
    elif hook.ID not in hooks:
        yield f"Add this to `repos` in {relative_path(setup.places.hooks)}:\n\n{hook.ENTRY.rstrip()}"
    if any(is_local(job.target) for job in setup.config.jobs):
        yield "The workflow checks offline: GitHub cannot reach a server on your machine."
    for name in variables(setup.config.jobs):
        yield f"Give the workflow its secret: gh secret set {printable(name)}"


def _commands(setup: Setup) -> str:
    paths = " ".join(shlex.quote(relative_path(path)) for path in (setup.folder, *setup.files()))
    return f"Next:\n  git add {paths}\n  orl-codegen check"


def _training(setup: Setup, adapters: Sequence[Adapter]) -> str:
    """How to train in the first environment."""
    name, target = adapters[0].class_name, setup.jobs[0].target
    module = ".".join([*Path(setup.places.relative(setup.folder)).parts, adapters[0].slug])
    served = isinstance(target, PythonClass)
    lines = [
        f"from orl_codegen import OpenRewardSpec{', serve' if served else ''}",
        "from trl import GRPOConfig, GRPOTrainer",
        f"from {module} import {name}",
        "",
        *([f"with serve({json.dumps(target.record)}) as url:"] if served else []),
    ]
    body = _TRAINER.format(arguments=f"{name}, base_url=url" if served else name)
    return "Train:\n" + indent("\n".join([*lines, indent(body, "    " if served else "")]), "  ")


_TRAINER = """\
spec = OpenRewardSpec({arguments})
trainer = GRPOTrainer(
    model="Qwen/Qwen3-0.6B",
    args=GRPOConfig(max_tool_calling_iterations=20),
    train_dataset=spec.train_dataset,
    environment_factory=spec.environment_factory,
    reward_funcs=spec.reward_funcs,
)
trainer.train()"""
