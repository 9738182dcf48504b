"""Read a rendered module back, without running it: whose it is, where its methods stand, what the model will see."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass

from orl_codegen.errors import UsageError, printable


@dataclass(frozen=True)
class ShownParameter:
    """A parameter: its name, the source of its type, whether a call must give it, and its text."""

    name: str
    annotation: str
    required: bool
    text: str


@dataclass(frozen=True)
class ShownTool:
    """A tool: its wire name, the line of the module that defines it, its text and its parameters."""

    name: str
    line: int
    text: str
    parameters: tuple[ShownParameter, ...]


def shown_tools(source: str, name: str = "the module") -> tuple[ShownTool, ...]:
    """The tools of a generated module, in the order in which they stand there.

    Raises:
        UsageError: The text is no module of orl-codegen.
    """
    body = _statements(source)
    if body is None:
        raise UsageError(f"{printable(name)} is no Python module.")
    adapter = _adapter(body)
    if adapter is None:
        raise UsageError(f"{printable(name)} is no module of orl-codegen: it defines no adapter.")
    return tuple(_tool(method, name) for method, name in _methods(_AtRunTime(body).visit(adapter)))


def class_of(source: str) -> str | None:
    """The name of the adapter class in a module of ours; None where there is none."""
    adapter = _adapter(_statements(source))
    return adapter.name if adapter else None


def target_of(source: str) -> str:
    """The target that a module of ours was made from, or an empty string."""
    adapter = _adapter(_statements(source))
    for node in ast.walk(adapter) if adapter else ():
        if isinstance(node, ast.keyword) and node.arg == "target" and isinstance(node.value, ast.Constant):
            return str(node.value.value)
    return ""


def lines_of(source: str) -> Mapping[str | None, int]:
    """The line of each method of a module of ours by its wire name, and that of the adapter under None."""
    adapter = _adapter(_statements(source))
    if adapter is None:
        return {}
    return {None: adapter.lineno, **{name: method.lineno for method, name in _methods(adapter)}}


def _statements(source: str) -> list[ast.stmt] | None:
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return None


def _adapter(body: list[ast.stmt] | None) -> ast.ClassDef | None:
    return next((node for node in reversed(body or ()) if isinstance(node, ast.ClassDef)), None)


def _methods(adapter: ast.ClassDef) -> list[tuple[ast.FunctionDef, str]]:
    """The methods that are tools, with their wire names."""
    methods = [node for node in adapter.body if isinstance(node, ast.FunctionDef)]
    return [(method, name) for method in methods if (name := _wire_name(method)) is not None]


class _AtRunTime(ast.NodeTransformer):
    """Nested types as what they are when a model is shown the tools: the `else` branch makes each of them `dict`."""

    def __init__(self, body: list[ast.stmt]) -> None:
        branches = [statement for node in body if isinstance(node, ast.If) for statement in node.orelse]
        self._nested = {ast.unparse(node.targets[0]) for node in branches if isinstance(node, ast.Assign)}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("dict") if node.id in self._nested else node


def _tool(node: ast.FunctionDef, name: str) -> ShownTool:
    text, lines = _parted(ast.get_docstring(node) or "")
    arguments = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    parameters = (
        ShownParameter(
            name=argument.arg,
            annotation=ast.unparse(argument.annotation) if argument.annotation else "Any",
            required=default is None,
            text=lines.get(argument.arg, ""),
        )
        for argument, default in arguments
    )
    return ShownTool(name, node.lineno, text, tuple(parameters))


def _wire_name(node: ast.FunctionDef) -> str | None:
    for decorator in node.decorator_list:
        match decorator:
            case ast.Call(func=ast.Name(id="tool"), args=[ast.Constant(value=str(name)), *_]):
                return name
    return None


def _parted(docstring: str) -> tuple[str, dict[str, str]]:
    """The description, and the line of each parameter, as the docstring parser of transformers takes them apart."""
    text, _, arguments = inspect.cleandoc(docstring).partition("\nArgs:\n")
    lines: dict[str, str] = {}
    name = ""
    for line in inspect.cleandoc(arguments).split("\n"):
        if entry := re.match(r"(\w+)(?:\s*\([^()]*\))?:(.*)", line):
            name = entry[1]
            lines[name] = entry[2].strip()
        elif name and line.strip():
            lines[name] += f" {line.strip()}"
    return text.strip().removeprefix("Args:\n"), lines
