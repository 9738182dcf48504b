"""Several processes of one run, as launchers start them; each prints one line of JSON when it is done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

OPENING = """
import json, os, sys
from orl_codegen import OpenRewardSpec
from tests.runtime import adapters

RANK = int(os.environ.get("RANK", 0))

def done(**found):
    print("\\n" + json.dumps({"rank": RANK, **found}), flush=True)
"""

ROWS = """
url, name, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
done(rows=OpenRewardSpec(getattr(adapters, name), base_url=url, **options).rows)
"""


def start(source: str, *arguments: str, environment: Mapping[str, str], launcher: tuple[str, ...] = ()) -> Any:
    """A process that runs a program, by itself or through a launcher that takes the path of a script."""
    command = [*(launcher or (sys.executable,)), *(() if launcher else ("-c", OPENING + source)), *arguments]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/codegen:{ROOT}", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def rows_of(size: int, url: str, cache: Path, adapter: str = "Echo", **options: Any) -> list[Any]:
    """The rows of a spec in each of `size` processes that run at the same time."""
    ranks = [
        start(ROWS, url, adapter, json.dumps(options), environment=of_rank(rank, size, cache)) for rank in range(size)
    ]
    return [found["rows"] for found in sorted(results(*ranks), key=lambda found: found["rank"])]


def of_rank(rank: int, size: int, cache: Path) -> dict[str, str]:
    """The variables that torchrun gives one of its processes."""
    names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29500}
    return {name: str(value) for name, value in names.items()} | {"HF_DATASETS_CACHE": str(cache)}


def results(*processes: Any, within: float = 120.0) -> list[Any]:
    """What processes that have ended well have printed as JSON."""
    found = []
    for process in processes:
        output, errors = process.communicate(timeout=within)
        assert process.returncode == 0, errors
        found += [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return found
