"""What runs while training. Generated modules import the names below, and only these."""

from __future__ import annotations

from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.runtime.vocabulary import UNSET, Environment, TerminalTool, ToolResult, tool

__all__ = ["UNSET", "Environment", "RolloutAdapter", "TerminalTool", "ToolResult", "tool"]
