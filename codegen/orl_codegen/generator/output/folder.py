"""The output folder, read: which files in it orl-codegen wrote, and what they say. Nothing is written here."""

from __future__ import annotations

import json
from pathlib import Path

from orl_codegen.errors import OutputError, SnapshotError, printable
from orl_codegen.generator import snapshot
from orl_codegen.generator.output.rendering import BANNER
from orl_codegen.generator.snapshot import Snapshot


def read(path: Path) -> str | None:
    """The text of a file, None where there is none; git may have checked it out with the line ends of Windows.

    Raises:
        OutputError: It is there and cannot be read.
    """
    try:
        return path.read_bytes().replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise OutputError(f"{printable(path)} cannot be read: {error.strerror}. Name another folder with -o.") from None


def owned(folder: Path) -> dict[str, list[Path]]:
    """The files in a folder that orl-codegen wrote, by slug: modules by their banner, snapshots by their digest."""
    found: dict[str, list[Path]] = {}
    for path in sorted([*folder.glob("*.py"), *folder.glob("*.json")]):
        if path.is_file() and _is_ours(path):
            found.setdefault(path.stem, []).append(path)
    return found


def recorded_targets(folder: Path) -> dict[str, str]:
    """The target of each snapshot in a folder, by slug, also where one was edited by hand; empty for other JSON."""
    return {path.stem: target_in(path) for path in sorted(folder.glob("*.json"))}


def target_in(path: Path) -> str:
    """The target that a snapshot names, also where it was edited by hand; empty for other JSON."""
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


def snapshots_in(folder: Path) -> dict[str, Snapshot]:
    """Every snapshot in a folder, by slug."""
    paths = [path for paths in owned(folder).values() for path in paths if path.suffix == ".json"]
    return {path.stem: stored(folder, path.stem) for path in paths}


def stored(folder: Path, slug: str) -> Snapshot:
    """The committed snapshot of a slug.

    Raises:
        SnapshotError: It is not there, or it is no snapshot.
    """
    path = folder / f"{slug}.json"
    text = read(path)
    if text is None:
        raise SnapshotError(f"There is no snapshot {printable(path)}. Generate it first, without --offline.")
    return snapshot.load(text, printable(path))
