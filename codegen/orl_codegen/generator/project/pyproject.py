"""Adding an environment to pyproject.toml: every comment and line that is there stays as it is."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from orl_codegen.errors import ConfigError, printable

if TYPE_CHECKING:
    from tomlkit.items import InlineTable, Table


def configured(text: str) -> dict[str, Any] | None:
    """The table of orl-codegen in the text of a pyproject.toml; None if there is none."""
    table = tomllib.loads(text).get("tool", {}).get("orl-codegen")
    return table if isinstance(table, dict) else None


def with_environment(text: str, environment: Mapping[str, Any], output: str) -> str:
    """The text of a pyproject.toml with one more environment.

    Args:
        text: What it holds now.
        environment: The entry: `target`, and its options.
        output: The output folder, where the file names none yet.

    Raises:
        ConfigError: The table is written in a way that cannot be added to.
    """
    add = _whole if configured(text) is None else _to_table
    added = f"{add(text, environment, output).rstrip()}\n".replace("\r\n", "\n")
    if not _is_that(added, text, environment, output):
        raise ConfigError(
            "[tool.orl-codegen] of pyproject.toml is written in a way that init cannot add to. Nothing was written. "
            f'Add an entry [[tool.orl-codegen.environments]] with target = "{printable(environment["target"])}" '
            "yourself, and run orl-codegen."
        )
    return added.replace("\n", "\r\n") if "\r\n" in text else added


def _is_that(added: str, text: str, environment: Mapping[str, Any], output: str) -> bool:
    """Whether a text says what the old one said, and the environment: nothing may be lost to a bug of a library."""
    wanted = tomllib.loads(text)
    table = wanted.setdefault("tool", {}).setdefault("orl-codegen", {})
    table.setdefault("output", output)
    table["environments"] = [*table.get("environments", []), dict(environment)]
    try:
        return tomllib.loads(added) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _whole(text: str, environment: Mapping[str, Any], output: str) -> str:
    """The text with the whole table behind it."""
    import tomlkit

    before = f"{text.rstrip()}\n\n" if text.strip() else ""
    head = f"[tool.orl-codegen]\n{tomlkit.dumps({'output': output})}"
    return f"{before}{head}\n[[tool.orl-codegen.environments]]\n{tomlkit.dumps(_table(environment))}"


def _to_table(text: str, environment: Mapping[str, Any], output: str) -> str:
    """The text with the entry in its table."""
    import tomlkit
    from tomlkit.items import AoT

    document = tomlkit.parse(text)
    table: Any = document["tool"]["orl-codegen"]
    if "output" not in table:
        table["output"] = output
    environments = table.get("environments", tomlkit.aot())
    if isinstance(environments, AoT):
        entry = _table(environment)
        entry.add(tomlkit.nl())
        environments.append(entry)
    else:
        environments.append(_inline(environment))
    if "environments" not in table:
        table["environments"] = environments
    return tomlkit.dumps(document)


def _table(values: Mapping[str, Any]) -> Table:
    import tomlkit

    table = tomlkit.table()
    for key, value in values.items():
        table[key] = _inline(value) if isinstance(value, Mapping) else value
    return table


def _inline(values: Mapping[str, Any]) -> InlineTable:
    import tomlkit

    table = tomlkit.inline_table()
    for key, value in values.items():
        table[key] = _inline(value) if isinstance(value, Mapping) else value
    return table
