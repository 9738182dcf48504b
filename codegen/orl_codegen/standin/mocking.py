"""`mock`: a stand-in that runs beside the code that is tested, for as long as a `with` block lasts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from orl_codegen.errors import UsageError, printable

if TYPE_CHECKING:
    from orl_codegen.standin.scoring import Rewards, Scoring
    from orl_codegen.standin.world import Called, World


@dataclass
class StandIn:
    """A stand-in that is running.

    Attributes:
        url: Where it is reached, for `OpenRewardSpec(..., base_url=...)`.
        calls: The calls so far, in the order in which they arrived.
    """

    url: str
    calls: list[Called] = field(default_factory=list)


@contextlib.contextmanager
def mock(
    source: str | os.PathLike[str], *, seed: int = 0, rewards: Rewards | None = None, port: int = 0
) -> Iterator[StandIn]:
    """Serve a stand-in for an environment on loopback.

    Args:
        source: The committed snapshot of the environment.
        seed: What the rewards are drawn from that no script sets.
        rewards: `[None, 0.5, 1.0]`: the rewards of the calls of each session, in order; the last one ends the episode.
            Or such a list for each task, by its id: `{"train-0": [1.0], "*": [0.0]}`.
        port: Where to listen; 0 is any that is free.

    Raises:
        UsageError: There is no such file, the rewards are none, or the port is taken.
        SnapshotError: It is not a snapshot.
    """
    from orl_codegen.standin.application import Desk, application
    from orl_codegen.standin.listening import listening_in_a_thread
    from orl_codegen.standin.scoring import scoring_of

    running = StandIn("")
    world = world_of(Path(source), scoring_of(seed, rewards))
    with listening_in_a_thread(application(Desk(world, running.calls.append)), port) as url:
        running.url = url
        yield running


def world_of(path: Path, scoring: Scoring) -> World:
    """The environment in a snapshot.

    Raises:
        UsageError: There is no such file.
        SnapshotError: It is not a snapshot.
    """
    from orl_codegen.generator import snapshot
    from orl_codegen.generator.output.folder import read
    from orl_codegen.standin.inventing import Invented

    text = read(path)
    if text is None:
        raise UsageError(f"There is no file {printable(path)}. Name a snapshot that orl-codegen wrote.")
    return Invented(snapshot.load(text, printable(path)), scoring)
