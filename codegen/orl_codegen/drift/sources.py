"""Where `diff` reads snapshots from: a file, or a file in a commit."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from orl_codegen.drift.repository import GIT_TIMEOUT
from orl_codegen.errors import SnapshotError, printable
from orl_codegen.generator.output.folder import read
from orl_codegen.generator.output.reading import lines_of
from orl_codegen.generator.snapshot import Snapshot, load


@dataclass(frozen=True)
class Source:
    """A snapshot and where it came from.

    Attributes:
        snapshot: The snapshot.
        name: Path or `<git ref>:<path>`, safe to print.
        shown: The file that findings point to: the module beside the snapshot if there is one.
        lines: The lines of the tools in that file.
    """

    snapshot: Snapshot
    name: str
    shown: str
    lines: Mapping[str | None, int] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        """The name of the environment, which is that of its files."""
        return PurePosixPath(self.shown).stem


def read_snapshot(place: str) -> Source:
    """Read a snapshot from a path or from `<git ref>:<path>`; a file that exists is a path.

    Raises:
        SnapshotError: There is no such file or commit, or it is not a snapshot.
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
    """A file in a commit. The arguments go to git unchanged, without a shell, and never as an option."""
    place = f"{printable(ref)}:{printable(path)}"
    if ref.startswith("-"):
        raise SnapshotError(
            f"`{printable(ref)}` is not a git ref. Write <git ref>:<path>, such as HEAD:generated/kitchen.json."
        )
    command = ["git", "cat-file", "blob", f"{ref}:{path}"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=GIT_TIMEOUT, check=True)
    except FileNotFoundError:
        raise SnapshotError(f"{place} needs git, which is not installed. Name a file.") from None
    except subprocess.TimeoutExpired:
        raise SnapshotError(f"git did not answer within {GIT_TIMEOUT:g} seconds. Name a file instead.") from None
    except subprocess.CalledProcessError as error:
        message = printable(error.stderr.decode("utf-8", "replace").strip())
        raise SnapshotError(
            f"git has no {place} ({message}). Paths start at the root of the repository unless they begin with ./, as "
            "in HEAD:./kitchen.json."
        ) from None
    return done.stdout.decode("utf-8", "surrogateescape")
