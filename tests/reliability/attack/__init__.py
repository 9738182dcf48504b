"""Suite "attack": whatever a server writes becomes no code, and no command of a terminal or of a runner."""

from __future__ import annotations

from collections.abc import Iterator

from tests.reliability.figures import Figure


def measure(seed: int, share: float) -> Iterator[Figure]:
    """The figures of both halves: what reaches an output, and what reaches a module, both tried at the same time."""
    from tests.reliability.attack.channels import channels
    from tests.reliability.attack.environments import begun, environments

    with begun(seed, share) as batches:
        yield from channels(seed, share)
        yield from environments(batches)
