"""Read a rendered module back, without running it: the tools as the model will see them."""

from __future__ import annotations

import ast
import inspect
import re
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


def tools_of(source: str, name: str = "the module") -> tuple[ShownTool, ...]:
    """The tools of a generated module, in the order in which they stand there.

    Raises:
        UsageError: The text is no module of orl-codegen.
    """
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        raise UsageError(f"{printable(name)} is no Python module.") from None
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    if not classes:
        raise UsageError(f"{printable(name)} is no module of orl-codegen: it defines no adapter.")
    adapter = _AtRunTime(body).visit(classes[-1])
    methods = [node for node in adapter.body if isinstance(node, ast.FunctionDef)]
    return tuple(_tool(node) for node in methods if _wire_name(node) is not None)


class _AtRunTime(ast.NodeTransformer):
    """Nested types as what they are when a model is shown the tools: the `else` branch makes each of them `dict`."""

    def __init__(self, body: list[ast.stmt]) -> None:
        branches = [statement for node in body if isinstance(node, ast.If) for statement in node.orelse]
        self._nested = {ast.unparse(node.targets[0]) for node in branches if isinstance(node, ast.Assign)}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("dict") if node.id in self._nested else node


def _tool(node: ast.FunctionDef) -> ShownTool:
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
    return ShownTool(_wire_name(node) or node.name, node.lineno, text, tuple(parameters))


def _wire_name(node: ast.FunctionDef) -> str | None:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and decorator.args and isinstance(decorator.args[0], ast.Constant):
            return str(decorator.args[0].value)
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
