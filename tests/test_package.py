"""The package as a whole: what it exports, and what its documentation promises about itself."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import orl_codegen
from orl_codegen import errors

ROOT = Path(__file__).parents[1]


def test_what_is_exported_can_be_imported() -> None:
    """Every name of `__all__` is there, and an unknown one is an AttributeError."""
    for name in orl_codegen.__all__:
        assert getattr(orl_codegen, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        orl_codegen.nonsense  # noqa: B018


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    """The drawing in the module's docstring has every class, under the class that it derives from."""
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


def test_every_option_is_in_the_readme() -> None:
    """README names each option of `generate`."""
    from orl_codegen.cli.generate import generate

    readme = (ROOT / "README.md").read_text()
    options = {name for option in generate.params for name in option.opts if name.startswith("-")}
    assert not {name for name in options if f"`{name}" not in readme and f", {name}" not in readme}


def test_the_readme_shows_the_committed_adapter() -> None:
    """The tool in the quick start is the one in `generated/`, line for line."""
    readme = (ROOT / "README.md").read_text()
    shown = readme[
        readme.index('    @tool("search-recipes")') : readme.index("```", readme.index('@tool("search-recipes")'))
    ]
    assert shown.strip("\n") in (ROOT / "generated" / "kitchen.py").read_text()
