"""Verification: a module is written only if it says exactly what its contract says.

A rendered module is read back as syntax and compared with a tree that is built here from the contract, independently of
the templates: the same statements, the same strings, the same wire keys, and nothing else. Then mypy reads it. Comments
are not syntax; `comments` makes them, and its tests hold what they may contain.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from orl_codegen.errors import VerificationError, printable
from orl_codegen.generator.contract.contract import Contract, Parameter, Tool
from orl_codegen.generator.contract.naming import MODULE_NAMES
from orl_codegen.generator.contract.python_types import Field, NestedType
from orl_codegen.generator.output.environment import Argument, environment_arguments
from orl_codegen.runtime.vocabulary import TerminalTool

MODULES = {"__future__": {"annotations"}, "typing": MODULE_NAMES, "orl_codegen.runtime": MODULE_NAMES}
"""The modules that a generated module may import from, and the names that it may import."""


def audit(source: str, contract: Contract, *, own_templates: bool = False) -> None:
    """Compare a module, as syntax, with its contract.

    Args:
        source: The text of the module.
        contract: What it must say.
        own_templates: Whether the user's templates rendered it: these may add statements, but not change the methods.

    Raises:
        VerificationError: The module is not Python, or differs from the contract.
    """
    try:
        tree = ast.parse(source)
        compile(tree, "<rendered>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise _failed(contract, f"it is not Python: {printable(error)}") from None
    adapter = _adapter(tree, contract)
    _check_methods(adapter, contract, own_templates)
    if not own_templates:
        _check_statements(tree, contract)


def type_check(sources: Mapping[str, str]) -> None:
    """Run mypy --strict, in this process, on modules that are not written yet.

    Args:
        sources: The text of each module, by its file name.

    Raises:
        VerificationError: mypy reports an error.
    """
    from mypy import api

    # mypy would take its configuration (and run the plug-ins named there) and any imported module from the working
    # directory. So it gets no configuration, and a working directory that holds nothing but the modules.
    options = ["--config-file=", "--strict", "--no-error-summary", "--hide-error-context", "--no-color-output"]
    options += ["--python-version=3.11", f"--cache-dir={_mypy_cache()}"]
    with TemporaryDirectory(prefix="orl-codegen-") as folder, chdir(folder):
        for name, source in sources.items():
            Path(name).write_text(source, encoding="utf-8")
        report, trouble, status = api.run([*options, *sources])
    if status:
        shown = "; ".join(printable(line) for line in (report + trouble).strip().splitlines()[:5])
        raise VerificationError(
            f"mypy --strict refuses the rendered module: {shown}. Nothing was written. If you use your own "
            "templates or --class-name, fix them; otherwise report this, and continue with --no-type-check."
        )


def _mypy_cache() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("orl-codegen") / "mypy"


def _failed(contract: Contract, why: str) -> VerificationError:
    return VerificationError(
        f"The module rendered for {printable(contract.snapshot.target)} differs from its contract: {why}. Nothing was "
        "written. If you use your own templates, fix them; otherwise report this together with the snapshot."
    )


def _adapter(tree: ast.Module, contract: Contract) -> ast.ClassDef:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == contract.class_name:
            return node
    raise _failed(contract, f"it does not define the class {contract.class_name}")


def _check_methods(adapter: ast.ClassDef, contract: Contract, own_templates: bool) -> None:
    methods = {node.name: node for node in adapter.body if isinstance(node, ast.FunctionDef)}
    for tool in contract.tools:
        method = methods.pop(tool.name, None)
        if method is None:
            raise _failed(contract, f"the tool {printable(tool.wire_name)!r} has no method {tool.name}")
        if inspect.cleandoc(ast.get_docstring(method, clean=False) or "").strip() != tool.docstring.strip():
            raise _failed(contract, f"the docstring of {tool.name} is different")
        if not _same(_without_docstring(method), _method(tool)):
            raise _failed(contract, f"the method {tool.name} is different")
    if methods and not own_templates:
        raise _failed(contract, f"it defines the extra methods {', '.join(sorted(methods))}")


def _check_statements(tree: ast.Module, contract: Contract) -> None:
    """Only the statements of the shipped templates, in their order."""
    expected, adapter = list(_nested(contract.nested)), _adapter(tree, contract)
    for node in tree.body[1:]:
        if isinstance(node, ast.ImportFrom):
            if {alias.name for alias in node.names} - set(MODULES.get(node.module or "", ())) or node.level:
                raise _failed(contract, f"it imports from {printable(node.module)}")
        elif isinstance(node, ast.If):
            if not expected or not _same(node, expected.pop()):
                raise _failed(contract, "its nested types are different")
        elif node is not adapter:  # a second class of that name would replace it
            raise _failed(contract, f"it has an extra statement on line {node.lineno}")
    if expected:
        raise _failed(contract, "its nested types are missing")
    if not (isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant)):
        raise _failed(contract, "it does not begin with a docstring")
    _check_class(adapter, contract)


def _check_class(adapter: ast.ClassDef, contract: Contract) -> None:
    docstring, environment, *methods = adapter.body
    if not _same(adapter.bases, [_name("RolloutAdapter")]) or adapter.keywords or adapter.decorator_list:
        raise _failed(contract, "its class has another base class, a metaclass or a decorator")
    if not (isinstance(docstring, ast.Expr) and isinstance(docstring.value, ast.Constant)):
        raise _failed(contract, "its class has no docstring")
    if not (isinstance(environment, ast.Assign) and _same(environment.targets, [_name("_environment", ast.Store())])):
        raise _failed(contract, "its class does not begin with the environment")
    if not _same(environment.value, _environment(contract)):
        raise _failed(contract, "the environment of its class is different")
    if not all(isinstance(node, ast.FunctionDef) for node in methods):
        raise _failed(contract, "its class has statements other than methods")


def _same(one: Any, other: Any) -> bool:
    """Whether two pieces of syntax are the same, whatever their layout."""
    if isinstance(one, ast.AST):
        return type(one) is type(other) and all(_same(_field(one, name), _field(other, name)) for name in one._fields)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and one == other


def _field(node: ast.AST, name: str) -> Any:
    """A field of a node; None if it is an empty list, which is what a field that newer Pythons add may be."""
    value = getattr(node, name, None)
    return None if value == [] else value


def _without_docstring(method: ast.FunctionDef) -> ast.FunctionDef:
    return ast.FunctionDef(
        name=method.name,
        args=method.args,
        body=method.body[1:],
        decorator_list=method.decorator_list,
        returns=method.returns,
    )


def _name(name: str, context: ast.expr_context | None = None) -> ast.Name:
    return ast.Name(id=str(name), ctx=context or ast.Load())


def _expression(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body


def _call(function: ast.expr, *args: ast.expr, **keywords: ast.expr) -> ast.Call:
    return ast.Call(
        func=function, args=list(args), keywords=[ast.keyword(arg=key, value=value) for key, value in keywords.items()]
    )


def _strings(pairs: Mapping[str, ast.expr]) -> ast.Dict:
    return ast.Dict(keys=[ast.Constant(value=key) for key in pairs], values=list(pairs.values()))


def _method(tool: Tool) -> ast.FunctionDef:
    aliases = {str(p.name): ast.Constant(value=p.key) for p in tool.parameters if p.name != p.key}
    decorator: ast.expr = _name("tool")
    if aliases or tool.name != tool.wire_name:
        keywords = {"aliases": _strings(aliases)} if aliases else {}
        decorator = _call(decorator, ast.Constant(value=tool.wire_name), **keywords)
    sent = _strings({parameter.key: _name(parameter.name) for parameter in tool.parameters})
    send = ast.Attribute(value=_name("self"), attr="_call", ctx=ast.Load())
    return ast.FunctionDef(
        name=str(tool.name),
        args=_arguments(tool.parameters),
        body=[ast.Return(value=_call(send, ast.Constant(value=tool.wire_name), sent))],
        decorator_list=[decorator],
        returns=_name("ToolResult"),
    )


def _arguments(parameters: tuple[Parameter, ...]) -> ast.arguments:
    return ast.arguments(
        posonlyargs=[],
        args=[ast.arg(arg="self")],
        kwonlyargs=[ast.arg(arg=str(p.name), annotation=_expression(p.annotation)) for p in parameters],
        kw_defaults=[None if p.required else _name("UNSET") for p in parameters],
        defaults=[],
    )


def _environment(contract: Contract) -> ast.expr:
    keywords = {name: _argument(value) for name, value in environment_arguments(contract.snapshot).items()}
    return _call(_name("Environment"), **keywords)


def _argument(value: Argument) -> ast.expr:
    if isinstance(value, TerminalTool):
        return _call(_name("TerminalTool"), ast.Constant(value=value.name), arg=ast.Constant(value=value.arg))
    return ast.Constant(value=value)


def _nested(nested: tuple[NestedType, ...]) -> Iterator[ast.If]:
    """The block of nested types, where there are any."""
    if not nested:
        return
    names = {"TypedDict"} | {"NotRequired" for type in nested for field in type.fields if not field.required}
    imports = ast.ImportFrom(module="typing", names=[ast.alias(name=name) for name in sorted(names)], level=0)
    yield ast.If(
        test=_name("TYPE_CHECKING"),
        body=[imports, *(_nested_type(type) for type in nested)],
        orelse=[ast.Assign(targets=[_name(type.name, ast.Store())], value=_name("dict")) for type in nested],
    )


def _nested_type(type: NestedType) -> ast.stmt:
    if not type.as_class:
        fields = _strings({field.key: ast.Constant(value=str(field.source)) for field in type.fields})
        value = _call(_name("TypedDict"), ast.Constant(value=str(type.name)), fields)
        return ast.Assign(targets=[_name(type.name, ast.Store())], value=value)
    return ast.ClassDef(
        name=str(type.name),
        bases=[_name("TypedDict")],
        keywords=[],
        body=[_nested_field(field) for field in type.fields],
        decorator_list=[],
    )


def _nested_field(field: Field) -> ast.AnnAssign:
    target = _name(field.key, ast.Store())
    return ast.AnnAssign(target=target, annotation=_expression(field.source), value=None, simple=1)
