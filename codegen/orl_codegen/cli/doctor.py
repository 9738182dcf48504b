"""`orl-codegen doctor`: would a training with this adapter, model and trainer go well?"""

from __future__ import annotations

import textwrap
from typing import Any

import click

from orl_codegen.errors import defused, printable, printable_lines

WIDTH = 100

COLORS = {"ok": "green", "warning": "yellow", "error": "red"}


@click.command()
@click.argument("module", metavar="MODULE[:CLASS]")
@click.option("--model", required=True, metavar="DIR|NAME", help="The model: a folder, or a name on the hub.")
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True, help="How many processes train.")
@click.option("--vllm-mode", type=click.Choice(["server", "colocate"]), help="vllm_mode, where GRPOTrainer uses vLLM.")
@click.option(
    "--max-completion-length", type=click.IntRange(1), metavar="N", help="Of GRPOConfig.  [default: GRPOConfig's]"
)
@click.option(
    "--max-model-length",
    type=click.IntRange(1),
    metavar="N",
    help="vllm_max_model_length of GRPOConfig.  [default: what the model takes]",
)
@click.option("--max-tool-output", type=click.IntRange(1), metavar="N", help="Of OpenRewardSpec.  [default: no limit]")
@click.option(
    "--tasks", type=click.IntRange(0), default=0, metavar="N", help="Open the first N tasks for their prompts."
)
@click.option("--base-url", metavar="URL", help="Where the environment runs, if not where MODULE was made from.")
def doctor(module: str, **given: Any) -> int:
    """Check an adapter, a model and the settings of a trainer, before GPUs are rented.

    MODULE is a generated module, as a path or by name. It is imported, so its code runs. Exit status 0: no error was
    found; 1: the training would fail, or learn from wrong data; 2: it could not be checked.
    """
    from orl_codegen.trl.preflight.intended import Intended, diagnose_intended, load_adapter

    adapter = load_adapter(module)
    failed = False
    for each in diagnose_intended(adapter, Intended(**given)):
        head = click.style(f"{each.verdict:<9}", fg=COLORS[each.verdict]) + printable(each.check)
        lines = textwrap.fill(defused(each.text), WIDTH, initial_indent=" " * 9, subsequent_indent=" " * 9)
        click.echo(f"{head}\n{printable_lines(lines)}")
        failed = failed or each.verdict == "error"
    return int(failed)
