"""What the log of an evaluation keeps of each rollout, in the store of its sample."""

from __future__ import annotations

from dataclasses import asdict, dataclass
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
        rewards: The reward of each call that the environment answered, None where it gave none.
        finished: Whether a tool has ended the episode.
        failure: Why the session was lost.
        turns: How many messages the model has written.
        calls: `(name, problem)` of each call, see `Call`.
    """

    reward: float | None
    rewards: tuple[float | None, ...]
    finished: bool
    failure: str | None
    turns: int
    calls: tuple[tuple[str, str | None], ...]


def keep(store: Store, episode: Episode[Any], turns: int) -> None:
    """Put what has become of a rollout into the store of its sample."""
    adapter = episode.adapter
    played = Rollout(
        adapter.reward,
        tuple(adapter.rewards),
        adapter.finished,
        adapter.failure,
        turns,
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
    calls = tuple((name, problem) for name, problem in found["calls"])
    return Rollout(**{**found, "rewards": tuple(found["rewards"]), "calls": calls})
