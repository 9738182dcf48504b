#!/usr/bin/env python3
"""What the commands cost in CPU time, which other programs on the machine disturb little, and how it grows.

    make bench

The tools are those of the SDK's document toolsets, under numbered names. The costs are those of whole processes, with
the start of Python and the imports: what `orl-codegen rules` costs is nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from orl_codegen.generator import snapshot  # noqa: E402

SOURCE = ROOT / "generated" / "documents.json"


def write_snapshot(folder: Path, name: str, count: int) -> None:
    """A snapshot with so many tools."""
    tools = json.loads(SOURCE.read_text("utf-8"))["tools"]
    numbered = tuple({**tools[number % len(tools)], "name": f"tool_{number}"} for number in range(count))
    taken = snapshot.Snapshot(f"http://127.0.0.1:1/{name}", name, "train", numbered)
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(snapshot.dump(taken), "utf-8")


def cost(folder: Path, *arguments: str) -> float:
    """CPU seconds of a command and its children."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "codegen")}
    before = os.times()
    command = [sys.executable, "-m", "orl_codegen", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    after = os.times()
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}: {done.stderr[-500:]}")
    return sum(after[2:4]) - sum(before[2:4])


def measure(folder: Path) -> Iterator[tuple[str, float, str]]:
    """What was measured, CPU seconds, and the target."""
    sizes = (1000, 10_000)
    for size in sizes:
        write_snapshot(folder / str(size), "made", size)
    for number in range(20):
        write_snapshot(folder / "twenty", f"made_{number}", 50)
    untyped = ("generate", "--offline", "--no-type-check", "-q", "-o")
    yield "`rules`: Python and the imports", cost(folder, "rules"), ""
    for size in sizes:
        yield f"{size:,} tools, generated and audited", cost(folder, *untyped, str(size)), ""
    yield "1,000 tools, generated, audited and type-checked", _from_scratch(folder, "1000"), "< 5"
    for size in sizes:
        yield f"{size:,} tools, `check --offline`", cost(folder, "check", "--offline", "-q", "-o", str(size)), ""
        yield f"{size:,} tools, `show` of the snapshot", cost(folder, "show", f"{size}/made.json"), ""
        yield f"{size:,} tools, `diff`", cost(folder, "diff", f"{size}/made.json", f"{size}/made.json"), ""
    yield (
        "20 × 50 tools, generated, audited and type-checked",
        cost(folder, "generate", "--offline", "-q", "-o", "twenty"),
        "",
    )
    yield "20 × 50 tools, nothing to do", cost(folder, "generate", "--offline", "-q", "-o", "twenty"), "< 0.6"
    yield "20 × 50 tools, `check --offline`", cost(folder, "check", "--offline", "-q", "-o", "twenty"), ""


def _from_scratch(folder: Path, name: str) -> float:
    (folder / name / "made.py").unlink()
    return cost(folder, "generate", "--offline", "-q", "-o", name)


def main() -> None:
    """Print the table."""
    print("| a command | CPU | target |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for what, seconds, target in measure(Path(folder)):
            print(f"| {what} | {seconds:.2f} s | {target} |", flush=True)


if __name__ == "__main__":
    main()
