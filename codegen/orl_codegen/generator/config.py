"""`[tool.orl-codegen]` of pyproject.toml: the output folder, defaults, and the environments of a project.

    [tool.orl-codegen]
    output = "generated"
    timeout = 60                                 # an option here is a default for every environment

    [[tool.orl-codegen.environments]]
    target = "Eigent/SETA"
    probe = "all"
    secrets = { OPENAI_API_KEY = "MY_KEY" }      # key = environment variable

Paths are relative to the folder of the pyproject.toml. An unknown key is an error.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from orl_codegen.errors import ConfigError, OrlCodegenError, UsageError, printable
from orl_codegen.generator.options import ON_CONFLICT, Job, Options, parse_probe
from orl_codegen.generator.target import parse_target

OPTIONS: Mapping[str, type | tuple[type, ...]] = {
    "class-name": str,
    "split": str,
    "variant": str,
    "task-tools": bool,
    "probe": str,
    "concurrency": int,
    "toolset": str,
    "secrets": dict,
    "api-key-env": str,
    "allow-partial": bool,
    "on-conflict": str,
    "timeout": (int, float),
    "templates": str,
    "type-check": bool,
}
"""The options that may be a default or belong to one environment, and their TOML types."""

ENVIRONMENT = {"target": str, "name": str, **OPTIONS}

CHECK = {"profile": str, "fail-on": str, "severity": dict, "accept": list}
"""What `check` and `diff` read; `drift` checks the values."""

TOP = {"output": str, "environments": list, **OPTIONS, **CHECK}


@dataclass(frozen=True)
class Config:
    """The configuration of a project.

    Attributes:
        root: The folder that its paths are relative to.
        output: The output folder, if one is set.
        defaults: The options of an environment that does not override them.
        jobs: The environments.
        check: The settings of `check`, unchecked.
    """

    root: Path
    output: Path | None = None
    defaults: Options = field(default_factory=Options)
    jobs: tuple[Job, ...] = ()
    check: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def find_config(start: Path | None = None) -> Config:
    """The configuration in the nearest pyproject.toml at or above `start` that has one; otherwise an empty one.

    Raises:
        ConfigError: It cannot be read, or a key or value in it is invalid.
    """
    start = start or Path.cwd()
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        if path.is_file():
            try:
                table = tomllib.loads(path.read_text("utf-8")).get("tool", {}).get("orl-codegen")
            except (OSError, ValueError) as error:
                raise ConfigError(f"{printable(path)} cannot be read: {printable(error)}.") from None
            if table is not None:
                return parse_config(table, folder)
    return Config(start)


def parse_config(table: Any, root: Path) -> Config:
    """Read the table of a project whose pyproject.toml is in `root`.

    Raises:
        ConfigError: A key or value in it is invalid.
    """
    where = "[tool.orl-codegen]"
    _check(table, TOP, where)
    defaults = _options(table, Options(), root, where)
    environments = table.get("environments", [])
    jobs = tuple(_job(entry, defaults, root, position) for position, entry in enumerate(environments, 1))
    return Config(
        root=root,
        output=root / table["output"] if "output" in table else None,
        defaults=defaults,
        jobs=jobs,
        check=MappingProxyType({key: table[key] for key in CHECK if key in table}),
    )


def _job(entry: Any, defaults: Options, root: Path, position: int) -> Job:
    where = f"[[tool.orl-codegen.environments]] number {position}"
    _check(entry, ENVIRONMENT, where)
    if "target" not in entry:
        raise ConfigError(f"{where} has no `target`. Add one.")
    try:
        target = parse_target(entry["target"], root)
    except OrlCodegenError as error:
        raise ConfigError(f"{where}: {error}") from None
    return Job(target, _options(entry, defaults, root, where))


def _check(table: Any, known: Mapping[str, type | tuple[type, ...]], where: str) -> None:
    """Check that every key is known and has a value of the right type."""
    if not isinstance(table, dict):
        raise ConfigError(f"{where} must be a table.")
    for key, value in table.items():
        if key not in known:
            near = difflib.get_close_matches(key.replace("_", "-"), known, 1, 0.5)
            hint = f"Did you mean `{near[0]}`?" if near else f"Known keys: {', '.join(sorted(known))}."
            raise ConfigError(f"{where} has the unknown key `{printable(key)}`. {hint}")
        if not isinstance(value, known[key]) or (isinstance(value, bool) and known[key] is not bool):
            wanted = {str: "text", bool: "true or false", int: "a whole number", dict: "a table", list: "a list"}
            kind = known[key]
            raise ConfigError(
                f"{where}: `{key}` must be {wanted.get(kind, 'a number') if isinstance(kind, type) else 'a number'}."
            )


def _options(table: Mapping[str, Any], base: Options, root: Path, where: str) -> Options:
    given = {key.replace("-", "_"): value for key, value in table.items() if key in OPTIONS or key == "name"}
    try:
        return override(base, given, root)
    except UsageError as error:
        raise ConfigError(f"{where}: {error}") from None


def override(base: Options, given: Mapping[str, Any], root: Path) -> Options:
    """`base` with the given options, whose values are text and plain values as in TOML.

    Raises:
        UsageError: A value is invalid.
    """
    from dataclasses import replace

    values = dict(given)
    if "probe" in values:
        values["probe"] = parse_probe(values["probe"])
    if "templates" in values:
        values["templates"] = root / values["templates"]
    if "secrets" in values:
        values["secrets"] = MappingProxyType({**base.secrets, **values["secrets"]})
        if not all(isinstance(name, str) and name for name in values["secrets"].values()):
            raise UsageError('a secret is written KEY = "ENVVAR", with the environment variable that holds its value.')
    if values.get("on_conflict", Options.on_conflict) not in ON_CONFLICT:
        raise UsageError(f"on-conflict must be {' or '.join(f'`{choice}`' for choice in ON_CONFLICT)}.")
    return replace(base, **values)
