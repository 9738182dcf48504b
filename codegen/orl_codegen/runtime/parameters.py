"""The arguments of a call as a model writes them, and what it is told where they do not fit.

This module is imported with every generated one, so it imports next to nothing.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from orl_codegen.errors import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

LONGEST = 2000  # characters; a model may make up any number of parameters


class WrongArguments(TypeError):
    """The arguments of a call do not fit its tool, so it was not made. The text is for the model."""


def by_python_name(
    tool: str, function: Callable[..., Any], aliases: Mapping[str, str], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments under the Python names of their parameters. A model that knows the environment may use wire keys.

    Args:
        tool: What the model calls the tool.
        function: The method behind it.
        aliases: `{python name: wire key}` for each parameter whose two names differ.
        arguments: What the model wrote, under either name.

    Raises:
        WrongArguments: Some are unknown, missing or given twice.
    """
    parameters = _parameters(function)
    names = {wire: python for python, wire in aliases.items() if wire not in parameters}
    named = {names.get(key, key): value for key, value in arguments.items()}
    problems = [*_unfit(parameters, named), *_doubled(names, arguments)]
    if problems:
        text = f"{tool} was not called, its arguments are not valid: {'; '.join(problems)}"
        raise WrongArguments(f"{printable(text, LONGEST)}. {_allowed(parameters)}")
    return named


@functools.cache
def _parameters(function: Callable[..., Any]) -> dict[str, bool]:
    """Whether each parameter is required, by its Python name: the only one that the model is shown."""
    import inspect

    _, *parameters = inspect.signature(function).parameters.values()
    return {parameter.name: parameter.default is inspect.Parameter.empty for parameter in parameters}


def _unfit(parameters: Mapping[str, bool], named: Mapping[str, Any]) -> Iterator[str]:
    for name in named:
        if name not in parameters:
            yield f"{printable(name, 60)}: no such parameter"
    for name, required in parameters.items():
        if required and name not in named:
            yield f"{name}: missing"


def _doubled(names: Mapping[str, str], arguments: Mapping[str, Any]) -> Iterator[str]:
    for wire, python in names.items():
        if wire in arguments and python in arguments:
            yield f"{python}: given twice, as {python} and as {printable(wire, 60)}"


def _allowed(parameters: Mapping[str, bool]) -> str:
    if not parameters:
        return "It takes no parameters."
    required = [name for name, needed in parameters.items() if needed]
    optional = [name for name, needed in parameters.items() if not needed]
    kinds = (("Required", required), ("Optional", optional))
    return " ".join(f"{kind}: {', '.join(names)}." for kind, names in kinds if names)
