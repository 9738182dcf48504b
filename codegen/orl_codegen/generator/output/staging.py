"""The hidden folder in which new files wait until all of them are on disk, and the lock on the output folder.

It lies in the output folder, so that files move from it in one step, and is there only while something is written. What
a killed process leaves in it is ignored by git, and removed by the next run. The `.gitignore` in it is what is locked:
whoever holds it knows that the other files there are left over, and none is there without the rule that ignores it.
The system takes the lock from a process that ends, however it ends.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from orl_codegen.errors import OutputError, printable

HIDDEN = ".orl-codegen"
RULE = ".gitignore"
STAGED = "new-"
"""What the names of the files begin with that wait there."""

LOCK_WITHIN = 60.0
"""How long a process waits for another one that writes in the same folder, in seconds. Writing takes milliseconds."""

TOLD_AFTER = 1.0
POLL = 0.01

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


@contextlib.contextmanager
def alone(folder: Path, say: Callable[[str], None]) -> Iterator[Path]:
    """Be the only process that writes in an output folder; yields its hidden folder, without left-overs.

    Args:
        folder: The output folder. It is made if it does not exist.
        say: Tells the user why nothing happens.

    Raises:
        OutputError: Another process does not come to an end, or something else is in the place of the hidden folder.
        OSError: The folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    hidden = folder / HIDDEN
    lock = None
    try:
        lock = _lock(folder, hidden, say)
        _clear(hidden)
        yield hidden
    finally:
        _leave(hidden, lock)


def _leave(hidden: Path, lock: int | None) -> None:
    """Remove the hidden folder, unless another process needs it."""
    with contextlib.suppress(OSError):
        if lock is not None:
            _clear(hidden)
            (hidden / RULE).unlink()
        hidden.rmdir()  # which is refused if there is something in it
    if lock is not None:
        os.close(lock)


def left_over(folder: Path) -> bool:
    """Whether a process is writing in the folder, or was killed while it did."""
    return os.path.lexists(folder / HIDDEN)


def wait_for_writer(folder: Path) -> None:
    """Wait until no process writes in the folder, but not forever. Reading a single file needs no such thing."""
    deadline = time.monotonic() + LOCK_WITHIN
    while _is_writing(folder / HIDDEN / RULE) and time.monotonic() < deadline:
        time.sleep(POLL)


def _is_writing(rule: Path) -> bool:
    try:
        handle = os.open(rule, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return not _try_lock(handle, fcntl.LOCK_SH)
    except OSError:  # no locks there
        return False
    finally:
        os.close(handle)


def _lock(folder: Path, hidden: Path, say: Callable[[str], None]) -> int:
    """The open file whose lock this process holds."""
    began, told = time.monotonic(), False
    while True:
        if (handle := _locked(folder, hidden, say)) is not None:
            return handle
        waited = time.monotonic() - began
        if waited > LOCK_WITHIN:
            raise OutputError(
                f"Another orl-codegen has been writing in {printable(folder)} for {waited:.0f} seconds. Nothing was "
                "written. Let it finish, or end it if it hangs, and run this again."
            )
        if waited > TOLD_AFTER and not told:
            say(f"waiting for another orl-codegen that writes in {printable(folder)}")
            told = True
        time.sleep(POLL)


def _locked(folder: Path, hidden: Path, say: Callable[[str], None]) -> int | None:
    """One attempt; None if another process holds the lock, or has just removed what was to be locked."""
    try:
        _make(hidden)
        handle = os.open(hidden / RULE, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    try:
        held = _try_lock(handle, fcntl.LOCK_EX) and _is_in_place(handle, hidden / RULE)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            os.close(handle)
            raise
        say(f"{printable(folder)} is on a file system without locks: let only one orl-codegen write there at a time")
        held = True
    if held:
        return handle
    os.close(handle)
    return None


def _try_lock(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_in_place(handle: int, path: Path) -> bool:
    """Whether an open file is still the one of that name: who held the lock before may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False


def _make(hidden: Path) -> None:
    """Make the hidden folder, and the rule in it.

    Raises:
        FileNotFoundError: Another process removes it at the same time.
    """
    with contextlib.suppress(FileExistsError):
        hidden.mkdir()
    if not stat.S_ISDIR(hidden.lstat().st_mode):
        raise OutputError(
            f"{printable(hidden)} is not a folder, and orl-codegen needs one of that name while it writes. Remove it, "
            "or choose another output folder with -o."
        )
    if not os.path.lexists(hidden / RULE):
        _make_rule(hidden / RULE)


def _make_rule(rule: Path) -> None:
    """Write the `.gitignore`, in one step where the system can: an empty one would not even have itself ignored."""
    try:
        handle = os.open(rule.parent, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except (AttributeError, OSError):  # the system or the file system does not know it
        _write_rule(rule)
        return
    try:
        os.write(handle, b"*\n")
        # With a folder given, Python has the system follow the link, which is how a file without a name gets one.
        os.link(f"/proc/self/fd/{handle}", rule, src_dir_fd=handle, follow_symlinks=True)
    except OSError:
        _write_rule(rule)
    finally:
        os.close(handle)


def _write_rule(rule: Path) -> None:
    with contextlib.suppress(FileExistsError):
        handle = os.open(rule, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            os.write(handle, b"*\n")
        except OSError as error:
            rule.unlink()
            raise OSError(error.errno, error.strerror, str(rule)) from None
        finally:
            os.close(handle)


def _clear(hidden: Path) -> None:
    for path in hidden.glob(f"{STAGED}*"):
        path.unlink()
