"""The command `orl-codegen`. Only this package prints: results on standard output, all else on standard error.

Exit status: 0 clean; 1 drift found, or a file would change under `--dry-run`; 2 could not do it. An error never ends in
status 1, so that it cannot be mistaken for a finding, nor a finding for an error. A command that a signal ends has
status 128 plus its number, as in a shell: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP. It closes its sessions
first, and says in a line whether it has written anything; a second signal meanwhile does not cut that off.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from orl_codegen.cli.interrupted import Interrupted, said_if_interrupted
from orl_codegen.endings import Interrupts
from orl_codegen.errors import OrlCodegenError, printable, printable_lines
from orl_codegen.version import __version__

INTERRUPTED = 130

COMMANDS = {
    "init": "Set a project up: configuration, first adapter, GitHub workflow and pre-commit hook.",
    "generate": "Snapshot, render, verify and write the adapters of TARGETs (the word may be omitted).",
    "check": "Compare committed modules, committed snapshots and live environments. Writes nothing.",
    "diff": "Compare two snapshots.",
    "changelog": "Tell what changed in the adapters between two git refs, for release notes.",
    "show": "Show the tools as the model will see them, also as JSON or as its prompt.",
    "doctor": "Check an adapter, a model and the settings of a trainer before training.",
    "eval": "Play the tasks of a split with a model, and print what came of it.",
    "mock": "Stand in for an environment: serve its committed snapshot, or a cassette.",
    "record": "Record what passes between training code and a server, for `mock` to replay.",
    "rules": "List every drift rule with its id, meaning and severity.",
}


class Commands(click.Group):
    """The commands, each imported when it is used, so that `--help` and the light ones stay quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order in which the help lists them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a command."""
        if name not in COMMANDS:
            return None
        command = getattr(import_module(f"orl_codegen.cli.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands, without importing them, and a file: the word `generate` before a TARGET may be omitted."""
        options = super(click.Group, self).shell_complete(ctx, incomplete)
        named = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return [*named, *options] if named or options else [CompletionItem(incomplete, type="file")]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click would print an empty line where it is interrupted."""
        with said_if_interrupted():
            return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the word `generate` if it was omitted."""
        first = args[0] if args else ""
        if ctx.resilient_parsing and not args:  # the first word is being completed
            return super().parse_args(ctx, args)
        if first not in (*COMMANDS, "--help", "--version"):
            near = difflib.get_close_matches(first, COMMANDS, 1) if first.isalpha() else []
            if near:
                raise click.UsageError(f"There is no command `{first}`. Did you mean `{near[0]}`?", ctx)
            args = ["generate", *args]
        return super().parse_args(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100})
@click.version_option(__version__, prog_name="orl-codegen")
def cli() -> None:
    """Turn an Open Reward Standard environment into a committed, type-checked adapter for TRL's trainers.

    \b
    orl-codegen Eigent/SETA -o generated/    an environment of the catalog
    orl-codegen http://127.0.0.1:8080        a server that you host
    orl-codegen path/to/server.py:Class      a Python class, served while the command runs
    orl-codegen                              everything in [tool.orl-codegen] of pyproject.toml
    """


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command and end the process with its exit status."""
    interrupts = Interrupts()
    interrupts.arrange()
    status = _status(args)
    interrupts.finish()
    sys.exit(128 + interrupts.number if status == INTERRUPTED else status)


def _status(args: Sequence[str] | None) -> int:
    try:
        status: Any = cli.main(args, prog_name="orl-codegen", standalone_mode=False)
        return int(status or 0)
    except OrlCodegenError as error:
        click.echo(f"orl-codegen: {error}", err=True)
    except Interrupted as interrupted:
        click.echo(f"orl-codegen: interrupted; {interrupted}.", err=True)
        return INTERRUPTED
    except (click.Abort, KeyboardInterrupt):  # before or after the command itself
        click.echo("orl-codegen: interrupted.", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        click.echo(f"orl-codegen: {printable(error.format_message(), 1000)}", err=True)
    except BrokenPipeError:  # the reader closed the pipe
        sys.stdout = None
    except Exception:
        import traceback

        click.echo(printable_lines(traceback.format_exc()), err=True, nl=False)
        click.echo("orl-codegen: this is a bug in orl-codegen. Please report it with the lines above.", err=True)
    return 2
