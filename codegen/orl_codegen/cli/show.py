"""`orl-codegen show`: the tools as the model will see them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orl_codegen.cli.arguments import asking_options, default_options, jobs_of
from orl_codegen.cli.display import display
from orl_codegen.errors import UsageError, defused, json_escape, printable, printable_lines

if TYPE_CHECKING:
    from orl_codegen.generator.options import Job, Options
    from orl_codegen.generator.output.reading import ShownTool
    from orl_codegen.generator.snapshot import Snapshot

WIDTH = 100

Tools = tuple["ShownTool", ...]


@click.command()
@asking_options
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "prompt"]),
    default="text",
    show_default=True,
    help="For reading, as the JSON that transformers makes of them, or as the text of a prompt.",
)
@click.option("--tokenizer", metavar="DIR", help="Folder or hub name of the tokenizer, for --format prompt.")
@click.option("-q", "--quiet", is_flag=True, help="Only errors.")
def show(targets: tuple[str, ...], format_: str, tokenizer: str | None, quiet: bool, **given: Any) -> None:
    """Show the tools of a TARGET, of a generated MODULE.py or of a SNAPSHOT.json, as the model will see them.

    Without argument, it shows those of every environment in [tool.orl-codegen] of pyproject.toml.
    """
    if (format_ == "prompt") != (tokenizer is not None):
        raise UsageError("--format prompt needs --tokenizer DIR, the tokenizer of the model, and only it takes one.")
    if len(targets) > 1:
        raise _which()
    environments = _named(targets[0], quiet, given) if targets else _configured(quiet, given)
    if format_ == "json":
        click.echo(_json(environments, whole=not targets))
        return
    for number, (name, tools) in enumerate(environments.items()):
        if not targets:
            click.echo(click.style(f"{chr(10) if number else ''}{name}\n", bold=True))
        click.echo(_text(tools) if tokenizer is None else _prompt(tools, tokenizer, quiet))


def _which() -> UsageError:
    return UsageError(
        "Name one thing to show: a TARGET, a generated MODULE.py or a SNAPSHOT.json. Or name nothing, to show the "
        "environments in [tool.orl-codegen] of pyproject.toml."
    )


def _named(text: str, quiet: bool, given: Mapping[str, Any]) -> Mapping[str, Tools]:
    """The tools in a generated module, in a snapshot, or of an environment that is asked for them."""
    from orl_codegen.generator import snapshot
    from orl_codegen.generator.output.context import BANNER
    from orl_codegen.generator.output.folder import read
    from orl_codegen.generator.output.reading import shown_tools

    path = Path(text)
    if path.suffix == ".json":
        return dict([_worked_out(snapshot.load(_existing(path), printable(path)), default_options())])
    if path.suffix == ".py" and (source := read(path) or "").startswith(BANNER):
        return {path.stem: shown_tools(source, text)}
    return _live(jobs_of(text, **given), quiet)


def _configured(quiet: bool, given: Mapping[str, Any]) -> Mapping[str, Tools]:
    """The tools of every environment of the configuration."""
    jobs = jobs_of(None, **given)
    if not jobs:
        raise _which()
    return _live(jobs, quiet)


def _live(jobs: Sequence[Job], quiet: bool) -> Mapping[str, Tools]:
    """The tools of environments that are asked for them, by the names of their files."""
    from orl_codegen.generator import pipeline

    with display(quiet) as shown:
        return dict(_worked_out(*taken) for taken in pipeline.take_snapshots(jobs, shown.of))


def _worked_out(taken: Snapshot, options: Options) -> tuple[str, Tools]:
    from orl_codegen.generator import pipeline
    from orl_codegen.generator.output.reading import shown_contract

    made = pipeline.adapter(taken, options)
    return made.slug, shown_contract(made.contract)


def _existing(path: Path) -> str:
    from orl_codegen.generator.output.folder import read

    text = read(path)
    if text is None:
        raise UsageError(f"There is no file {printable(path)}.")
    return text


def _json(environments: Mapping[str, Tools], whole: bool) -> str:
    """A list for one environment; for those of the configuration, an object with the list of each."""
    from orl_codegen.generator.output.prompting import json_schemas

    made = {name: json_schemas(tools) for name, tools in environments.items()}
    text = json.dumps(made if whole else next(iter(made.values())), indent=2)
    return printable_lines(text, json_escape)


def _prompt(tools: Tools, tokenizer: str, quiet: bool) -> str:
    """The prompt; how long it is, is said on standard error, so that what is piped is the text alone."""
    from orl_codegen.generator.output.prompting import prompt_with

    made = prompt_with(tools, tokenizer)
    if not quiet:
        count = f"{len(tools)} tool{'' if len(tools) == 1 else 's'}"
        click.echo(
            f"orl-codegen: {made.tokens} tokens without the task's own prompt; {made.of_tools} for {count}", err=True
        )
    return printable_lines(made.text)


def _text(tools: Tools) -> str:
    return "\n\n".join(map(_lines, tools)) or "There are no tools: the model's plain answer is graded."


def _lines(tool: ShownTool) -> str:
    """One tool, for reading; what a terminal or a CI runner would obey is escaped."""
    parts = [click.style(printable(tool.name), bold=True)]
    for line in tool.text.split("\n"):
        parts.append(_wrapped(line, "  ", "  "))
    for parameter in tool.parameters:
        needed = "" if parameter.required else ", optional"
        head = f"    {printable(parameter.name)}: {printable(parameter.annotation, 2000)}{needed}"
        parts += [click.style(head, fg="cyan"), _wrapped(parameter.text, "        ", "        ")]
    return "\n".join(parts)


def _wrapped(text: str, first: str, rest: str) -> str:
    lines = textwrap.fill(defused(text), WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return printable_lines(lines)  # once more: where a long word is broken, a line may begin with a command
