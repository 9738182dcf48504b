"""What the log of an evaluation keeps of each rollout, in the store of its sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from inspect_ai.log import EvalSample
from inspect_ai.util import Store

from orl_codegen.episodes.episode import Episode

KEY = "orl_codegen:rollout"
SAMPLE = "orl_codegen:sample"  # which sample is played, for scripted models


@dataclass(frozen=True)
class Rollout:
    """One rollout.

    Attributes:
        reward: The last reward that was not null; None where there is none.
        rewards: For each message that the model has written, the rewards of its calls that the environment answered,
            None where it gave none. A terminal tool that was given the last message counts with it.
        finished: Whether a tool has ended the episode.
        failure: Why the session was lost.
        calls: `(name, problem)` of each call, see `Call`.
    """

    reward: float | None
    rewards: tuple[tuple[float | None, ...], ...]
    finished: bool
    failure: str | None
    calls: tuple[tuple[str, str | None], ...]

    @property
    def turns(self) -> int:
        """How many messages the model has written."""
        return len(self.rewards)


def keep(store: Store, episode: Episode[Any], before: Sequence[int]) -> None:
    """Put what has become of a rollout into the store of its sample.

    Args:
        store: The store.
        episode: The rollout.
        before: For each message of the model, how many rewards there were before it.
    """
    adapter = episode.adapter
    played = Rollout(
        adapter.reward,
        tuple(tuple(adapter.rewards[a:b]) for a, b in pairwise([*before, len(adapter.rewards)])),
        adapter.finished,
        adapter.failure,
        tuple((call.name, call.problem) for call in episode.calls),
    )
    store.set(KEY, asdict(played))


def kept(store: Store) -> Rollout | None:
    """What `keep` has put there."""
    return _read(store.get(KEY))


def rollout_of(sample: EvalSample) -> Rollout | None:
    """The rollout of a sample in a log; None where no session was opened for it."""
    return _read(sample.store.get(KEY))


def _read(found: Any) -> Rollout | None:
    if found is None:
        return None
    pairs = {name: tuple(tuple(each) for each in found[name]) for name in ("rewards", "calls")}
    return Rollout(**found | pairs)
