"""`orl-codegen rules`: the catalogue of drift rules."""

from __future__ import annotations

import json

import click


@click.command()
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "markdown", "config-schema"]),
    default="text",
    show_default=True,
    help="How the catalogue is printed; config-schema is the JSON Schema of the configuration, for editors.",
)
def rules(format_: str) -> None:
    """Print every drift rule: its id, its severities, what it means, why it matters and what to do."""
    if format_ == "config-schema":
        from orl_codegen.drift.config_schema import config_schema

        click.echo(json.dumps(config_schema(), indent=2))
        return
    from orl_codegen.drift.manual import MANUALS

    click.echo(MANUALS[format_](), nl=False)
