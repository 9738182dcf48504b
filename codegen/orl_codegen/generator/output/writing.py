"""The only place that writes and removes files. It receives text that has been rendered and verified."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from orl_codegen.errors import OutputError, printable
from orl_codegen.generator.output.context import BANNER
from orl_codegen.generator.output.folder import owned, read, target_in


@dataclass(frozen=True)
class FileChange:
    """A file whose text must change; None stands for a file that does not exist."""

    path: Path
    old: str | None
    new: str | None


def changes(folder: Path, files: Mapping[str, str]) -> tuple[FileChange, ...]:
    """The changes that make the folder hold `files`; a file with the right text is not among them.

    Raises:
        OutputError: A file of that name exists, and orl-codegen did not write it.
    """
    compared = [FileChange(folder / name, read(folder / name), text) for name, text in sorted(files.items())]
    changed = tuple(change for change in compared if change.old != change.new)
    for change in changed:
        if change.old is not None and not _may_replace(change.path):
            raise OutputError(
                f"{printable(change.path)} already exists, and orl-codegen did not write it. Choose another name "
                "with --name, another folder with -o, or remove the file."
            )
    return changed


def _may_replace(path: Path) -> bool:
    """Whether orl-codegen wrote a file or the other one of its pair, even if they were edited by hand."""
    module = read(path.with_suffix(".py")) or ""
    return module.startswith(BANNER) or bool(target_in(path.with_suffix(".json")))


def write(changed: Iterable[FileChange]) -> None:
    """Apply changes: each file is replaced as a whole, and only after all new texts are on disk.

    Raises:
        OutputError: The folder or a file cannot be written. The files are unchanged, unless the disk fails in the very
            last step.
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
            f"The output folder cannot be written ({where}: {error.strerror}). Make it writable, or choose another "
            "with -o."
        ) from None
    finally:
        for aside, _ in ready:
            with contextlib.suppress(OSError):
                aside.unlink(missing_ok=True)


def _aside(path: Path, text: str) -> Path:
    """Write the text to a new file beside the one that it will replace."""
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


def unclaimed(folder: Path, slugs: Collection[str]) -> tuple[FileChange, ...]:
    """The removal of every file that orl-codegen wrote and that belongs to none of `slugs`."""
    left = [path for slug, paths in owned(folder).items() if slug not in slugs for path in paths]
    return tuple(FileChange(path, read(path), None) for path in left)
