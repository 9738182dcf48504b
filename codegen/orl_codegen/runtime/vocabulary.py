"""The names that a generated module is written in. Importing this costs next to nothing, and must stay that way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

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
"""Default of an optional parameter. An argument that is left out is left out of the input too; `None` is sent."""


class TerminalTool(NamedTuple):
    """The tool that takes the model's last message; the model itself is not shown it.

    Attributes:
        name: Its wire name.
        arg: The key of its input that the message goes into, or None if it takes none.
    """

    name: str
    arg: str | None = None


class Environment(NamedTuple):
    """Which environment an adapter was made from, and what the run time has to know of it.

    Attributes:
        target: Catalog name, URL, `path/to/server.py:Class` or `package.module:Class`.
        variant: Which environment of the server, as its paths spell it.
        split: The split whose tasks were looked at.
        digest: Digest of the snapshot that the adapter was made from.
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
    """What `tool` was told, kept on the function as `__tool__`.

    Attributes:
        name: The wire name.
        aliases: `{python name: wire key}` of the parameters whose two names differ.
    """

    name: str
    aliases: Mapping[str, str]


def tool(name: str, aliases: Mapping[str, str] | None = None) -> Callable[[Function], Function]:
    """Make a method of an adapter the tool `name`.

    The model is shown `__name__`, so it sees the wire name whatever the method is called in Python. It is shown no
    return type, because the wire has none. The function itself comes back: TRL lists plain functions only.
    """

    def mark(function: Function) -> Function:
        function.__name__ = name
        function.__annotations__.pop("return", None)
        function.__tool__ = ToolInfo(name, aliases or {})  # type: ignore[attr-defined]
        return function

    return mark


def bound_tools(adapter: type[Any]) -> dict[str, Any]:
    """The tools of an adapter by wire name."""
    import inspect

    functions = [function for _, function in inspect.getmembers(adapter, inspect.isfunction)]
    return {function.__tool__.name: function for function in functions if hasattr(function, "__tool__")}
