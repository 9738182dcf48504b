#!/usr/bin/env python3
"""What the questions before training cost: two processes of one run, scattered indices, and the probing of many tasks.

make bench
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.speed import Server, seconds, serving  # noqa: E402
from orl_codegen import OpenRewardSpec  # noqa: E402
from tests.runtime import adapters  # noqa: E402
from tests.support.environments import environment, spec  # noqa: E402
from tests.support.ranks import of_rank, results, rows, rows_of, start  # noqa: E402
from tests.support.servers import running  # noqa: E402

PROMPTS = {"num_tasks": 64, "prompts": "dataset"}


def prompts_of_two(server: Server) -> tuple[int, int]:
    """Requests for 64 prompts by two processes that do not know of each other, and by two of one run."""
    with tempfile.TemporaryDirectory() as folder:
        before = server.requests()
        results(*(start(*rows(server.url, "Echo", **PROMPTS), environment=of_rank(0, 1, Path(folder))) for _ in "12"))
        alone = server.requests() - before
        rows_of(2, server.url, Path(folder), **PROMPTS)
        return alone, server.requests() - before - alone


def scattered(total: int, wanted: int) -> tuple[int, float]:
    """Requests and seconds for the tasks at random indices."""
    tasks = {"train": [{"word": f"word{number}"} for number in range(total)]}
    indices = random.Random(5).sample(range(total), wanted)
    with running(environment([spec("look")], tasks=tasks), latency=0.03) as server:
        options = {"base_url": server.url, "variant": "made", "indices": indices}
        taken = seconds(lambda: OpenRewardSpec(adapters.Echo, **options).rows)
        return len(server.requests), taken


def probing(tasks: int) -> float:
    """Seconds in which `generate --probe all` asks each task for its tools, with 100 ms for each request."""
    made = environment([spec("look")], tasks={"train": [{"word": f"word{number}"} for number in range(tasks)]})
    with running(made, latency=0.1) as server, tempfile.TemporaryDirectory() as folder:
        options = ["--probe", "all", "--no-type-check", "-q", "-o", folder]
        command = [sys.executable, "-m", "orl_codegen", server.url, *options]
        return seconds(lambda: subprocess.run(command, check=True))


def measure() -> Iterator[tuple[str, str, str, str]]:
    """What was measured, what it is compared with, the figure, and the target."""
    with serving("Echo", 0.03) as server:
        alone, shared = prompts_of_two(server)
    yield "64 dataset prompts, two processes of a run", f"{alone} requests, each alone", f"{shared} requests", "1/2"
    for total in (2_000, 100_000):
        requests, taken = scattered(total, 1000)
        yield f"1,000 random indices of {total:,}", "1,000 requests", f"{requests} requests, {taken:.2f} s", "few"
    yield "256 tasks probed at 100 ms", "", f"{probing(256):.1f} s", "< 6 s"


def main() -> None:
    """Print the table."""
    print("| | compared with | orl-codegen | target |\n|---|---:|---:|---:|")
    for row in measure():
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
