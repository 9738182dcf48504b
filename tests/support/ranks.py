"""Several processes of one run, as launchers start them; each prints one line of JSON when it is done."""

from __future__ import annotations

import json
import os
import re
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


def start(*arguments: str, environment: Mapping[str, str], errors: int = subprocess.PIPE) -> Any:
    """Python with these arguments."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/codegen:{ROOT}", **environment},
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )


def program(source: str, *arguments: str) -> tuple[str, ...]:
    """The arguments of Python that run a program, in which `done` prints what it has found."""
    return "-c", OPENING + source, *arguments


def rows(url: str, adapter: str, **options: Any) -> tuple[str, ...]:
    """The program that finds the rows of a spec."""
    return program(ROWS, url, adapter, json.dumps(options))


def rows_of(size: int, url: str, cache: Path, adapter: str = "Echo", **options: Any) -> list[Any]:
    """The rows of a spec in each of `size` processes that run at the same time."""
    program = rows(url, adapter, **options)
    return [
        found["rows"]
        for found in results(*(start(*program, environment=of_rank(rank, size, cache)) for rank in range(size)))
    ]


def of_rank(rank: int, size: int, cache: Path) -> dict[str, str]:
    """The variables that torchrun gives one of its processes."""
    names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29500}
    return {name: str(value) for name, value in names.items()} | {"HF_DATASETS_CACHE": str(cache)}


def results(*processes: Any, within: float = 120.0) -> list[Any]:
    """What processes that have ended well have found, by rank."""
    found, decoder = [], json.JSONDecoder()
    for process in processes:
        output, errors = process.communicate(timeout=within)
        assert process.returncode == 0, errors
        # Lines of two processes with one output may run into each other.
        found += [decoder.raw_decode(output, each.start())[0] for each in re.finditer(r'\{"rank"', output)]
    return sorted(found, key=lambda each: each["rank"])
