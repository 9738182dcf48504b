"""Where answers of a server are put: a folder that the user names, or one that only the processes of this run use.

The latter lies in the cache of `datasets`. Its name is worked out from what launchers (torchrun, `accelerate launch`,
srun, mpirun) give all their processes on one machine; nothing is agreed on over the network.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import socket
import stat
import time
from pathlib import Path

from orl_codegen.errors import UsageError, printable

logger = logging.getLogger(__name__)

SIZES = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
"""Where launchers say how many processes there are: what accelerate reads, and what srun sets."""

SAME_IN_A_RUN = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID")

OLD = 24 * 3600.0  # seconds after which a folder is left over from a run: its answers are read when a run begins
REMOVED_AT_ONCE = 100


def run_folder() -> Path | None:
    """The folder of this run; None where this process is the only one, or the folder cannot be used."""
    if not any(_number(name) > 1 for name in SIZES):
        return None
    from datasets import config

    home = Path(config.HF_DATASETS_CACHE) / f"orl-codegen-{os.getuid()}"
    folder = home / f"run-{_name_of_run()}"
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        _make_private(home)
        _remove_old(home)
        _make_private(folder)
    except OSError as error:
        logger.warning(
            "The processes of this run each ask the server for themselves: %s. Check that HF_DATASETS_CACHE is a "
            "folder that can be written to.",
            printable(error, 500),
        )
        return None
    return folder


def kept_folder(cache_dir: str | os.PathLike[str]) -> Path:
    """The folder that a user names for answers that outlive the run; made if it is not there.

    Raises:
        UsageError: It is not a folder, and cannot become one.
    """
    folder = Path(cache_dir).expanduser()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cache_dir={printable(str(cache_dir), 500)} cannot be used: {printable(error, 500)}. Pass a folder that "
            "can be written to."
        ) from None
    return folder


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def _name_of_run() -> str:
    """What only the processes of this run on this machine have in common. Their parent is the launcher.

    Where each has a parent of its own (a script around Python), each asks for itself, as a single process would.
    """
    import psutil  # type: ignore[import-untyped]

    launcher = os.getppid()
    try:
        began = psutil.Process(launcher).create_time()
    except psutil.Error:
        began = None
    known = [socket.gethostname(), launcher, began, *(os.environ.get(name) for name in SAME_IN_A_RUN)]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]


def _make_private(folder: Path) -> None:
    """Make a folder that no other user can read or write; refuse one that somebody else may have put there.

    Raises:
        OSError: There is something else in its place.
    """
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    there = folder.lstat()
    if not stat.S_ISDIR(there.st_mode) or there.st_uid != os.getuid() or there.st_mode & 0o077:
        raise PermissionError(f"{folder} is not a folder of this user alone")


def _remove_old(home: Path) -> None:
    """Remove what earlier runs left behind, as far as that is possible."""
    old = (entry for entry in home.glob("run-*") if not entry.is_symlink() and _age(entry) > OLD)
    for entry, _ in zip(old, range(REMOVED_AT_ONCE), strict=False):
        shutil.rmtree(entry, ignore_errors=True)


def _age(entry: Path) -> float:
    try:
        return time.time() - entry.lstat().st_mtime
    except OSError:  # another process has removed it
        return 0.0
