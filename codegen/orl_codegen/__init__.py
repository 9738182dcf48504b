"""orl-codegen: a live Open Reward Standard environment becomes a committed, type-checked adapter for TRL's trainers.

    from orl_codegen import OpenRewardSpec
    from generated.kitchen import Kitchen

    spec = OpenRewardSpec(Kitchen, num_tasks=64)

The names below are imported on first use: importing this package, or a generated module, costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orl_codegen.version import __version__

if TYPE_CHECKING:
    from orl_codegen.episodes.episode import Episode
    from orl_codegen.episodes.formats import tools
    from orl_codegen.errors import OrlCodegenError
    from orl_codegen.serving import serve
    from orl_codegen.trl.combine import combine
    from orl_codegen.trl.difficulty import tasks_by_difficulty
    from orl_codegen.trl.spec import OpenRewardSpec

__all__ = [
    "Episode",
    "OpenRewardSpec",
    "OrlCodegenError",
    "__version__",
    "combine",
    "serve",
    "tasks_by_difficulty",
    "tools",
]

_HOMES = {
    "Episode": "orl_codegen.episodes.episode",
    "OpenRewardSpec": "orl_codegen.trl.spec",
    "OrlCodegenError": "orl_codegen.errors",
    "combine": "orl_codegen.trl.combine",
    "serve": "orl_codegen.serving",
    "tasks_by_difficulty": "orl_codegen.trl.difficulty",
    "tools": "orl_codegen.episodes.formats",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
