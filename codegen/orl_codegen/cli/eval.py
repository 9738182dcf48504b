"""`orl-codegen eval`: play a split with a model, and print what came of it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orl_codegen.cli.display import display
from orl_codegen.cli.interrupted import said_if_interrupted
from orl_codegen.errors import ServerError, UsageError, printable
from orl_codegen.extras import require

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.log import EvalLog
    from inspect_ai.model import Model
    from inspect_ai.solver import TaskState

    from orl_codegen.inspect.figures import Figures

SCRIPTED = "scripted:"
CONNECT_WITHIN = 10  # seconds
RETRIES = 6  # of a request to a model, which takes four minutes; Inspect would go on for ever
AT_ONCE = 10  # rollouts at a time, if not said otherwise: what Inspect does with models that are served elsewhere

PLAYED = ("max_turns", "reward", "epochs", "passing")
"""The options that `evaluation` has as well."""


@click.command()
@click.argument("target", metavar="TARGET|MODULE[:CLASS]")
@click.option("--model", required=True, metavar="NAME", help="A model of Inspect's, or scripted:FILE.")
@click.option("--model-base-url", metavar="URL", help="Where the model is served, for openai-api/, vllm/ and so on.")
@click.option("--temperature", type=click.FloatRange(0), metavar="N", help="Of the model.  [default: the model's]")
@click.option("--max-tokens", type=click.IntRange(1), metavar="N", help="In a message.  [default: the model's]")
@click.option("--split", default="test", show_default=True, help="Split whose tasks are played.")
@click.option("--tasks", type=click.IntRange(1), metavar="N", help="Play the first N tasks.  [default: all]")
@click.option("--epochs", type=click.IntRange(1), default=1, show_default=True, help="How many rollouts of each task.")
@click.option("--max-turns", type=click.IntRange(1), default=20, show_default=True, help="Messages of the model.")
@click.option(
    "--reward", type=click.Choice(["last", "sum", "trace"]), default="last", show_default=True, help="Which counts."
)
@click.option("--passing", type=float, default=1.0, show_default=True, help="The reward that pass@k asks for.")
@click.option("--max-sessions", type=click.IntRange(1), metavar="N", help="Rollouts at a time.  [default: 10]")
@click.option("--base-url", metavar="URL", help="Where the environment runs, if not where TARGET or MODULE says.")
@click.option("--variant", metavar="NAME", help="Which environment of a server with several.")
@click.option("--secret", "secrets", metavar="KEY=ENVVAR", multiple=True, help="As `generate` takes it.")
@click.option("--api-key-env", metavar="NAME", help="As `generate` takes it.")
@click.option("--log-dir", type=click.Path(path_type=Path), default=Path("logs"), show_default=True, help="For logs.")
@click.option("--compare", type=click.Path(path_type=Path), metavar="LOG", help="An earlier log, for comparison.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Of the figures."
)
@click.option("-q", "--quiet", is_flag=True, help="Only the figures, and errors.")
def eval(target: str, compare: Path | None, form: str, quiet: bool, **given: Any) -> None:
    """Play the tasks of a split with a model: rewards, turns, and the calls that were not carried out.

    TARGET is what `generate` takes. MODULE is a generated module, as a path or by name; it is imported, so its code
    runs. Inspect's log of the evaluation is left in --log-dir.
    """
    require("eval", "orl-codegen eval")
    from orl_codegen.cli.figures_table import as_json, show_comparison, show_figures
    from orl_codegen.inspect import comparing
    from orl_codegen.inspect.figures import figures_of

    earlier = None if compare is None else figures_of(_read_log(compare))
    with said_if_interrupted() as said, contextlib.redirect_stdout(sys.stderr):  # libraries of models print
        said.so_far = f"what was finished is in the logs in {printable(given['log_dir'])}"
        log = _played(target, earlier, quiet, given)
    figures = figures_of(log)
    compared = None if earlier is None else comparing.compare(earlier, figures)
    if form == "json":
        click.echo(as_json(compared or figures))
    elif compared is not None:
        show_comparison(compared)
    else:
        show_figures(figures)
    if not quiet:
        click.echo(f"log: {_place(log)}", err=True)


def _played(text: str, earlier: Figures | None, quiet: bool, given: Mapping[str, Any]) -> EvalLog:
    """The log of the evaluation; whether it can be compared is known before the first rollout."""
    from orl_codegen.cli.evaluated import environment
    from orl_codegen.inspect import comparing
    from orl_codegen.inspect.task import evaluation
    from orl_codegen.trl.spec import OpenRewardSpec

    model = _model(given["model"], given["model_base_url"])
    with environment(text, quiet, given) as (adapter, connection):
        spec = OpenRewardSpec(
            adapter,
            split=given["split"],
            num_tasks=given["tasks"],
            max_sessions=given["max_sessions"] or AT_ONCE,
            on_reset_failure="unscored",  # which is an error of the sample
            **connection,
        )
        task = evaluation(spec, **{name: given[name] for name in PLAYED})
        if earlier is not None:
            comparing.comparable(earlier, task)
        return _checked(_run(task, model, quiet, given))


def _run(task: Task, model: Model, quiet: bool, given: Mapping[str, Any]) -> Sequence[EvalLog]:
    import inspect_ai

    options = {name: given[name] for name in ("temperature", "max_tokens") if given[name] is not None}
    with display(quiet, "rollouts") as shown:
        done = shown.counter(task.name, len(task.dataset) * given["epochs"])

        async def count(state: TaskState) -> None:
            done()

        task.cleanup = count
        try:
            return inspect_ai.eval(
                task,
                model,
                log_dir=str(given["log_dir"]),
                max_samples=given["max_sessions"] or AT_ONCE,
                max_retries=RETRIES,
                display="none",
                log_level="error",
                **options,
            )
        except Exception as error:  # what it raises before the first rollout
            raise UsageError(f"Inspect cannot run the evaluation: {printable(f'{error}'.strip(), 500)}") from None


def _model(name: str, base_url: str | None) -> Model:
    """The model, before anything is asked of the environment.

    Raises:
        UsageError: There is no such model, or it cannot be reached with what is set.
    """
    from inspect_ai.model import get_model

    from orl_codegen.inspect.scripted import scripted

    if name.startswith(SCRIPTED):
        return scripted(Path(name.removeprefix(SCRIPTED)))
    if base_url is not None:
        _check_server(base_url)
    try:
        return get_model(name, base_url=base_url)
    except Exception as error:  # of many kinds: no such provider, no key, a package that is not installed
        reason = printable(f"{error}".strip(), 500)
        raise UsageError(
            f"The model {printable(name)} cannot be used: {reason} Name a model as Inspect does: openai-api/…, "
            "vllm/…, hf/…, or scripted:FILE."
        ) from None


def _check_server(url: str) -> None:
    """Inspect would ask a server that is not there again and again, for minutes."""
    import socket
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        with socket.create_connection(
            (parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)), timeout=CONNECT_WITHIN
        ):
            pass
    except (OSError, ValueError) as error:
        reason = printable(getattr(error, "strerror", None) or f"{error}")
        raise UsageError(
            f"--model-base-url {printable(url.rpartition('@')[2])} cannot be reached: {reason}. Check that the model "
            "is served there: the address is one like http://127.0.0.1:8000/v1."
        ) from None


def _read_log(path: Path) -> EvalLog:
    from inspect_ai.log import read_eval_log

    try:
        return read_eval_log(str(path))
    except Exception as error:  # whatever stands in the file
        reason = printable(f"{type(error).__name__}: {error}", 300)
        raise UsageError(
            f"--compare {printable(path)} cannot be read as a log of Inspect: {reason}. Name a file that `orl-codegen "
            "eval` has left."
        ) from None


def _checked(logs: Sequence[EvalLog]) -> EvalLog:
    """The log, where something was played.

    Raises:
        KeyboardInterrupt: Inspect was interrupted, which it tells by returning no log or one that says so.
        ServerError: All rollouts failed, or the evaluation could not begin.
    """
    if not logs or logs[0].status == "cancelled":
        raise KeyboardInterrupt
    (log,) = logs
    from orl_codegen.inspect.figures import reason_of

    errors = [reason_of(sample) for sample in log.samples or () if sample.error is not None]
    if log.status == "success" and len(errors) < len(log.samples or ()):
        return log
    reason = errors[0] if errors else log.error.message if log.error is not None else "nothing was played"
    raise ServerError(f"No rollout was played to its end: {printable(reason, 500)}. The log is {_place(log)}.")


def _place(log: EvalLog) -> str:
    """Where the log lies, as a path that can be passed to --compare."""
    path = Path(log.location.removeprefix("file://"))
    return printable(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path, 500)
