"""TARGET: the environment that a command is about. A catalog name, a server URL, or a Python environment class."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import SplitResult, urlsplit

from orl_codegen.errors import TargetError, printable
from orl_codegen.generator.contract.naming import KEYWORDS, snake

KINDS = (
    "TARGET is one of: a catalog name (Owner/Name), the URL of a server (http://host:port), or a Python environment "
    "class (path/to/server.py[:Class] or package.module:Class)."
)


@dataclass(frozen=True)
class CatalogName:
    """An environment in the platform's catalog, `Owner/Name`."""

    record: str


@dataclass(frozen=True)
class ServerURL:
    """A self-hosted server.

    Attributes:
        record: The URL without user-info and trailing slash, as snapshots and messages show it.
        url: The URL for requests, user-info included.
    """

    record: str
    url: str = field(repr=False)


@dataclass(frozen=True)
class PythonClass:
    """An environment class, served while the command runs.

    Attributes:
        place: `path/to/server.py`, relative to `folder`, or `package.module`.
        name: The class; None for the only environment that the file defines.
        folder: The folder that a relative path and a module are found in.
    """

    place: str
    name: str | None
    folder: Path

    @property
    def record(self) -> str:
        """The target as snapshots and messages show it."""
        return f"{self.place}:{self.name}" if self.name else self.place

    @property
    def path(self) -> Path | None:
        """The file, if the place is one."""
        return self.folder / self.place if self.place.endswith(".py") else None


Target = CatalogName | ServerURL | PythonClass


def parse_target(text: str, folder: Path | None = None) -> Target:
    """Parse a TARGET; relative paths start at `folder`, by default the working directory.

    Raises:
        TargetError: It is none of the three.
    """
    if "://" in text:
        return _server_url(text)
    if re.search(r"\.py(:|$)", text):
        return _python_file(text, folder or Path.cwd())
    if re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*", text):
        module, _, name = text.partition(":")
        return PythonClass(module, name, folder or Path.cwd())
    if re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", text, re.ASCII):
        return CatalogName(text)
    raise TargetError(f"`{printable(text)}` is not a target. {KINDS}")


def words_of(record: str, chosen: str | None, variant: str | None = None) -> str | None:
    """The words that the adapter and its files are named after, or None if they are not known yet.

    Args:
        record: The target as a snapshot records it.
        chosen: The variant that the user asked for: two variants of one server must not get the same name.
        variant: The variant that the server answered with, once it is known.
    """
    if "://" in record:
        host = urlsplit(record).hostname or ""
        bare = host == "localhost" or ":" in host or re.fullmatch(r"[\d.]+", host)
        return chosen or (variant if bare else host)
    if ":" in record or record.endswith(".py"):
        return record.partition(":")[2] or None
    return f"{record} {chosen}" if chosen else record


def slug_of(words: str) -> str:
    """The words as the name of the two files, which must also be a valid module name."""
    slug = snake(words) or "environment"
    return f"environment_{slug}" if slug[0].isdigit() or slug in KEYWORDS else slug


def _server_url(text: str) -> ServerURL:
    parts = _split(text)
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\x00-\x20\x7f\\]", text):
        raise TargetError(f"`{printable(shown)}` is not the URL of a server. {KINDS}")
    path = parts.path.strip("/")
    if path or parts.query or parts.fragment:
        hint = f" To choose one of its environments, use --variant {printable(path)}." if path else ""
        raise TargetError(f"The URL of a server must end after the host and port: {printable(shown)}.{hint}")
    return ServerURL(record=shown, url=f"{parts.scheme}://{parts.netloc}")


def _split(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port  # raises if the port is not a number
    except ValueError as error:
        raise TargetError(f"The URL of the server cannot be read ({printable(error)}). {KINDS}") from None
    return parts._replace(netloc=parts.netloc.rpartition("@")[0] + parts.netloc.rpartition("@")[1] + _host(parts))


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2].lower()


def _python_file(text: str, folder: Path) -> PythonClass:
    place, _, name = text.partition(".py:") if ".py:" in text else (text.removesuffix(".py"), "", "")
    path = Path(f"{place}.py")
    if not (folder / path).is_file():
        raise TargetError(f"There is no file {printable(path)} with an environment class. {KINDS}")
    if path.is_absolute():  # what is recorded should mean the same on another machine
        path = Path(os.path.relpath(path.resolve(), folder.resolve()))
    return PythonClass(str(PurePosixPath(path)), name or None, folder)
