"""Where the files of a project are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from orl_codegen.errors import OutputError, UsageError, printable
from orl_codegen.generator.config import find_config
from orl_codegen.generator.target import PythonClass, ServerURL, Target


@dataclass(frozen=True)
class Places:
    """The folders of a project.

    Attributes:
        root: The folder of its pyproject.toml, whether that exists or not.
        repository: The root of the git repository around it; without one, the same folder.
    """

    root: Path
    repository: Path

    @property
    def pyproject(self) -> Path:
        """The file with the configuration."""
        return self.root / "pyproject.toml"

    @property
    def workflow(self) -> Path:
        """The workflow that checks the environments; GitHub reads no other folder than this one."""
        return self.repository / ".github" / "workflows" / "drift.yml"

    @property
    def hooks(self) -> Path:
        """The configuration of pre-commit, which it reads in the root of the repository."""
        return self.repository / ".pre-commit-config.yaml"

    def relative(self, path: Path) -> str:
        """A path as the configuration writes it: relative to the root, with slashes."""
        return PurePosixPath(os.path.relpath(path, self.root)).as_posix()

    @property
    def inside(self) -> str:
        """The project's folder, as seen from the root of the repository."""
        return PurePosixPath(os.path.relpath(self.root, self.repository)).as_posix()


def find_places(start: Path) -> Places:
    """The project around a folder: the one that is configured, or else that of the nearest pyproject.toml."""
    root = find_config(start).root
    if root == start:
        within = _within_repository(start)
        root = next((folder for folder in within if (folder / "pyproject.toml").is_file()), start)
    return Places(root, next((folder for folder in _upwards(root) if _is_repository(folder)), root))


def record_in(target: Target, root: Path) -> str:
    """A TARGET as the pyproject.toml in `root` names it.

    Raises:
        UsageError: It is a URL with a password, which does not belong into a file.
    """
    if isinstance(target, ServerURL) and target.url != target.record:
        raise UsageError(
            f"The user name and password of {printable(target.record)} would be written to pyproject.toml. Leave them "
            "out, and name the environment variable that holds the key with --api-key-env."
        )
    if isinstance(target, PythonClass) and target.path:
        place = PurePosixPath(os.path.relpath(target.path, root)).as_posix()
        return f"{place}:{target.name}" if target.name else place
    return target.record


def text_in(path: Path) -> str | None:
    """The text of a file of the user's, with its line ends; None if it does not exist.

    Raises:
        OutputError: It cannot be read, or is not an ordinary file: links are neither replaced nor written through.
    """
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise OutputError(
                f"{printable(path, 500)} is not an ordinary file. Nothing was written. Replace it by one."
            )
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise OutputError(f"{printable(path, 500)} cannot be read ({printable(why)}). Nothing was written.") from None


def _within_repository(start: Path) -> Iterator[Path]:
    """A folder and those above it, up to the root of the repository; without one, only the folder itself."""
    if not any(map(_is_repository, _upwards(start))):
        yield start
        return
    for folder in _upwards(start):
        yield folder
        if _is_repository(folder):
            return


def _upwards(folder: Path) -> tuple[Path, ...]:
    return (folder, *folder.parents)


def _is_repository(folder: Path) -> bool:
    return (folder / ".git").exists()
