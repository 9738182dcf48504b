"""`mock` and `record`: a stand-in, or a proxy that records, for as long as a `with` block lasts."""

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


@dataclass(frozen=True)
class Recording:
    """A proxy that is running and records.

    Attributes:
        url: Where it is reached, for `OpenRewardSpec(..., base_url=...)`.
    """

    url: str


@contextlib.contextmanager
def mock(
    source: str | os.PathLike[str], *, seed: int = 0, rewards: Rewards | None = None, port: int = 0
) -> Iterator[StandIn]:
    """Serve a stand-in for an environment on loopback.

    Args:
        source: The committed snapshot of the environment, or a cassette that `record` wrote, which is replayed.
        seed: What the rewards are drawn from that no script sets.
        rewards: `[None, 0.5, 1.0]`: the rewards of the calls of each session, in order; the last one ends the episode.
            Or such a list for each task, by its id: `{"train-0": [1.0], "*": [0.0]}`.
        port: Where to listen; 0 is any that is free.

    Raises:
        UsageError: There is no such file, the rewards are none, or are set for a cassette, or the port is taken.
        SnapshotError: It is neither a snapshot nor a cassette.
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
    """The environment in a snapshot or a cassette.

    Raises:
        UsageError: There is no such file, or a cassette is to have other rewards than its own.
        SnapshotError: It is neither.
    """
    from orl_codegen.generator import snapshot
    from orl_codegen.generator.output.folder import read
    from orl_codegen.standin.cassette import is_cassette
    from orl_codegen.standin.inventing import Invented

    text = read(path)
    if text is None:
        raise UsageError(f"There is no file {printable(path)}. Name a snapshot that orl-codegen wrote, or a cassette.")
    if is_cassette(text):
        return _replayed(text, path, scoring)
    return Invented(snapshot.load(text, printable(path)), scoring)


def _replayed(text: str, path: Path, scoring: Scoring) -> World:
    from orl_codegen.standin.cassette import cassette_of
    from orl_codegen.standin.replaying import Replayed
    from orl_codegen.standin.scoring import Scoring

    if scoring != Scoring():
        raise UsageError(
            f"{printable(path)} is a cassette, which has the rewards that were recorded. Leave the seed and the "
            "rewards out, or name a snapshot."
        )
    return Replayed(cassette_of(text, printable(path)))


@contextlib.contextmanager
def record(
    url: str,
    cassette: str | os.PathLike[str],
    *,
    variant: str | None = None,
    split: str = "train",
    api_key_env: str | None = None,
    port: int = 0,
) -> Iterator[Recording]:
    """Serve a proxy on loopback that records what passes between its clients and a server. The file is written when the
    block ends, also where an exception ends it, and now and then before.

    Args:
        url: The server.
        cassette: The file to write, for `mock`. It may exist if it is a cassette.
        variant: Which environment, on a server with several; by default its first.
        split: A split that the environment has.
        api_key_env: The environment variable that holds the key for this server, if no client sends one.
        port: Where to listen; 0 is any that is free.

    Raises:
        UsageError: The port is taken, or the variable is not set.
        TargetError: It is not the URL of a server.
        ServerError: The server cannot be reached, or does not answer as the standard says.
        OutputError: The file cannot be written, or is something else.
    """
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from orl_codegen.generator.options import Options
    from orl_codegen.standin.listening import listening_in_a_thread
    from orl_codegen.standin.recording import recorder_of, recording

    asked = recorder_of(url, Path(cassette), Options(variant=variant, split=split, api_key_env=api_key_env))
    with ThreadPoolExecutor(1) as elsewhere:  # where a test is a coroutine, an event loop is running here
        recorder = elsewhere.submit(asyncio.run, asked).result()
    try:
        with listening_in_a_thread(recording(recorder), port) as reached:
            yield Recording(reached)
    finally:
        recorder.write()
