"""Suite "attack": whatever a server writes becomes no code, and no command of a terminal or of a runner."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from tests.reliability.figures import Figure

PARTS = ("channels", "environments")


def measure(seed: int, share: float) -> Iterator[Figure]:
    """The figures of both halves: what reaches an output, and what reaches a module."""
    for part in PARTS:
        yield from getattr(import_module(f"{__name__}.{part}"), part)(seed, share)
