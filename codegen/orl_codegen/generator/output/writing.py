"""The one place that writes and removes files. What is rendered and verified comes in as text."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from orl_codegen.errors import OutputError, SnapshotError, printable
from orl_codegen.generator import snapshot
from orl_codegen.generator.output.rendering import BANNER


@dataclass(frozen=True)
class Change:
    """A file that is not what it should be; None stands for a file that is not there."""

    path: Path
    old: str | None
    new: str | None


def changes(folder: Path, files: Mapping[str, str]) -> tuple[Change, ...]:
    """The files that would have to be written so that the folder holds `files`; equal texts are no change.

    Raises:
        OutputError: A file of that name is there, and somebody else's.
    """
    compared = [Change(folder / name, read(folder / name), text) for name, text in sorted(files.items())]
    changed = tuple(change for change in compared if change.old != change.new)
    for change in changed:
        if change.old is not None and not _may_replace(change.path):
            raise OutputError(
                f"{printable(change.path)} is there already, and orl-codegen did not write it. Choose another name "
                "with --name, another folder with -o, or remove the file."
            )
    return changed


def _may_replace(path: Path) -> bool:
    """Whether a file, or the other one of its pair, is ours, also where it was edited by hand."""
    module = read(path.with_suffix(".py")) or ""
    return module.startswith(BANNER) or bool(_target(path.with_suffix(".json")))


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


def write(changed: Iterable[Change]) -> None:
    """Carry changes out: each file is replaced as a whole, and only after all new texts are on the disk.

    Raises:
        OutputError: The folder or a file cannot be written. The files are what they were, unless the disk fails in the
            very last step.
    """
    ready: list[tuple[Path, Path]] = []
    try:
        for change in changed:
            if change.new is not None:
                ready.append((_aside(change.path, change.new), change.path))
        for aside, path in ready:
            aside.replace(path)
        for change in changed:
            if change.new is None:
                change.path.unlink(missing_ok=True)
    except OSError as error:
        where = printable(error.filename2 or error.filename or "")
        raise OutputError(
            f"The output folder cannot be written ({where}: {error.strerror}). Make it writable, or name another with "
            "-o."
        ) from None
    finally:
        for aside, _ in ready:
            with contextlib.suppress(OSError):
                aside.unlink(missing_ok=True)


def _aside(path: Path, text: str) -> Path:
    """The text in a new file beside the one that it will replace."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    aside = Path(name)
    aside.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
    return aside


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def owned(folder: Path) -> dict[str, list[Path]]:
    """The files in a folder that orl-codegen wrote, by slug: modules by their banner, snapshots by their digest."""
    found: dict[str, list[Path]] = {}
    for path in sorted([*folder.glob("*.py"), *folder.glob("*.json")]):
        if path.is_file() and _is_ours(path):
            found.setdefault(path.stem, []).append(path)
    return found


def targets(folder: Path) -> dict[str, str]:
    """The target of each snapshot in a folder, by slug, also where one was edited by hand; empty for other JSON."""
    return {path.stem: _target(path) for path in sorted(folder.glob("*.json"))}


def _target(path: Path) -> str:
    try:
        content = json.loads(read(path) or "")
    except (ValueError, RecursionError):
        return ""
    target = content.get("target") if isinstance(content, dict) and "format" in content else None
    return target if isinstance(target, str) else ""


def unclaimed(folder: Path, slugs: Collection[str]) -> tuple[Change, ...]:
    """The removal of every file of ours that belongs to none of `slugs`."""
    left = [path for slug, paths in owned(folder).items() if slug not in slugs for path in paths]
    return tuple(Change(path, read(path), None) for path in left)


def _is_ours(path: Path) -> bool:
    text = read(path) or ""
    if path.suffix == ".py":
        return text.startswith(BANNER)
    try:
        snapshot.load(text)
    except SnapshotError:
        return False
    return True
