"""Adapters in the shape that the generator gives them, for the environments of `tests/environments`."""

from __future__ import annotations

from orl_codegen.runtime import UNSET, Environment, RolloutAdapter, TerminalTool, ToolResult, tool


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


class Quiz(RolloutAdapter):
    """Sums."""

    _environment = Environment(
        target="tests.environments.answers:Quiz",
        variant="quiz",
        terminal_tool=TerminalTool("submit", arg="answer"),
    )


class Riddle(RolloutAdapter):
    """Guesses before the answer."""

    _environment = Environment(
        target="tests.environments.answers:Riddle",
        variant="riddle",
        terminal_tool=TerminalTool("submit", arg=None),
    )

    @tool("guess", aliases={"why_so": "why-so"})
    def guess(self, *, number: int, why_so: str = UNSET) -> ToolResult:
        """Guess a number.

        Args:
            number: The guess.
            why_so: The reason.
        """
        return self._call("guess", {"number": number, "why-so": why_so})


class Contest(Quiz):
    """The same sums; the shortest answer of a group wins."""

    _environment = Environment(
        target="tests.environments.answers:Contest",
        variant="contest",
        terminal_tool=TerminalTool("submit", arg="answer"),
        group_scoring=True,
    )


class Gallery(RolloutAdapter):
    """Look at pictures."""

    _environment = Environment(target="tests.environments.pictures:Gallery", variant="gallery")

    @tool("look")
    def look(self) -> ToolResult:
        """Look at a picture, and at one that is broken."""
        return self._call("look", {})

    @tool("nothing")
    def nothing(self) -> ToolResult:
        """Answer nothing at all."""
        return self._call("nothing", {})


class Dialogue(Gallery):
    """Go on with a conversation."""

    _environment = Environment(target="tests.environments.pictures:Dialogue", variant="dialogue")


class Vault(RolloutAdapter):
    """Tell the secrets."""

    _environment = Environment(target="tests.environments.vault:Vault", variant="vault")

    @tool("tell")
    def tell(self) -> ToolResult:
        """Tell the secrets."""
        return self._call("tell", {})

    @tool("trip")
    def trip(self) -> ToolResult:
        """Raise an exception that quotes the secrets."""
        return self._call("trip", {})
