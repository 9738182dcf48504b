"""Answers of a server in the files of a folder, one file for each question, which several processes may use at once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from orl_codegen.errors import printable

logger = logging.getLogger(__name__)

JSON = dict[str, Any]

FORMAT = 1  # part of each question: another one makes older files worthless


class Shelf:
    """A folder of answers.

    A file has two lines of JSON: the question with the digest of the answer, and the answer. Where the folder cannot be
    used, questions are asked as if there were none.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def answer(self, question: JSON, ask: Callable[[], Any], keep: Callable[[Any], bool]) -> Any:
        """The answer to a question.

        Args:
            question: All that the answer depends on. It names the file and stands in it, so it must hold no secret.
            ask: Asks the server. Other processes that have the same question wait meanwhile.
            keep: Whether an answer is worth keeping.
        """
        key = json.dumps({"format": FORMAT, **question}, sort_keys=True)
        path = self._folder / f"{question['about']}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.jsonl"
        with _locked(path):
            found = _read(path, key)
            if found is not None:
                return found
            answer = ask()
            if keep(answer):
                _write(path, key, answer)
            return answer


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds the lock of a file. The system takes it from a process that ends, however it ends."""
    from filelock import FileLock

    lock = FileLock(path.with_suffix(".lock"), mode=0o600)
    try:
        lock.acquire()
    except (OSError, NotImplementedError) as error:  # a disk that is read-only, or has no locks
        _warn(path, error)
    try:
        yield
    finally:
        lock.release()


def _read(path: Path, key: str) -> Any:
    """The answer in a file; None where there is none, or another one than was written there."""
    try:
        header, _, answer = path.read_bytes().partition(b"\n")
        if json.loads(header) == _header(key, answer):
            return json.loads(answer)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        pass
    logger.warning("%s is damaged or of another origin: it is not used, and written anew.", printable(path, 500))
    return None


def _write(path: Path, key: str, value: Any) -> None:
    """Put an answer into a file, which is complete as soon as it is there."""
    answer = json.dumps(value).encode()
    try:
        number, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.stem}-", suffix=".part")  # for us alone
        try:
            with os.fdopen(number, "wb") as file:
                file.writelines([json.dumps(_header(key, answer)).encode(), b"\n", answer])
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        _warn(path, error)


def _header(key: str, answer: bytes) -> JSON:
    return {"question": json.loads(key), "sha256": hashlib.sha256(answer).hexdigest()}


def _warn(path: Path, error: Exception) -> None:
    logger.warning(
        "Answers of the server cannot be shared in %s (%s): each process asks for itself. Check that the folder can be "
        "written to.",
        printable(path.parent, 500),
        printable(error),
    )
