"""Read by mypy only: both forms of `@tool` keep the type of the method, and misuse does not type-check."""

from __future__ import annotations

from orl_codegen.runtime import RolloutAdapter, ToolResult, tool


class Oven(RolloutAdapter):
    """Three tools, marked in each way."""

    @tool
    def heat(self, *, celsius: int) -> ToolResult:
        """Heat it."""
        return self._call("heat", {"celsius": celsius})

    @tool("cool-down")
    def cool_down(self) -> ToolResult:
        """Cool it."""
        return self._call("cool-down", {})

    @tool("set", aliases={"from_": "from"})
    def set(self, *, from_: int) -> ToolResult:
        """Set it."""
        return self._call("set", {"from": from_})


oven = Oven()
answer: ToolResult = oven.heat(celsius=180)
oven.heat(celsius="hot")  # type: ignore[arg-type]  # the type of a parameter is kept
oven.cool_down(fast=True)  # type: ignore[call-arg]  # and so is the list of parameters
tool(3)  # type: ignore[call-overload]  # neither a method nor a name
tool("set", aliases=["from"])  # type: ignore[call-overload]  # aliases are a mapping
tool(oven.heat, aliases={})  # type: ignore[call-overload]  # a bare @tool has no aliases
