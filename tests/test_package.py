"""The package as a whole: what it exports, and whether its documentation is true."""

from __future__ import annotations

import inspect
import re
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import pytest

import orl_codegen
from orl_codegen import errors
from orl_codegen.generator.options import Options

COMMANDS = (Path(__file__).parents[1] / "docs" / "commands.md").read_text("utf-8")


def test_what_is_exported_can_be_imported() -> None:
    """Every name in `__all__` exists, and an unknown one is an AttributeError."""
    for name in orl_codegen.__all__:
        assert getattr(orl_codegen, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        orl_codegen.nonsense  # noqa: B018


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    """The tree in the module's docstring has every class, below the class that it derives from."""
    drawn: dict[str, str | None] = {}
    parents: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"    ([│├└─ ]*)(\w+(?:Error|Mismatch|Drift))\b", line):
            depth = len(match[1]) // 4
            parents[depth:] = [match[2]]
            drawn[match[2]] = parents[depth - 1] if depth else None
    real = {
        name: value.__base__.__name__ if value is not errors.OrlCodegenError else None
        for name, value in inspect.getmembers(errors, inspect.isclass)
        if issubclass(value, errors.OrlCodegenError) and value.__base__ is not None
    }
    assert drawn == real


def test_every_option_is_on_the_page() -> None:
    """docs/commands.md names each option of `generate`."""
    from orl_codegen.cli.generate import generate

    options = {name for option in generate.params for name in option.opts if name.startswith("-")}
    assert not {name for name in options if f"`{name}" not in COMMANDS and f", {name}" not in COMMANDS}


@pytest.mark.parametrize("field", fields(Options), ids=lambda field: field.name)
def test_help_and_page_state_the_default_of_an_option(field: Field[Any]) -> None:
    """`Options` is where a default is set: the help and the page's table of options must agree with it."""
    from orl_codegen.cli.generate import generate

    (option,) = [option for option in generate.params if option.name == field.name]
    in_help = re.findall(r"\[default: (.*?)[],]", getattr(option, "help", ""))
    on_the_page = _page_default(option.opts[0])
    if isinstance(field.default, bool):
        assert on_the_page.startswith("off") is not field.default
        assert in_help in ([], [f"{'' if field.default else 'no-'}{option.opts[0].removeprefix('--')}"])
    elif isinstance(field.default, str | int | float):
        assert {on_the_page, *in_help} == {field.default if isinstance(field.default, str) else f"{field.default:g}"}
    else:
        assert in_help in ([], ["OPENREWARD_API_KEY"])


def _page_default(option: str) -> str:
    """The last cell of the option's row, without backquotes."""
    table = COMMANDS.partition("## Options of `generate` and `check`")[2].partition("\n## ")[0]
    (row,) = [line for line in table.splitlines() if line.startswith("| `-") and re.search(rf"`{option}\b", line)]
    return re.split(r"(?<!\\)\|", row)[-2].strip(" `")
