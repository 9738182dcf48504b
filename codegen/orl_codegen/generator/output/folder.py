"""Reading the output folder: which files in it orl-codegen wrote, and what they contain. Nothing is written here."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from orl_codegen.errors import OutputError, SnapshotError, printable
from orl_codegen.generator import snapshot
from orl_codegen.generator.options import Job, Options, committed_slug
from orl_codegen.generator.output.ownership import is_module, recorded_target
from orl_codegen.generator.output.reading import class_of
from orl_codegen.generator.output.staging import wait_for_writer
from orl_codegen.generator.snapshot import Snapshot

LARGEST = 256 * 1024 * 1024
"""How many bytes are read of a file. What orl-codegen writes is far smaller."""

_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}


def read(path: Path) -> str | None:
    """The text of a file, or None if it does not exist; git may have checked it out with Windows line ends.

    Raises:
        OutputError: It exists and cannot be read, or is no file: it is not opened then, because to open a named pipe is
            to wait, and to open a device may do something.
    """
    try:
        _refuse_special(path)
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            return file.read(LARGEST).replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        too_long = error.errno == errno.ENAMETOOLONG
        advice = "Choose a shorter name with --name." if too_long else "Make it readable, or choose another with -o."
        raise OutputError(f"{printable(path)} cannot be read: {error.strerror}. {advice}") from None


def _refuse_special(path: Path) -> None:
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OutputError(
            f"{printable(path)} is {_KINDS.get(stat.S_IFMT(found.st_mode), 'a device')}, not a file. Remove it, or "
            "choose another name or folder."
        )
    if found.st_size > LARGEST:
        raise OutputError(
            f"{printable(path)} is larger than anything that orl-codegen writes (it has {found.st_size} bytes). Remove "
            "it, or choose another name or folder."
        )


def read_pair(folder: Path, slug: str) -> tuple[str | None, str | None]:
    """The texts of a module and of its snapshot, as they were at one moment.

    Another process may be replacing them, and in between, they do not belong together. So they are read again if they
    changed meanwhile.
    """
    paths = folder / f"{slug}.py", folder / f"{slug}.json"
    while True:
        before = [_stamp(path) for path in paths]
        module, taken = map(read, paths)
        wait_for_writer(folder)
        if before == [_stamp(path) for path in paths]:
            return module, taken


def _stamp(path: Path) -> tuple[int, ...]:
    found = _stat(path)
    return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size) if found else ()


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _files(folder: Path, suffix: str) -> list[Path]:
    """The files in a folder that may be ours, sorted; named pipes, dead links and the like are not."""
    stated = ((path, _stat(path)) for path in sorted(folder.glob(f"*{suffix}")))
    return [path for path, found in stated if found and stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST]


def owned(folder: Path) -> dict[str, list[Path]]:
    """The files in a folder that orl-codegen wrote, by slug: modules have its banner, snapshots a matching digest."""
    found: dict[str, list[Path]] = {}
    for path in sorted([*_files(folder, ".py"), *_files(folder, ".json")]):
        if _is_ours(path):
            found.setdefault(path.stem, []).append(path)
    return found


def recorded_targets(folder: Path) -> dict[str, str]:
    """The target of each snapshot in a folder, by slug, even if it was edited by hand; empty for other JSON."""
    return {path.stem: recorded_target(read(path) or "") for path in _files(folder, ".json")}


def _is_ours(path: Path) -> bool:
    text = read(path) or ""
    if path.suffix == ".py":
        return is_module(text)
    try:
        snapshot.load(text)
    except SnapshotError:
        return False
    return True


def committed(jobs: Sequence[Job], folder: Path, defaults: Options) -> tuple[tuple[Snapshot, Options], ...]:
    """The committed snapshot of each job with its options; without jobs, every snapshot in the folder with `defaults`.

    Raises:
        SnapshotError: A job has no snapshot, or it was edited by hand.
    """
    if jobs:
        targets = recorded_targets(folder)
        return tuple(_committed(job, folder, targets) for job in jobs)
    slugs = [path.stem for paths in owned(folder).values() for path in paths if path.suffix == ".json"]
    if not slugs:
        raise SnapshotError(f"There is no snapshot in {printable(folder)}. Generate one: orl-codegen TARGET -o DIR.")
    return tuple((_stored(folder, slug), _options(folder, slug, defaults)) for slug in slugs)


def _committed(job: Job, folder: Path, targets: Mapping[str, str]) -> tuple[Snapshot, Options]:
    slug = committed_slug(job, targets)
    if slug is None:
        raise SnapshotError(
            f"There is no snapshot of {printable(job.target.record)} in {printable(folder)}. Generate one first, "
            "without --offline."
        )
    return _stored(folder, slug), replace(job.options, name=slug)


def _options(folder: Path, slug: str, defaults: Options) -> Options:
    """`defaults` for a slug whose module may exist: its class keeps the name that it was once given."""
    return replace(defaults, name=slug, class_name=class_of(read(folder / f"{slug}.py") or ""))


def _stored(folder: Path, slug: str) -> Snapshot:
    path = folder / f"{slug}.json"
    text = read(path)
    if text is None:
        raise SnapshotError(f"There is no snapshot {printable(path)}. Generate it first, without --offline.")
    return snapshot.load(text, printable(path))
