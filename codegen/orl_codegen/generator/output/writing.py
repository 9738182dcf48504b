"""The only place that writes and removes generated files. It receives text that has been rendered and verified."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orl_codegen.errors import OutputError, printable
from orl_codegen.generator.output.folder import owned, read
from orl_codegen.generator.output.ownership import may_replace
from orl_codegen.generator.output.staging import STAGED, alone, left_over

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


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
        _refuse_to_replace(change.path, change.old)
    return changed


def _refuse_to_replace(path: Path, old: str | None) -> None:
    # What a link leads to may be anywhere, out of reach of the lock and of the review that the folder gets.
    if path.is_symlink():
        raise OutputError(
            f"{printable(path)} is a symbolic link, and orl-codegen neither replaces links nor writes through them. "
            "Remove it, choose another name with --name, or name the folder that it leads to with -o."
        )
    if old is not None and not may_replace(path.suffix, old, read(path.with_suffix(".py"))):
        raise OutputError(
            f"{printable(path)} already exists, and orl-codegen did not write it. Choose another name with --name, "
            "another folder with -o, or remove the file."
        )


def unclaimed(folder: Path, slugs: Collection[str]) -> tuple[FileChange, ...]:
    """The removal of every file that orl-codegen wrote and that belongs to none of `slugs`."""
    left = [path for slug, paths in owned(folder).items() if slug not in slugs for path in paths]
    return tuple(FileChange(path, read(path), None) for path in left if not path.is_symlink())


def write(
    folder: Path, find_changes: Callable[[], tuple[FileChange, ...]], say: Callable[[str], None]
) -> tuple[FileChange, ...]:
    """Apply changes: each file is replaced as a whole, and only after all new texts are on disk.

    Args:
        folder: The output folder. Nothing is touched in it if nothing has to change.
        find_changes: Compares the folder with what it should hold. It is called again once no other process writes
            there, and that is what is applied.
        say: Tells the user that another process is waited for.

    Returns:
        The changes that were made.

    Raises:
        OutputError: The folder or a file cannot be written. The files are unchanged, unless the disk fails in the very
            last step.
    """
    if not find_changes() and not left_over(folder):
        return ()
    try:
        with alone(folder, say) as hidden:
            changed = find_changes()
            _apply(changed, hidden)
            return changed
    except OSError as error:
        raise _not_written(Path(os.fsdecode(error.filename or folder)), error) from None


def _apply(changed: Sequence[FileChange], hidden: Path) -> None:
    written = [change for change in changed if change.new is not None]
    ready = [(hidden / f"{STAGED}{number}", change.path) for number, change in enumerate(written)]
    for (staged, path), change in zip(ready, written, strict=True):
        try:
            stage(staged, path, change.new or "")
        except OSError as error:
            raise _not_written(path, error) from None
    for _, path in ready:
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        _move(ready)
    except KeyboardInterrupt:  # a moment more, and what was begun is whole
        _move([(staged, path) for staged, path in ready if staged.exists()])
        raise
    _remove([change.path for change in changed if change.new is None], [path for _, path in ready])


def stage(staged: Path, path: Path, text: str) -> None:
    """Write a new text to disk, with the mode and owner of the file that it will replace.

    It is on the disk before it gets its name: otherwise a power failure could leave an empty file under that name.
    """
    with staged.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
        with contextlib.suppress(FileNotFoundError, PermissionError):  # some file systems know no modes
            old = path.stat()
            os.fchmod(file.fileno(), old.st_mode & 0o777)
            os.fchown(file.fileno(), old.st_uid, old.st_gid)  # which only root may do
        file.flush()
        os.fsync(file.fileno())


def _move(ready: Sequence[tuple[Path, Path]]) -> None:
    """Put new files in their places, a snapshot before its module.

    Of a process that ends in between, `check` then finds a module that is older than its snapshot, and the next run
    renders it from that.
    """
    for number, (staged, path) in enumerate(ready):
        try:
            staged.replace(path)
        except OSError as error:
            raise _not_written(path, error, [replaced for _, replaced in ready[:number]]) from None


def _remove(paths: Sequence[Path], replaced: Sequence[Path]) -> None:
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _not_written(path, error, replaced) from None


def _not_written(path: Path, error: OSError, replaced: Sequence[Path] = ()) -> OutputError:
    done = f"{' and '.join(map(printable, replaced))} had been replaced before" if replaced else "Nothing was replaced"
    if error.errno in _FULL:
        return OutputError(
            f"There is no room for {printable(path.name)} in {printable(path.parent)} ({printable(error.strerror)}). "
            f"{done}. Free some space there, or raise the quota or limit, or choose another folder with -o; then run "
            "this again."
        )
    return OutputError(
        f"The output folder cannot be written ({printable(path)}: {printable(error.strerror)}). {done}. Make it "
        "writable, or choose another with -o."
    )
