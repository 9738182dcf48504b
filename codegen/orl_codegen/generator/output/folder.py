"""Reading the output folder: which files in it orl-codegen wrote, and what they contain. Nothing is written here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from orl_codegen.errors import OutputError, SnapshotError, printable
from orl_codegen.generator import snapshot
from orl_codegen.generator.options import Job, Options, committed_slug
from orl_codegen.generator.output.context import BANNER
from orl_codegen.generator.output.reading import class_of
from orl_codegen.generator.snapshot import Snapshot


def read(path: Path) -> str | None:
    """The text of a file, or None if it does not exist; git may have checked it out with Windows line ends.

    Raises:
        OutputError: It exists and cannot be read.
    """
    try:
        return path.read_bytes().replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise OutputError(f"{printable(path)} cannot be read: {error.strerror}. Name another folder with -o.") from None


def owned(folder: Path) -> dict[str, list[Path]]:
    """The files in a folder that orl-codegen wrote, by slug: modules have its banner, snapshots a matching digest."""
    found: dict[str, list[Path]] = {}
    for path in sorted([*folder.glob("*.py"), *folder.glob("*.json")]):
        if path.is_file() and _is_ours(path):
            found.setdefault(path.stem, []).append(path)
    return found


def recorded_targets(folder: Path) -> dict[str, str]:
    """The target of each snapshot in a folder, by slug, even if it was edited by hand; empty for other JSON."""
    return {path.stem: target_in(path) for path in sorted(folder.glob("*.json"))}


def target_in(path: Path) -> str:
    """The target that a snapshot names, even if it was edited by hand; empty for other JSON."""
    try:
        content = json.loads(read(path) or "")
    except (ValueError, RecursionError):
        return ""
    target = content.get("target") if isinstance(content, dict) and "format" in content else None
    return target if isinstance(target, str) else ""


def _is_ours(path: Path) -> bool:
    text = read(path) or ""
    if path.suffix == ".py":
        return text.startswith(BANNER)
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
