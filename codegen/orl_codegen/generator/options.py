"""The options of one environment, and their defaults, which the help of the command line states from here.

The command line and the configuration take the same options.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast, get_args

from orl_codegen.errors import UsageError, printable
from orl_codegen.generator.contract.naming import BUILTINS, KEYWORDS, MODULE_NAMES
from orl_codegen.generator.target import Target, slug_of, words_of

MAX_PROBES = 100_000
MAX_CONCURRENCY = 256
A_DAY = 86_400

Probe = Literal["first", "all"] | tuple[int, ...]

OnConflict = Literal["widen", "error"]
ON_CONFLICT: tuple[OnConflict, ...] = get_args(OnConflict)


@dataclass(frozen=True)
class Options:
    """Options of one environment; the field names are the option names of the command line and the configuration.

    Attributes:
        name: Slug: the name of the two files. By default it follows from the target.
        class_name: Name of the adapter class. By default it follows from the target.
        split: The split whose tasks are probed.
        variant: The environment on a server with several; by default the server's first.
        task_tools: Whether to collect task tools.
        probe: The tasks to open for that.
        concurrency: How many of them are open at the same time.
        toolset: A built-in toolset of the platform to open the sessions with.
        secrets: For each key, the environment variable that holds the secret; never the secret itself.
        api_key_env: The environment variable that holds the API key.
        allow_partial: Whether to leave out tasks that cannot be opened and tools whose schema is refused.
        on_conflict: Whether a tool that differs between tasks is widened or refused.
        timeout: Seconds that the server has to start, to answer, and to open a session.
        templates: A folder of Jinja2 templates that replace the shipped ones of the same name.
        type_check: Whether mypy checks the module before it is written.
    """

    name: str | None = None
    class_name: str | None = None
    split: str = "train"
    variant: str | None = None
    task_tools: bool = True
    probe: Probe = "first"
    concurrency: int = 32
    toolset: str | None = None
    secrets: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    api_key_env: str | None = None
    allow_partial: bool = False
    on_conflict: OnConflict = "widen"
    timeout: float = 30.0
    templates: Path | None = None
    type_check: bool = True

    def __post_init__(self) -> None:
        """Refuse invalid values.

        Raises:
            UsageError: A value is out of range, or two options contradict each other.
        """
        if self.name is not None and not re.fullmatch(r"[a-z_][a-z0-9_]*", self.name):
            raise UsageError(f"--name {printable(self.name)}: the files become a module, so write it in snake_case.")
        if self.class_name is not None and not _is_class_name(self.class_name):
            raise UsageError(
                f"--class-name {printable(self.class_name)} is not a valid class name, or the module already uses "
                "it. Choose another."
            )
        if not 0 < self.timeout <= A_DAY:
            raise UsageError(f"--timeout must be more than 0 seconds, and at most a day ({A_DAY}).")
        if not 1 <= self.concurrency <= MAX_CONCURRENCY:
            raise UsageError(f"--concurrency must be a whole number from 1 to {MAX_CONCURRENCY}.")
        if self.templates is not None and not self.templates.is_dir():
            raise UsageError(
                f"--templates {printable(self.templates)} is not a folder. Name the folder with your templates."
            )
        if self.toolset and not self.task_tools:
            raise UsageError("--toolset takes effect only in a session, so it cannot be combined with --no-task-tools.")


def _is_class_name(name: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII)) and name not in BUILTINS | KEYWORDS | MODULE_NAMES


@dataclass(frozen=True)
class Job:
    """One environment to generate or to check."""

    target: Target
    options: Options


def committed_slug(job: Job, targets: Mapping[str, str]) -> str | None:
    """The slug of a job, without asking its server; None if nothing tells.

    Args:
        job: The environment.
        targets: The target of each committed snapshot, by slug: used if neither the options nor the target of the job
            give a name.
    """
    record = job.target.record
    words = words_of(record, job.options.variant)
    if job.options.name or words:
        return job.options.name or slug_of(str(words))
    if record.endswith(".py"):  # the snapshot also names the class that was found in the file
        return next((slug for slug, target in targets.items() if target.rpartition(":")[0] == record), None)
    return next((slug for slug, target in targets.items() if target == record), None)


def parse_probe(text: str) -> Probe:
    """Read `first`, `all`, or indices and inclusive ranges such as `0,5,10-20`.

    Raises:
        UsageError: It is none of these, or names more than 100,000 tasks.
    """
    if text in ("first", "all"):
        return cast(Literal["first", "all"], text)
    indices: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,12})(?:\s*-\s*(\d{1,12}))?\s*", part, re.ASCII)
        if not match:
            raise UsageError(f"--probe {printable(text)}: write `first`, `all`, or indices such as 0,5,10-20.")
        start, stop = int(match[1]), int(match[2] or match[1])
        if stop < start or len(indices) + stop - start >= MAX_PROBES:
            raise UsageError(f"--probe {printable(text)}: a range must ascend and hold at most {MAX_PROBES} tasks.")
        indices.update(range(start, stop + 1))
    return tuple(sorted(indices))
