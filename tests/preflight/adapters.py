"""Adapters in the shape that the generator gives them, for the environments of these tests."""

from __future__ import annotations

from orl_codegen.runtime import Environment, RolloutAdapter, ToolResult, tool


class Library(RolloutAdapter):
    """Read a book."""

    _environment = Environment(target="tests.environments.library:Library", variant="library")

    @tool("read")
    def read(self, *, lines: int) -> ToolResult:
        """Read lines of the book, each of ten characters.

        Args:
            lines: How many lines to read.
        """
        return self._call("read", {"lines": lines})

    @tool("leaf")
    def leaf(self, *, lines: int) -> ToolResult:
        """Read lines around a picture.

        Args:
            lines: How many lines to read.
        """
        return self._call("leaf", {"lines": lines})
