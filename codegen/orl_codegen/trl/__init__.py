"""What TRL's trainers take: datasets, factories and reward functions; and a `GRPOTrainer` whose tool calls overlap.

    from orl_codegen.trl import GRPOTrainer

TRL is imported when that name is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trl import GRPOTrainer

__all__ = ["GRPOTrainer"]


def __getattr__(name: str) -> Any:
    if name != "GRPOTrainer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from orl_codegen.trl.overlapping import overlapping_trainer

    return overlapping_trainer()
