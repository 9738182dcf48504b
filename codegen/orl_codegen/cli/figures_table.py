"""The tables that `eval` prints."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from orl_codegen.errors import defused, json_escape, printable, printable_lines

if TYPE_CHECKING:
    from rich.table import Table

    from orl_codegen.inspect.comparing import SideBySide, TaskPair
    from orl_codegen.inspect.figures import Estimate, Figures

WIDTH = 100

NONE = "–"


def show_figures(figures: Figures) -> None:
    """Print the figures of one evaluation."""
    table = _table("", figures.model)
    for name, value in _rows(figures):
        table.add_row(name, value)
    _print(f"{figures.task}, split {figures.split}", table)
    _show_failures(figures)
    _show_tools(figures)


def show_comparison(compared: SideBySide) -> None:
    """Print two evaluations side by side, and their tasks."""
    before, after = compared.before, compared.after
    table = _table("", f"before: {before.model}", f"after: {after.model}")
    old, new = dict(_rows(before)), dict(_rows(after))
    for name in max(old, new, key=len):
        table.add_row(name, old.get(name, NONE), new.get(name, NONE))
    _print(f"{after.task}, split {after.split}", table)
    tasks = _table("task", "before", "after", "difference")
    for pair in compared.pairs:
        tasks.add_row(printable(pair.task, 60), *_cells(pair))
    tasks.add_row("mean of the differences", "", "", _estimate(compared.difference, "+.3f"))
    _print("", tasks)
    if compared.tools_differ:
        click.echo("The two were played with adapters of different snapshots: what the model was shown has changed.")
    _show_failures(after)
    _show_tools(after)


def as_json(found: Figures | SideBySide) -> str:
    """One object, with the fields of `Figures` or `SideBySide`."""
    return printable_lines(json.dumps(asdict(found), indent=2), json_escape)


def _rows(figures: Figures) -> list[tuple[str, str]]:
    rollouts = f"{figures.rollouts} of {figures.tasks} {_plural('task', figures.tasks)}"
    tools = figures.tools.values()
    made, refused = sum(tool.made for tool in tools), sum(sum(tool.problems.values()) for tool in tools)
    passed = [(f"pass@{k}", f"{share:.1%}") for k, share in sorted(figures.passed.items())]
    return [
        ("mean reward", _estimate(figures.reward, ".3f")),
        *((f"  in turn {turn}", f"{mean:.3f}") for turn, mean in sorted(figures.by_turn.items())),
        *passed,
        ("rollouts", rollouts),
        ("  with a reward", str(figures.scored)),
        ("  finished", str(figures.finished)),
        ("  failed", str(figures.failed)),
        ("turns", f"{figures.turns:.1f} in a rollout"),
        ("calls", f"{made}, of which {refused} not carried out"),
        ("tokens", f"{figures.input_tokens} read, {figures.output_tokens} written"),
    ]


def _estimate(estimate: Estimate | None, form: str) -> str:
    if estimate is None:
        return NONE
    error = "" if estimate.error is None else f" ± {estimate.error:.3f} (95 %)"
    return f"{estimate.mean:{form}}{error}"


def _cells(pair: TaskPair) -> list[str]:
    values = ((pair.before, ".3f"), (pair.after, ".3f"), (pair.difference, "+.3f"))
    return [NONE if value is None else f"{value:{form}}" for value, form in values]


def _show_failures(figures: Figures) -> None:
    """Why rollouts failed, the most frequent reasons first."""
    for reason, count in sorted(figures.failures.items(), key=lambda pair: -pair[1]):
        text = f"{count} failed: {defused(reason)}"
        click.echo(printable_lines(textwrap.fill(text, WIDTH, subsequent_indent="    ")))


def _show_tools(figures: Figures) -> None:
    table = _table("tool", "calls", "not carried out")
    for name, tool in figures.tools.items():
        table.add_row(printable(name, 60), str(tool.made), _reasons(tool.problems, sum(tool.problems.values())))
    if figures.tools:
        _print("", table)


def _reasons(reasons: Mapping[str, int], total: int) -> str:
    """How many, and why, the most frequent reasons first."""
    ordered: Sequence[tuple[str, int]] = sorted(reasons.items(), key=lambda pair: -pair[1])
    told = "; ".join(f"{printable(reason, 200)}: {count}" for reason, count in ordered)
    return f"{total} ({told})" if told else str(total)


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _table(first: str, *others: str) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(Text(first))
    for name in others:
        table.add_column(Text(printable(name, 60)))
    return table


def _print(title: str, table: Table) -> None:
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else WIDTH, markup=False, emoji=False, highlight=False)
    with console.capture() as printed:
        console.print(table)
    lines = [line.rstrip() for line in printed.get().splitlines()]
    click.echo("\n".join([*filter(None, [printable(title, 200)]), *lines, ""]))
