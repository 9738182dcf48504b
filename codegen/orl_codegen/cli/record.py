"""`orl-codegen record`: a proxy in front of a server, which writes down what passes until it is interrupted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orl_codegen.cli.interrupted import said_if_interrupted
from orl_codegen.endings import uninterrupted
from orl_codegen.errors import defused

if TYPE_CHECKING:
    from orl_codegen.standin.recording import Recorder


@click.command()
@click.argument("url", metavar="URL")
@click.option("--cassette", required=True, type=click.Path(path_type=Path), help="File to write, for `mock`.")
@click.option("--port", type=click.IntRange(0, 65535), default=8081, show_default=True, help="0 is any that is free.")
@click.option("--variant", help="Which environment, on a server with several. [default: its first]")
@click.option("--split", default="train", show_default=True, help="A split that the environment has.")
@click.option("--api-key-env", help="Variable that holds the key for this server, if no client sends one.")
def record(url: str, cassette: Path, port: int, variant: str | None, split: str, api_key_env: str | None) -> None:
    """Record what passes between clients of a proxy and the server at URL, for `mock` to replay.

    The first line of the output is the address of the proxy, on loopback. It serves until Ctrl-C or SIGTERM ends it,
    and writes the file then, as a whole, and now and then before.
    """
    from orl_codegen.generator.discovery.running import run
    from orl_codegen.generator.options import Options
    from orl_codegen.standin.recording import recorder_of

    options = Options(variant=variant, split=split, api_key_env=api_key_env)
    with said_if_interrupted() as said:
        recorder = run(recorder_of(url, cassette, options))
        try:
            run(_pass_on(recorder, port))
        finally:
            with uninterrupted():
                said.so_far = recorder.outcome()


async def _pass_on(recorder: Recorder, port: int) -> None:
    from orl_codegen.standin.listening import listening
    from orl_codegen.standin.recording import recording

    async with listening(recording(recorder), port) as url:
        click.echo(url)
        click.echo(f"recording {defused(recorder.where.variant)}", err=True)
        await asyncio.Event().wait()
