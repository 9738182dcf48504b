"""The methods of a module as functions that transformers can read, made of the module's syntax: it is never imported.

`get_json_schema` reads the name, the docstring and the annotations of a function. A generated module writes annotations
in a few forms, and only these are understood here; nothing of the module is evaluated.
"""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Literal

from orl_codegen.errors import UsageError, printable
from orl_codegen.generator.output.reading import ShownParameter, ShownTool

_NAMES: dict[str, Any] = {
    "Any": Any,
    "bool": bool,
    "dict": dict,
    "float": float,
    "int": int,
    "list": list,
    "str": str,
    "tuple": tuple,
}
_GENERICS: dict[str, Any] = {"Literal": Literal, "dict": dict, "list": list, "tuple": tuple}


class _Unknown(Exception):
    """A piece of an annotation that no generated module has."""


def as_functions(tools: Sequence[ShownTool]) -> list[Callable[..., None]]:
    """The methods in the order in which trainers list them: by the names of the methods.

    Raises:
        UsageError: A method has an annotation that orl-codegen does not write.
    """
    return [_function(tool) for tool in sorted(tools, key=lambda tool: tool.method)]


def _function(tool: ShownTool) -> Callable[..., None]:
    def function(**arguments: Any) -> None:
        """Replaced below."""

    types = {parameter.name: _type(tool, parameter) for parameter in tool.parameters}
    function.__name__ = tool.name
    function.__doc__ = tool.docstring
    function.__annotations__ = types
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_parameter(parameter, types[parameter.name]) for parameter in tool.parameters]
    )
    return function


def _parameter(parameter: ShownParameter, type: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if parameter.required else None
    return inspect.Parameter(parameter.name, inspect.Parameter.KEYWORD_ONLY, annotation=type, default=default)


def _type(tool: ShownTool, parameter: ShownParameter) -> Any:
    try:
        return _evaluated(ast.parse(parameter.annotation, mode="eval").body)
    except (_Unknown, TypeError, RecursionError):
        raise UsageError(
            f"The type of `{printable(parameter.name)}` of `{printable(tool.name)}` is not one that orl-codegen writes "
            f"({printable(parameter.annotation)}). Generate the module again, without templates of your own."
        ) from None


def _evaluated(node: ast.expr) -> Any:
    match node:
        case ast.Constant(None):
            return None
        case ast.Name(name) if name in _NAMES:
            return _NAMES[name]
        case ast.Subscript(ast.Name("Literal"), values):
            return Literal[tuple(_constant(value) for value in _items(values))]
        case ast.Subscript(ast.Name(name), arguments) if name in _GENERICS:
            return _GENERICS[name][tuple(map(_evaluated, _items(arguments)))]
        case ast.BinOp(op=ast.BitOr()):
            return reduce(operator.or_, map(_evaluated, _options(node)))
    raise _Unknown


def _options(union: ast.expr) -> list[ast.expr]:
    """The options of a union, the leftmost first, however many there are."""
    options = []
    while isinstance(union, ast.BinOp) and isinstance(union.op, ast.BitOr):
        options.append(union.right)
        union = union.left
    return [union, *reversed(options)]


def _items(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _constant(node: ast.expr) -> bool | int | str | None:
    match node:
        case ast.Constant(value) if value is None or isinstance(value, bool | int | str):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))):
            return -value
    raise _Unknown
