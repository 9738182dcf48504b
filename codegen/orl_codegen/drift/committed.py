"""What is committed for an environment: the snapshot, the module beside it, and whether the two belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from orl_codegen.drift.change import Change, Place
from orl_codegen.errors import ConflictError, SchemaError, SnapshotError, TargetError, VerificationError, printable
from orl_codegen.generator import snapshot
from orl_codegen.generator.options import Job, Options, committed_slug
from orl_codegen.generator.output import reading, rendering
from orl_codegen.generator.output.folder import owned, read, read_pair, recorded_targets
from orl_codegen.generator.snapshot import Snapshot
from orl_codegen.generator.target import PythonClass, Target, parse_target
from orl_codegen.version import __version__

UNRENDERABLE = (SchemaError, ConflictError, VerificationError)
"""The rendering errors that are the snapshot's fault; a mistake of the caller is not among them."""


@dataclass(frozen=True)
class Committed:
    """The committed files of one environment; each is read once, on first use.

    Attributes:
        job: The environment and its options.
        folder: The folder of the files.
        slug: The name of the files; None if no file in the folder belongs to this environment.
    """

    job: Job
    folder: Path
    slug: str | None

    @property
    def name(self) -> str:
        """The name of the environment in reports."""
        return self.slug or printable(self.job.target.record)

    def shown(self, suffix: str = ".py") -> str:
        """The path of one of the files, for reports."""
        return shown_path(self.folder / f"{self.slug}{suffix}" if self.slug else self.folder)

    @cached_property
    def _texts(self) -> tuple[str | None, str | None]:
        return read_pair(self.folder, self.slug) if self.slug else (None, None)

    @property
    def module(self) -> str | None:
        """The text of the module."""
        return self._texts[0]

    @cached_property
    def snapshot(self) -> Snapshot | None:
        """The snapshot; None if it is missing or cannot be trusted."""
        loaded = self._loaded
        return None if isinstance(loaded, SnapshotError) else loaded

    @cached_property
    def _loaded(self) -> Snapshot | SnapshotError | None:
        text = self._texts[1]
        try:
            return None if text is None else snapshot.load(text, printable(self.folder / f"{self.slug}.json"))
        except SnapshotError as error:
            return error

    @cached_property
    def sealed(self) -> bool:
        """Whether the module is what this version made of the snapshot, untouched since."""
        if self.snapshot is None or self.module is None or not self._class_is_right:
            return False
        return rendering.holds(self.module, self.snapshot.digest, self.job.options.templates)

    @property
    def _class_is_right(self) -> bool:
        wanted = self.job.options.class_name
        return wanted is None or f"\nclass {wanted}(" in (self.module or "")

    @property
    def options(self) -> Options:
        """The options for taking the live snapshot: those that are not given come from the committed one.

        Otherwise a tool that only some tasks offer would seem to appear and disappear with the tasks that are probed.
        """
        given, taken = self.job.options, self.snapshot
        if taken is None:
            return given
        return replace(
            given,
            split=taken.split if given.split == Options.split else given.split,
            variant=given.variant or taken.variant,
            toolset=given.toolset or taken.toolset,
            task_tools=given.task_tools and bool(taken.probed or taken.toolset or given.toolset),
            probe=taken.probed if given.probe == Options.probe and len(taken.probed) > 1 else given.probe,
        )

    def changes(self) -> Iterator[Change]:
        """How the files differ from what they should be."""
        module_file = Place() / f"{self.slug}.py"
        if self._loaded is None:
            yield (Place() / (f"{self.slug}.json" if self.slug else self.name)).change("snapshot-missing")
        elif isinstance(self._loaded, SnapshotError):
            yield (Place() / f"{self.slug}.json").change("snapshot-modified")
        if self.module is None and self._loaded is not None:
            yield module_file.change("module-missing")
        elif self.module is not None and self.snapshot is not None and not self.sealed:
            yield from self._unsealed(module_file, self.module, self.snapshot)

    def _unsealed(self, at: Place, module: str, taken: Snapshot) -> Iterator[Change]:
        """Why the seal does not hold; nothing if rendering again gives the same text."""
        try:
            expected = self.expected(taken)
        except UNRENDERABLE:  # then something else rendered the module
            expected = None
        if module == expected:
            return
        if not rendering.untouched(module):
            yield at.change("module-modified")
        elif taken.digest not in module:
            yield at.change("module-stale")
        else:
            yield at.change("generator-changed", None, __version__)

    def expected(self, taken: Snapshot) -> str:
        """The text that the module should have for the snapshot `taken`.

        Raises:
            SchemaError, ConflictError, VerificationError: The snapshot cannot be rendered.
            UsageError: The templates cannot be rendered.
        """
        from orl_codegen.generator.pipeline import render_files

        options = replace(
            self.options, name=self.slug, class_name=self.job.options.class_name or reading.class_of(self.module or "")
        )
        return render_files(taken, options)[f"{self.slug}.py"]


def shown_path(path: Path) -> str:
    """A path in a report: with forward slashes, and relative to the working directory if it is inside it."""
    absolute, here = path.absolute(), Path.cwd()
    shorter = absolute.relative_to(here) if absolute.is_relative_to(here) else absolute
    return printable(shorter.as_posix(), 1000)


def find_committed(jobs: Sequence[Job], folder: Path) -> tuple[Committed, ...]:
    """What is committed for each job: the name of its files comes from its options, its target or its snapshot."""
    targets = recorded_targets(folder)
    return tuple(Committed(job, folder, committed_slug(job, targets)) for job in jobs)


def find_all_committed(folder: Path, options: Options) -> tuple[Committed, ...]:
    """What is committed in a folder, each environment with the target named by its snapshot, or else its module."""
    targets = recorded_targets(folder)
    for slug, paths in owned(folder).items():
        if folder / f"{slug}.py" in paths:
            targets[slug] = targets.get(slug) or reading.target_of(read(folder / f"{slug}.py") or "")
    return tuple(
        Committed(Job(_target(target), replace(options, name=slug)), folder, slug)
        for slug, target in sorted(targets.items())
        if target
    )


def _target(record: str) -> Target:
    """The target that a file names; a Python file need not exist until its environment is asked for."""
    try:
        return parse_target(record)
    except TargetError:
        place, _, name = record.rpartition(":")
        return PythonClass(place or name, name if place else None, Path.cwd())
