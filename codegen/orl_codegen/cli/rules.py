"""`orl-codegen rules`: the catalogue of drift rules."""

from __future__ import annotations

import click


@click.command()
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="How the catalogue is printed.",
)
def rules(format_: str) -> None:
    """Print every drift rule: its id, its severities, what it means, why it matters and what to do."""
    from orl_codegen.drift.manual import MANUALS

    click.echo(MANUALS[format_](), nl=False)
