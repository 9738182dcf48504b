"""The git repository around the working directory: which snapshots a commit holds, and which the working tree."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from orl_codegen.errors import UsageError, printable
from orl_codegen.generator.output.folder import read
from orl_codegen.generator.output.ownership import is_snapshot
from orl_codegen.generator.snapshot import Snapshot, load

GIT_TIMEOUT = 30.0
"""Seconds that git may take."""


@dataclass(frozen=True)
class Repository:
    """A repository by the folder of its working tree, without symbolic links in it."""

    root: Path

    def is_commit(self, ref: str) -> bool:
        """Whether a ref names a commit. What looks like an option is none."""
        if ref.startswith("-") or not ref:
            return False
        command = ["git", "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"]
        return _run(command, self.root).returncode == 0

    def inside(self, path: Path) -> PurePosixPath:
        """A path from the working directory as one from the root of the repository.

        Raises:
            UsageError: It leads out of the repository.
        """
        absolute = path.resolve()
        if not absolute.is_relative_to(self.root):
            raise UsageError(f"{printable(path, 500)} is not in the git repository {printable(self.root, 500)}.")
        return PurePosixPath(absolute.relative_to(self.root))

    def snapshots(self, ref: str | None, path: PurePosixPath) -> dict[PurePosixPath, Snapshot]:
        """The snapshot at a path, or those right in a folder, by path; other JSON files are left out.

        Args:
            ref: A ref that names a commit, or None for the working tree.
            path: A path from the root.

        Raises:
            SnapshotError: A snapshot was edited by hand, or has a format that this version does not read.
        """
        files = [file for file in self._files(ref, path) if file.suffix == ".json"]
        texts = {file: self._text(ref, file) for file in files}
        prefix = "" if ref is None else f"{ref}:"
        return {
            file: load(text, printable(f"{prefix}{file}", 500)) for file, text in texts.items() if is_snapshot(text)
        }

    def _files(self, ref: str | None, path: PurePosixPath) -> list[PurePosixPath]:
        if ref is None:
            place = self.root / path
            found = place.glob("*.json") if place.is_dir() else [place]
            return [PurePosixPath(file.relative_to(self.root)) for file in found if file.is_file()]
        command = ["git", "ls-tree", "-r", "-z", "--full-tree", "--name-only", "--", ref]
        listed = self._read([*command, *([] if path == PurePosixPath() else [str(path)])]).split(b"\0")
        names = (PurePosixPath(name.decode("utf-8", "surrogateescape")) for name in listed if name)
        return [name for name in names if path in (name, name.parent)]

    def _text(self, ref: str | None, file: PurePosixPath) -> str:
        if ref is None:
            return read(self.root / file) or ""
        return self._read(["git", "cat-file", "blob", f"{ref}:{file}"]).decode("utf-8", "surrogateescape")

    def _read(self, command: Sequence[str]) -> bytes:
        done = _run(command, self.root)
        if done.returncode:  # the ref is a commit, so a shallow or damaged repository is what is left
            why = printable(done.stderr.decode("utf-8", "replace").strip())
            raise UsageError(f"git cannot read {printable(command[-1], 500)} ({why}). Try git fsck, or fetch again.")
        return done.stdout


def find_repository() -> Repository:
    """The repository around the working directory.

    Raises:
        UsageError: There is none, or git does not answer.
    """
    done = _run(["git", "rev-parse", "--show-toplevel"], Path.cwd())
    if done.returncode:
        why = printable(done.stderr.decode("utf-8", "replace").strip())
        raise UsageError(f"There is no git repository to read from ({why}). Run this inside of the project's own.")
    return Repository(Path(done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")).resolve())


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run git without a shell."""
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, timeout=GIT_TIMEOUT, check=False)
    except FileNotFoundError:
        raise UsageError("This needs git, which is not installed.") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git did not answer within {GIT_TIMEOUT:g} seconds. Try again.") from None
