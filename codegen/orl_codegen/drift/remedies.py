"""The command that writes the files of an environment again, ready to paste into a shell."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from orl_codegen.drift.committed import shown_path
from orl_codegen.errors import printable
from orl_codegen.generator.options import Options


def regenerate(target: str, options: Options | None, folder: Path, offline: bool) -> str:
    """The command, with every option that it needs.

    Args:
        target: The target, as it is written on the command line.
        options: The options; None if the project's configuration holds them and the folder.
        folder: The folder of the files.
        offline: Whether to generate from the committed snapshot, without asking the server.
    """
    words = ["orl-codegen", "generate", *(["--offline"] if offline else []), target]
    if options is not None:
        words += [*_options(options), "-o", shown_path(folder)]
    return shlex.join(printable(word, 500) for word in words)


def _options(options: Options) -> Iterator[str]:
    defaults = Options()
    for name in ("name", "class_name", "split", "variant", "toolset", "api_key_env", "on_conflict", "templates"):
        value = getattr(options, name)
        if value != getattr(defaults, name):
            yield from (f"--{name.replace('_', '-')}", str(value))
    if options.probe != defaults.probe:
        yield from ("--probe", options.probe if isinstance(options.probe, str) else ",".join(_ranges(options.probe)))
    for key, variable in options.secrets.items():
        yield from ("--secret", f"{key}={variable}")
    yield from (["--no-task-tools"] if not options.task_tools else [])
    yield from (["--allow-partial"] if options.allow_partial else [])
    yield from (["--no-type-check"] if not options.type_check else [])


def _ranges(indices: Iterable[int]) -> Iterator[str]:
    """Ascending indices as `--probe` takes them: 0, 1, 2, 5 are `0-2` and `5`."""
    for _, group in itertools.groupby(enumerate(indices), lambda pair: pair[1] - pair[0]):
        run = [index for _, index in group]
        yield str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}"
