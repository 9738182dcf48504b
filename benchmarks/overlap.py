#!/usr/bin/env python3
"""A real step of `GRPOTrainer` on the CPU: TRL's trainer with its run-time spec, the same with ours, and our trainer.

    make bench

Completions and rewards of the three must be the same, which is checked.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ |= {
    "OPENREWARD_LOG_LEVEL": "CRITICAL",
    "OPENREWARD_DISABLE_UPDATE_CHECK": "1",
    "TRL_EXPERIMENTAL_SILENCE": "1",
    "HF_HUB_OFFLINE": "1",
}

import trl

from orl_codegen import OpenRewardSpec
from orl_codegen.trl import GRPOTrainer
from tests.environments.echo import Echo, SlowEcho
from tests.runtime import adapters
from tests.runtime.test_overlapping import turns
from tests.support.grpo import Phases, call, timed, train
from tests.support.servers import RunningServer, running


@dataclass(frozen=True)
class Row:
    """What is played: `phase` is `tools` or `resets`, and each text is what the model writes in one turn."""

    name: str
    rollouts: int
    texts: tuple[str, ...]
    target: str
    latency: float = 0.0
    environment: type[Any] = Echo
    phase: str = "tools"


ROWS = (
    Row("tool phase, 64 rollouts, one turn, a 1 s tool", 64, (call("wait", '{"seconds": 1}'),), "<= 1/30"),
    Row(
        "tool phase, 16 rollouts, 5 turns, 30 ms latency",
        16,
        (call("step", '{"number": 1}'),) * 5,
        "<= 1/6",
        latency=0.03,
    ),
    Row("resets, 16 rollouts, 1 s set-up", 16, ("Done",), "as the tools", environment=SlowEcho, phase="resets"),
)


@dataclass
class Step:
    """One step of a trainer: what was written and earned, and how long it took."""

    completions: list[Any] = field(default_factory=list)
    rewards: list[float | None] = field(default_factory=list)
    phases: Phases = field(default_factory=Phases)


def play(row: Row, trainer_class: Any, spec: Any) -> Step:
    """Train one step, in which the model's own turns take next to nothing."""
    step = Step()

    def reward(completions: list[Any], **columns: Any) -> list[float | None]:
        step.completions.extend(completions)
        step.rewards.extend(spec.reward_funcs(completions=completions, **columns))
        return step.rewards

    options: dict[str, Any] = {"batch": row.rollouts, "max_tool_calling_iterations": len(row.texts) + 1}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        train(
            spec,
            turns(*row.texts),
            Path(folder),
            reward_funcs=reward,
            trainer_class=timed(trainer_class, step.phases),
            max_completion_length=2048,
            **options,
        )
    return step


def measure(row: Row) -> list[float]:
    """Seconds of the phase: TRL's trainer and spec, TRL's trainer with our spec, our trainer."""
    steps = []
    for trainer_class, spec_of in (
        (trl.GRPOTrainer, _trl_spec),
        (trl.GRPOTrainer, _our_spec),
        (GRPOTrainer, _our_spec),
    ):
        with running(row.environment, latency=row.latency) as server:  # each its own: TRL's leaves its sessions behind
            steps.append(play(row, trainer_class, spec_of(server, row)))
    for step in steps[1:]:
        assert (step.completions, step.rewards) == (steps[0].completions, steps[0].rewards)
    return [getattr(step.phases, row.phase) for step in steps]


def _our_spec(server: RunningServer, row: Row) -> Any:
    return OpenRewardSpec(getattr(adapters, row.environment.__name__), base_url=server.url, num_tasks=row.rollouts)


def _trl_spec(server: RunningServer, row: Row) -> Any:
    from trl.experimental.openreward import OpenRewardSpec as TRLSpec

    os.environ["OPENREWARD_API_URL"] = os.environ["OPENREWARD_SESSION_URL"] = server.url
    return TRLSpec(server.url, env_name=row.environment.__name__.lower(), num_tasks=row.rollouts)


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    logging.disable()  # TRL's sessions go on pinging servers that have ended
    print(
        "| a GRPO step | TRL | TRL's trainer, our spec | our trainer | ratio | target |\n|---|---:|---:|---:|---:|---:|"
    )
    for row in ROWS:
        theirs, between, ours = measure(row)
        print(
            f"| {row.name} | {theirs:.2f} s | {between:.2f} s | {ours:.2f} s | 1/{theirs / ours:.1f} | {row.target} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
