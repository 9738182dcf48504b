"""Adapters in the shape that the generator gives them, for the environments of `tests/environments`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orl_codegen.runtime import UNSET, Environment, RolloutAdapter, TerminalTool, ToolResult, tool

if TYPE_CHECKING:
    from typing import NotRequired, TypedDict

    class Stamp(TypedDict):
        day: int
        month: NotRequired[str]
else:
    Stamp = dict


class Echo(RolloutAdapter):
    """Echo the word of the task."""

    _environment = Environment(target="tests.environments.echo:Echo", variant="echo", digest="sha256:0")

    @tool("echo")
    def echo(self, *, text: str) -> ToolResult:
        """Submit a string.

        Args:
            text: The string to echo back.
        """
        return self._call("echo", {"text": text})

    @tool("wait")
    def wait(self, *, seconds: float) -> ToolResult:
        """Wait for a while.

        Args:
            seconds: How long to wait.
        """
        return self._call("wait", {"seconds": seconds})

    @tool("step")
    def step(self, *, number: int) -> ToolResult:
        """Note a number down.

        Args:
            number: What to note down.
        """
        return self._call("step", {"number": number})


class SlowEcho(Echo):
    """The same, with a sandbox that takes a second to come up."""

    _environment = Environment(target="tests.environments.echo:SlowEcho", variant="slowecho")


class MoodyEcho(Echo):
    """The same, with a task for each thing that can go wrong."""

    _environment = Environment(target="tests.environments.echo:MoodyEcho", variant="moodyecho")
