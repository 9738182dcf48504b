"""Modules that say something else than their contract, each by one deliberate change: the audit has to refuse all."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.reliability.attack.canaries import RUN

Change = Callable[[ast.Module], None]


def changed(source: str) -> Iterator[tuple[str, str]]:
    """A module with each change, by what was changed; the first one is the module itself, without its comments."""
    yield "nothing", ast.unparse(ast.parse(source))
    for what, change in CHANGES.items():
        tree = ast.parse(source)
        change(tree)
        yield what, ast.unparse(ast.fix_missing_locations(tree))


def _adapter(tree: ast.Module) -> ast.ClassDef:
    return next(node for node in tree.body if isinstance(node, ast.ClassDef))


def _method(tree: ast.Module) -> ast.FunctionDef:
    return next(node for node in _adapter(tree).body if isinstance(node, ast.FunctionDef))


def _sent(tree: ast.Module) -> Any:
    """The call that a method ends with."""
    return _method(tree).body[-1].value  # type: ignore[attr-defined]


def _environment(tree: ast.Module) -> Any:
    """The call that makes the environment of the class."""
    return _adapter(tree).body[1].value  # type: ignore[attr-defined]


def _block(tree: ast.Module) -> ast.If:
    """The nested types."""
    return next(node for node in tree.body if isinstance(node, ast.If))


def _statement(source: str) -> ast.stmt:
    return ast.parse(source).body[0]


def _expression(source: str = RUN) -> ast.expr:
    return ast.parse(source, mode="eval").body


def _setting(of: Callable[[ast.Module], Any], name: str, value: Callable[[Any], Any]) -> Change:
    """Replace a field of a node by what is made of it."""

    def change(tree: ast.Module) -> None:
        node = of(tree)
        setattr(node, name, value(getattr(node, name)))

    return change


def _arguments(tree: ast.Module) -> ast.arguments:
    return _method(tree).args


def _inserted(statement: str, at: int) -> Callable[[list[ast.stmt]], list[ast.stmt]]:
    return lambda body: [*body[:at], _statement(statement), *body[at:]]


CHANGES: Mapping[str, Change] = {
    "a statement at the end": _setting(lambda tree: tree, "body", lambda body: [*body, _statement(RUN)]),
    "a statement at the beginning": _setting(lambda tree: tree, "body", lambda body: [_statement(RUN), *body]),
    "a statement behind the docstring": _setting(lambda tree: tree, "body", _inserted(RUN, 1)),
    "an import": _setting(lambda tree: tree, "body", _inserted("import os", 2)),
    "an import of another name": _setting(lambda tree: tree, "body", _inserted("from typing import NewType", 2)),
    "an import from another module": _setting(lambda tree: tree, "body", _inserted("from os import Any", 2)),
    "an import from beside": _setting(lambda tree: tree, "body", _inserted("from .typing import Any", 2)),
    "another class": _setting(lambda tree: tree, "body", lambda body: [*body, _statement(f"class X:\n    {RUN}")]),
    "the class once more": _setting(
        lambda tree: tree,
        "body",
        lambda body: [*body, _statement(f"class {body[-1].name}(RolloutAdapter):\n    x = {RUN}")],
    ),
    "a condition": _setting(lambda tree: tree, "body", lambda body: [*body, _statement(f"if {RUN}:\n    pass")]),
    "a base class": _setting(_adapter, "bases", lambda bases: [*bases, _expression()]),
    "another base class": _setting(_adapter, "bases", lambda bases: [_expression("object")]),
    "a metaclass": _setting(_adapter, "keywords", lambda keywords: [ast.keyword("metaclass", _expression())]),
    "a decorator of the class": _setting(_adapter, "decorator_list", lambda decorators: [_expression()]),
    "the name of the class": _setting(_adapter, "name", lambda name: f"{name}_"),
    "a statement in the class": _setting(_adapter, "body", lambda body: [*body, _statement(f"x = {RUN}")]),
    "no docstring of the class": _setting(_adapter, "body", lambda body: body[1:]),
    "an argument of the environment": _setting(
        _environment, "keywords", lambda keywords: [*keywords[1:], ast.keyword(keywords[0].arg, _expression())]
    ),
    "another maker of the environment": _setting(_environment, "func", lambda function: _expression("print")),
    "a method more": _setting(_adapter, "body", lambda body: [*body, _statement("def more(self): return 1")]),
    "a private method": _setting(_adapter, "body", lambda body: [*body, _statement("def _call(self, *x): return 1")]),
    "a coroutine": _setting(_adapter, "body", lambda body: [*body, _statement("async def more(self): return 1")]),
    "a method less": _setting(_adapter, "body", lambda body: body[:-1]),
    "the name of a method": _setting(_method, "name", lambda name: f"{name}_"),
    "a decorator": _setting(_method, "decorator_list", lambda decorators: [*decorators, _expression()]),
    "another decorator": _setting(_method, "decorator_list", lambda decorators: [_expression(f"tool({RUN})")]),
    "no decorator": _setting(_method, "decorator_list", lambda decorators: []),
    "what a method returns": _setting(_method, "returns", lambda returns: _expression()),
    "a statement in a method": _setting(_method, "body", _inserted(RUN, 1)),
    "the docstring of a method": _setting(_method, "body", lambda body: [_statement("'Other words.'"), *body[1:]]),
    "an f-string for a docstring": _setting(_method, "body", lambda body: [_statement(f'f"{{{RUN}}}"'), *body[1:]]),
    "a default": _setting(_arguments, "kw_defaults", lambda defaults: [_expression(), *defaults[1:]]),
    "no default": _setting(_arguments, "kw_defaults", lambda defaults: [*defaults[:-1], None]),
    "a parameter": _setting(_arguments, "args", lambda args: [*args, ast.arg("more")]),
    "any parameters": _setting(_arguments, "kwarg", lambda kwarg: ast.arg("more")),
    "an annotation": _setting(lambda tree: _arguments(tree).kwonlyargs[0], "annotation", lambda old: _expression()),
    "the name of a parameter": _setting(lambda tree: _arguments(tree).kwonlyargs[0], "arg", lambda name: f"{name}_"),
    "the tool that is called": _setting(_sent, "args", lambda args: [_expression("'other'"), *args[1:]]),
    "the keys that are sent": _setting(lambda tree: _sent(tree).args[1], "keys", lambda keys: [*keys[1:], keys[0]]),
    "the values that are sent": _setting(
        lambda tree: _sent(tree).args[1], "values", lambda values: [_expression(), *values[1:]]
    ),
    "what sends": _setting(_sent, "func", lambda function: _expression("self._close")),
    "a nested type": _setting(_block, "body", lambda body: [*body, _statement(f"x = {RUN}")]),
    "a field of a nested type": _setting(
        lambda tree: _block(tree).body[1], "body", lambda body: [_statement("more: str"), *body]
    ),
    "what nested types are at run time": _setting(
        lambda tree: _block(tree).orelse[0], "value", lambda value: _expression()
    ),
    "no nested types": _setting(lambda tree: tree, "body", lambda body: [n for n in body if not isinstance(n, ast.If)]),
}
"""One change each, to a module whose class comes last, with a nested type, and an optional parameter last of all."""
