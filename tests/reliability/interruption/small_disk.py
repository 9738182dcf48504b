"""A disk that is really full: a tiny one in memory, in a namespace of its own, where a user may have one."""

from __future__ import annotations

import contextlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.reliability.figures import Figure
from tests.reliability.interruption.projects import OUT, Project, finished, offline_project, untouched
from tests.support.cli import Outcome, orl_codegen

PAGES = 24
PAGE = 4096
NAMESPACE = ("unshare", "--map-root-user", "--mount")


def figure(seed: int, count: int) -> Figure:
    """Runs on a disk with some pages left; left out where no such disk can be had."""
    what = f"{count} runs on a disk that is full after 0 to {PAGES} pages (tmpfs)"
    if shutil.which(NAMESPACE[0]) is None or subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode:
        return Figure(what, "left out: this system lets no user mount one", True)
    command = [*NAMESPACE, sys.executable, "-m", __name__, str(seed), str(count)]
    done = subprocess.run(command, capture_output=True, text=True)
    faults = tuple(done.stdout.splitlines()) if done.returncode == 0 else (done.stderr.strip()[-1000:],)
    found = "all files or none, an error that names file and folder, nothing left over"
    return Figure(what, f"{len(faults)} faults" if faults else found, not faults, faults)


def main(seed: int, count: int) -> Iterator[str]:
    """What is wrong, a line each; the disk is mounted where only this process sees it."""
    with tempfile.TemporaryDirectory(prefix="orl-codegen-disk-") as folder:
        disk = Path(folder) / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={PAGES * PAGE}", "tmpfs", disk], check=True)
        project = offline_project(Path(folder) / "offline")
        for number in range(count):
            left = random.Random(f"{seed} small disk {number}").randint(0, PAGES - 8)
            for fault in _run_with(disk, project, left):
                yield f"{left} pages left ({number} of --seed {seed}): {fault}"
        subprocess.run(["umount", disk], check=True)


def _run_with(disk: Path, project: Project, left: int) -> Iterator[str]:
    """What is wrong with a run for which so many pages are left, and with the next one, for which there is room."""
    shutil.copytree(project.template / OUT, disk / OUT)
    _fill(disk / "filler", left)
    outcome = _generate(disk, project.arguments)
    if outcome.status == 0:
        yield from finished(project, disk)
    else:
        yield from untouched(project, disk)
        if not re.match(r"orl-codegen: There is no room for \S+ in \S+ \(No space left on device\)\. ", outcome.err):
            yield f"no clear error: {outcome.err.strip()}"
    (disk / "filler").unlink()
    if (again := _generate(disk, project.arguments)).status:
        yield f"the next run: {again.err.strip()}"
    yield from finished(project, disk)
    shutil.rmtree(disk / OUT)


def _generate(disk: Path, arguments: tuple[str, ...]) -> Outcome:
    with contextlib.chdir(disk):
        return orl_codegen(*arguments)


def _fill(path: Path, left: int) -> None:
    """Fill the disk up, but for so many pages."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * PAGE)
        except OSError:
            file.truncate(max(0, file.tell() // PAGE - left) * PAGE)


if __name__ == "__main__":
    for line in main(int(sys.argv[1]), int(sys.argv[2])):
        print(line)
