"""The names that generated modules use. Importing this module is nearly free, and must stay that way."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from orl_codegen.runtime.parameters import WrongArguments, by_python_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Function = TypeVar("Function", bound="Callable[..., Any]")

ToolResult = str | list[dict[str, Any]]
"""What a tool of an adapter returns: text, or the list of content blocks that TRL takes from a vision environment."""


class _Unset:
    """The type of `UNSET`."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"


UNSET: Any = _Unset()
"""Default of an optional parameter. An omitted argument is omitted from the input too; `None` is sent as null."""


class TerminalTool(NamedTuple):
    """The tool that receives the model's last message; it is not shown to the model.

    Attributes:
        name: Its wire name.
        arg: The key of its input that carries the message, or None if it takes no input.
    """

    name: str
    arg: str | None = None


class Environment(NamedTuple):
    """The environment that an adapter was generated from, and what the run time needs to know about it.

    Attributes:
        target: Catalog name, URL, `path/to/server.py:Class` or `package.module:Class`.
        variant: The environment on the server, as its paths spell it.
        split: The split whose tasks were probed.
        digest: Digest of the snapshot that the adapter was generated from.
        toolset: The built-in toolset that sessions are opened with.
        terminal_tool: The tool that ends a rollout with the model's last message.
        group_scoring: Whether the environment scores the rollouts of a group against each other.
    """

    target: str
    variant: str
    split: str = "train"
    digest: str = ""
    toolset: str | None = None
    terminal_tool: TerminalTool | None = None
    group_scoring: bool = False


class ToolInfo(NamedTuple):
    """The arguments of `tool`, stored on the function as `__tool__`.

    Attributes:
        name: The wire name.
        aliases: `{python name: wire key}` for each parameter whose two names differ.
    """

    name: str
    aliases: Mapping[str, str]


@overload
def tool(function: Function, /) -> Function: ...


@overload
def tool(name: str, aliases: Mapping[str, str] | None = None) -> Callable[[Function], Function]: ...


def tool(name: Any, aliases: Mapping[str, str] | None = None) -> Any:
    """Make a method of an adapter a tool: `@tool` under the method's own name, `@tool("wire-name")` under another.

    The model is shown `__name__`, so it sees the wire name whatever the method is called in Python. It is shown no
    return type, because the wire has none. What is returned is a plain function, because TRL lists no other.

    Arguments are taken under the Python names and under the wire keys. Those that do not fit raise a `TypeError` whose
    text is for the model: Python's own would name the class, and not the parameters.
    """
    if isinstance(name, str):
        return lambda function: _marked(function, ToolInfo(name, aliases or {}))
    return _marked(name, ToolInfo(name.__name__, {}))


def _marked(function: Function, info: ToolInfo) -> Function:
    function.__name__ = info.name
    function.__annotations__.pop("return", None)

    @functools.wraps(function)
    def called(self: Any, /, *args: Any, **arguments: Any) -> Any:
        if args:  # written by a programmer: a model has no other arguments than named ones
            return function(self, *args, **arguments)
        try:
            named = by_python_name(info.name, function, info.aliases, arguments)
        except WrongArguments:
            self._count("wrong_arguments")
            raise
        return function(self, **named)

    called.__tool__ = info  # type: ignore[attr-defined]
    return called  # type: ignore[return-value]


def bound_tools(adapter: type[Any]) -> dict[str, Any]:
    """The tools of an adapter by wire name."""
    import inspect

    functions = [function for _, function in inspect.getmembers(adapter, inspect.isfunction)]
    return {function.__tool__.name: function for function in functions if hasattr(function, "__tool__")}


def generated_tools(adapter: type[Any]) -> list[Any]:
    """The tools of the generated class itself. One that a subclass overrides needs the result of its call at once."""
    generated = next(base for base in adapter.__mro__ if "_environment" in vars(base))
    return [function for function in bound_tools(adapter).values() if function in vars(generated).values()]
