"""What to do about findings: the command that writes the files again, and the TOML that accepts what was found."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from orl_codegen.drift.acceptance import UNEDITED
from orl_codegen.drift.committed import shown_path
from orl_codegen.drift.findings import Finding
from orl_codegen.drift.rules import RULES
from orl_codegen.errors import defused, printable
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


def acceptance_blocks(findings: Iterable[Finding]) -> str:
    """The TOML that accepts these findings and nothing else, one block for each environment; those about files are
    left out, because generating again fixes them."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if not RULES[finding.change.rule].about_files:
            groups.setdefault(finding.environment, []).append(finding)
    return "\n\n".join(_one(found[0]) if len(found) == 1 else _several(found) for found in groups.values())


def _one(finding: Finding) -> str:
    change = finding.change
    values = {
        "environment": finding.environment,
        "rule": change.rule,
        "tool": change.tool,
        "path": change.path,
        "fingerprint": change.fingerprint,
    }
    return _block(f"{key} = {toml_string(value)}" for key, value in values.items() if value is not None)


def _several(findings: Sequence[Finding]) -> str:
    """One block for all, by their fingerprints; a comment says what each of these is."""
    lines = [
        f'    "{finding.change.fingerprint}",  # {finding.change.rule}: {finding.change.what}' for finding in findings
    ]
    environment = f"environment = {toml_string(findings[0].environment)}"
    return _block([environment, "fingerprint = [", *lines, "]"])


def _block(lines: Iterable[str]) -> str:
    return "\n".join(["[[tool.orl-codegen.accept]]", *lines, f'reason = "{UNEDITED}"', "# expires = YYYY-MM-DD"])


def toml_string(value: str) -> str:
    """A TOML string: JSON's escapes are valid TOML once what `printable` escapes is escaped too."""
    return defused(json.dumps(value, ensure_ascii=False), lambda character: f"\\U{ord(character):08X}")
