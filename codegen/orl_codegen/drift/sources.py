"""Where `diff` takes snapshots from: a file, or a file as it stands in a commit."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from orl_codegen.errors import SnapshotError, printable
from orl_codegen.generator.output.folder import read
from orl_codegen.generator.output.reading import lines_of
from orl_codegen.generator.snapshot import Snapshot, load

_PATIENCE = 30.0
"""Seconds that git has."""


@dataclass(frozen=True)
class Source:
    """A snapshot and where it came from.

    Attributes:
        snapshot: What it says.
        name: Path, or `<git ref>:<path>`, safe to print.
        shown: The file that findings are shown at: the module beside the snapshot where there is one.
        lines: The lines of the tools in it.
    """

    snapshot: Snapshot
    name: str
    shown: str
    lines: Mapping[str | None, int] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        """What the environment is called: as its files are."""
        return PurePosixPath(self.shown).stem


def read_snapshot(place: str) -> Source:
    """Read a snapshot from a path or from `<git ref>:<path>`; a file that exists is a path.

    Raises:
        SnapshotError: There is no such file or commit, or it is no snapshot.
    """
    ref, _, path = place.partition(":")
    text = read(Path(place)) if Path(place).is_file() else _from_git(ref, path) if ref and path else None
    if text is None:
        raise SnapshotError(
            f"There is no snapshot {printable(place)}. Name a file, or `<git ref>:<path>` such as "
            "HEAD:generated/kitchen.json."
        )
    name = printable(place, 500)
    file = Path(place if Path(place).is_file() else path)
    module = read(file.with_suffix(".py")) if file.with_suffix(".py").is_file() else None
    shown = file if module is None else file.with_suffix(".py")
    return Source(load(text, name), name, printable(PurePosixPath(shown), 1000), lines_of(module or ""))


def _from_git(ref: str, path: str) -> str:
    """A file in a commit. The words go to git as they are, without a shell, and never as an option."""
    command = ["git", "cat-file", "blob", f"{ref}:{path}"]
    try:
        if ref.startswith("-"):
            raise SnapshotError(
                f"`{printable(ref)}` is no git ref. Write <git ref>:<path>, such as HEAD:generated/kitchen.json."
            )
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=True)
    except FileNotFoundError:
        raise SnapshotError(f"{printable(ref)}:{printable(path)} needs git, and there is none. Name a file.") from None
    except subprocess.TimeoutExpired:
        raise SnapshotError(f"git did not answer within {_PATIENCE:g} seconds.") from None
    except subprocess.CalledProcessError as error:
        said = printable(error.stderr.decode("utf-8", "replace").strip())
        raise SnapshotError(
            f"git has no {printable(ref)}:{printable(path)} ({said}). Paths start at the root of the repository unless "
            "they begin with ./ as in HEAD:./kitchen.json."
        ) from None
    return done.stdout.decode("utf-8", "surrogateescape")
