#!/usr/bin/env python3
"""The tool phase of a real step of `GRPOTrainer` on the CPU: TRL's own trainer, and ours in which calls overlap.

    make bench

Completions and rewards of the two must be the same, which is checked.
"""

from __future__ import annotations

import os
import sys
import tempfile
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

from orl_codegen.trl import GRPOTrainer
from tests.environments.echo import Echo
from tests.runtime.test_overlapping import Played, spec_of, turns
from tests.support.grpo import call
from tests.support.servers import running

ROWS: dict[str, tuple[float, int, list[str], str]] = {
    "64 rollouts, one turn, a 1 s tool": (0.0, 64, [call("wait", '{"seconds": 1}')], "<= 1/30"),
    "16 rollouts, 5 turns, 30 ms latency": (0.03, 16, [call("step", '{"number": 1}')] * 5, "<= 1/6"),
}
"""Server latency in seconds, rollouts, what the model writes in each turn, and what the ratio has to be."""


def measure(latency: float, rollouts: int, texts: list[str]) -> tuple[float, float]:
    """Seconds of TRL's tool loop, in which the model's own turns take next to nothing: TRL's trainer, then ours."""
    options: dict[str, Any] = {"batch": rollouts, "max_tool_calling_iterations": len(texts) + 1}
    options["max_completion_length"] = 2048
    with running(Echo, latency=latency) as server, tempfile.TemporaryDirectory() as folder:
        plain, ours = (
            Played(trainer, spec_of(server, num_tasks=rollouts), turns(*texts), Path(folder), **options)
            for trainer in (trl.GRPOTrainer, GRPOTrainer)
        )
    assert (ours.completions, ours.rollouts, ours.log) == (plain.completions, plain.rollouts, plain.log)
    return plain.seconds, ours.seconds


def main() -> None:
    """Print the table."""
    print("| tool phase of a GRPO step | TRL | orl-codegen | ratio | target |\n|---|---:|---:|---:|---:|")
    for name, (latency, rollouts, texts, target) in ROWS.items():
        theirs, mine = measure(latency, rollouts, texts)
        print(f"| {name} | {theirs:.2f} s | {mine:.2f} s | 1/{theirs / mine:.1f} | {target} |", flush=True)


if __name__ == "__main__":
    main()
