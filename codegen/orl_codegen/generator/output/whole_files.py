"""Files that a user names, outside of the output folder: written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path

from orl_codegen.errors import OutputError, printable
from orl_codegen.generator.output.folder import read
from orl_codegen.generator.output.ownership import is_module, is_snapshot
from orl_codegen.generator.output.writing import stage


def refuse_unwritable(path: Path) -> None:
    """Find out before any work is done whether a file can be written; nothing is left behind.

    Raises:
        OutputError: Its folder does not exist or cannot be written, or something is there that must not be replaced.
    """
    try:
        with contextlib.suppress(FileNotFoundError):
            path.lstat()
            _refuse_to_lose(path)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise _not_written(path, error) from None


def _refuse_to_lose(path: Path) -> None:
    # A link may lead anywhere, and putting a file in the place of a device would break more than a report is worth.
    if path.is_symlink() or not path.is_file():
        raise OutputError(f"{printable(path, 500)} exists and is not an ordinary file. Name a file, or remove it.")
    if not os.access(path, os.W_OK):
        raise OutputError(f"{printable(path, 500)} is write-protected. Make it writable, or name another file.")
    text = read(path) or ""
    if is_module(text) or is_snapshot(text):
        raise OutputError(
            f"{printable(path, 500)} is an adapter or a snapshot, which would be lost. Name another file."
        )


def write_whole(files: Mapping[Path, str]) -> None:
    """Write files: each gets its name only once all of them are on disk, so that nobody ever reads half of one.

    Raises:
        OutputError: One cannot be written; then none is, unless the disk fails in the very last step.
    """
    waiting = {path: path.with_name(f".orl-codegen-{secrets.token_hex(8)}") for path in files}
    path = Path()
    try:
        for path, text in files.items():
            stage(waiting[path], path, text)
        for path, staged in waiting.items():
            staged.replace(path)
    except OSError as error:
        raise _not_written(path, error) from None
    finally:
        for staged in waiting.values():
            with contextlib.suppress(OSError):
                staged.unlink(missing_ok=True)


def _not_written(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{printable(path, 500)} cannot be written: {printable(error.strerror)}. Nothing was written. Name a file in a "
        "folder that exists and that you may write in."
    )
