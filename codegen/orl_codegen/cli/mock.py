"""`orl-codegen mock`: stand in for an environment until it is interrupted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orl_codegen.cli.interrupted import said_if_interrupted
from orl_codegen.errors import defused, printable

if TYPE_CHECKING:
    from orl_codegen.standin.world import Called, World

SHOWN = 20
"""Calls that were not recorded and are listed."""


@click.command()
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 is any that is free.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--seed", type=int, default=0, show_default=True, help="What rewards are drawn from.")
@click.option("--rewards", "script", type=click.Path(path_type=Path), help="JSON file with the rewards of the calls.")
def mock(source: Path, port: int, host: str, seed: int, script: Path | None) -> None:
    """Stand in for the environment of a committed snapshot, or replay a cassette that `record` wrote.

    The first line of the output is the URL. It serves until Ctrl-C or SIGTERM ends it.
    """
    from orl_codegen.generator.discovery.running import run
    from orl_codegen.standin.mocking import world_of
    from orl_codegen.standin.scoring import read_rewards, scoring_of

    scoring = scoring_of(seed, None if script is None else read_rewards(script), f"--rewards {script}")
    world = world_of(source, scoring)
    calls: list[Called] = []
    try:
        with said_if_interrupted() as said:
            said.so_far = "the stand-in has ended"
            run(_serve(world, host, port, calls))
    finally:
        click.echo(f"{len(calls)} calls were answered.", err=True)
        _say_what_was_not_recorded(calls)


def _say_what_was_not_recorded(calls: list[Called]) -> None:
    from orl_codegen.standin.world import NOT_RECORDED

    missing = [call for call in calls if call.reason == NOT_RECORDED]
    for call in missing[:SHOWN]:
        what = f"{call.name} with {json.dumps(call.input, ensure_ascii=False)}"
        task = json.dumps(call.task, ensure_ascii=False)
        click.echo(f"not recorded: {printable(what)}, in the task {printable(task, 100)}", err=True)
    if len(missing) > SHOWN:
        click.echo(f"not recorded: {len(missing) - SHOWN} further calls", err=True)


async def _serve(world: World, host: str, port: int, calls: list[Called]) -> None:
    from orl_codegen.standin.application import Desk, application
    from orl_codegen.standin.listening import listening

    async with listening(application(Desk(world, calls.append)), port, host) as url:
        click.echo(url)
        click.echo(f"standing in for {defused(world.snapshot.variant)}", err=True)
        await asyncio.Event().wait()
