"""An environment that reveals which secrets reached it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openreward.environments import Environment, TextBlock, ToolOutput, tool

RESERVED = {"environment": "desert", "split": "pea"}


class Vault(Environment):
    """Tell the secrets. Its tasks have fields of mixed types, and names that TRL has other uses for."""

    def __init__(self, task_spec: Any = {}, secrets: dict[str, str] = {}) -> None:  # noqa: B006 - as the base class
        super().__init__(task_spec, secrets)
        self.secrets = secrets
        if "fail" in secrets:
            raise ValueError(f"bad credentials: {secrets}")

    @classmethod
    def list_splits(cls) -> Sequence[str]:
        """One split."""
        return ["train"]

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[Any]:
        """Three tasks that have little in common."""
        return [
            {"prompt": "raw", "task_prompt": "taken", "task_index": 17, "mixed": 1, "id": 0, **RESERVED},
            {"image": "cat.png", "mixed": "one", "nested": {"a": [1, 2]}, "self": "me", "id": 1},
            {"completion": "x", "mixed": [1, "one"], "nested": {"b": {"c": None}}, "huge": 2**80, "id": 2},
        ]

    def get_prompt(self) -> list[TextBlock]:
        """The names of the secrets."""
        return [TextBlock(text=f"Keys: {sorted(self.secrets)}")]

    @tool
    async def tell(self) -> ToolOutput:
        """Tell the secrets."""
        return ToolOutput(blocks=[TextBlock(text=str(sorted(self.secrets.items())))])

    @tool
    async def trip(self) -> ToolOutput:
        """Raise an exception that quotes the secrets."""
        raise RuntimeError(f"could not log in with {self.secrets}")
