"""The environment that a module names: the arguments of its `Environment(...)`.

Rendering turns these values into source, and verification turns the same values into syntax.
"""

from __future__ import annotations

from orl_codegen.generator.snapshot import Snapshot
from orl_codegen.runtime.vocabulary import TerminalTool

Argument = str | bool | TerminalTool


def environment_arguments(snapshot: Snapshot) -> dict[str, Argument]:
    """The keyword arguments in their order; those that most environments leave at their default are left out."""
    optional: dict[str, Argument | None] = {
        "toolset": snapshot.toolset,
        "terminal_tool": _terminal_tool(snapshot),
        "group_scoring": snapshot.supports_score_group or None,
    }
    return {
        "target": snapshot.target,
        "variant": snapshot.variant,
        "split": snapshot.split,
        **{name: value for name, value in optional.items() if value is not None},
        "digest": snapshot.digest,
    }


def _terminal_tool(snapshot: Snapshot) -> TerminalTool | None:
    if snapshot.terminal_tool is None:
        return None
    arg = snapshot.terminal_tool.get("arg")
    return TerminalTool(str(snapshot.terminal_tool.get("name")), None if arg is None else str(arg))
