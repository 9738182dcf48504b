"""`orl-codegen show`: the tools as the model will see them."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orl_codegen.cli.arguments import asking_options, default_options, job_of
from orl_codegen.cli.display import display
from orl_codegen.errors import UsageError, defused, printable, printable_lines

if TYPE_CHECKING:
    from orl_codegen.generator.output.reading import ShownTool

WIDTH = 100


@click.command()
@asking_options
@click.option("-q", "--quiet", is_flag=True, help="Only errors.")
def show(targets: tuple[str, ...], quiet: bool, **given: Any) -> None:
    """Show the tools of one TARGET, of a generated MODULE.py or of a SNAPSHOT.json, as the model will see them."""
    if len(targets) != 1:
        raise UsageError("Name one thing to show: a TARGET, a generated MODULE.py or a SNAPSHOT.json.")
    tools = _tools(targets[0], quiet, given)
    click.echo("\n\n".join(_lines(tool) for tool in tools) or "There are no tools: the model's plain answer is graded.")


def _tools(text: str, quiet: bool, given: dict[str, Any]) -> tuple[ShownTool, ...]:
    """The tools in a generated module, in a snapshot, or of an environment that is asked for them."""
    from orl_codegen.generator import pipeline, snapshot
    from orl_codegen.generator.output.context import BANNER
    from orl_codegen.generator.output.folder import read
    from orl_codegen.generator.output.reading import shown_contract, shown_tools

    path = Path(text)
    if path.suffix == ".json":
        taken, options = snapshot.load(_existing(path), printable(path)), default_options()
    elif path.suffix == ".py" and (source := read(path) or "").startswith(BANNER):
        return shown_tools(source, text)
    else:
        job = job_of(text, **given)
        with display(quiet) as shown:
            ((taken, options),) = pipeline.take_snapshots([job], shown.of)
    return shown_contract(pipeline.adapter(taken, options).contract)


def _existing(path: Path) -> str:
    from orl_codegen.generator.output.folder import read

    text = read(path)
    if text is None:
        raise UsageError(f"There is no file {printable(path)}.")
    return text


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
