#!/usr/bin/env python3
"""What the commands cost in CPU time, which other programs on the machine disturb little, and how it grows.

    make bench

The tools are those of the SDK's document toolsets, under numbered names. Times are those of whole processes, so each
holds the start of Python and the imports (the row `rules` shows what that comes to).
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from orl_codegen.generator.snapshot import Snapshot  # noqa: E402

SOURCE = ROOT / "generated" / "documents.json"


def write_snapshot(folder: Path, name: str, count: int) -> Path:
    """A snapshot with so many tools."""
    tools = json.loads(SOURCE.read_text("utf-8"))["tools"]
    numbered = tuple(tools[number % len(tools)] | {"name": f"tool_{number}"} for number in range(count))
    path = folder / f"{name}.json"
    path.write_text(Snapshot("http://127.0.0.1:1", name, "train", numbered).text(), "utf-8")
    return path


def command(folder: Path, *arguments: str) -> float:
    """CPU seconds of a command and its children, which has to succeed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "codegen"), "NO_COLOR": "1"}
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-m", "orl_codegen", *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    after = os.times()
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-500:]
    return after.children_user + after.children_system - before.children_user - before.children_system
