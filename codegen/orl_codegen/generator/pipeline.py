"""The generator, from targets to the text of their files. `generate` is its table of contents.

Nothing is written here: the commands `generate` and `check` differ only in what they do with the text.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from orl_codegen.errors import OrlCodegenError, UsageError, printable
from orl_codegen.generator import snapshot
from orl_codegen.generator.contract.contract import Contract, Survey, survey, work_out
from orl_codegen.generator.contract.merging import tool_names
from orl_codegen.generator.contract.naming import type_name, type_scope
from orl_codegen.generator.discovery.discovery import Progress, Silent, discover
from orl_codegen.generator.discovery.running import run
from orl_codegen.generator.options import Job, Options
from orl_codegen.generator.output.folder import committed, read
from orl_codegen.generator.output.rendering import is_current, methods_in, render
from orl_codegen.generator.output.verification import audit, type_check
from orl_codegen.generator.snapshot import Snapshot
from orl_codegen.generator.stopwatch import Stopwatch
from orl_codegen.generator.target import slug_of, words_of

T = TypeVar("T")


@dataclass(frozen=True)
class Adapter:
    """One environment, ready to be written. What is not needed is not worked out.

    Attributes:
        slug: Name of its two files.
        options: The options that it was made with.
        class_name: Name of its class.
        taken: What the server offers.
        current: The text of the committed module if rendering would give it again, otherwise None.
    """

    slug: str
    options: Options
    class_name: str
    taken: Snapshot
    current: str | None = None

    @cached_property
    def survey(self) -> Survey:
        """What the environment offers; refused here if it is refused at all."""
        return survey(self.taken, allow_partial=self.options.allow_partial, on_conflict=self.options.on_conflict)

    @cached_property
    def contract(self) -> Contract:
        """What the module says."""
        return work_out(self.survey, self.class_name)

    @cached_property
    def snapshot(self) -> str:
        """The text of the snapshot file."""
        return snapshot.dump(self.taken)

    @cached_property
    def module(self) -> str:
        """The text of the module."""
        return render(self.contract, self.slug, self.options.templates) if self.current is None else self.current

    @property
    def files(self) -> Mapping[str, str]:
        """The text of each file, by name."""
        return {f"{self.slug}.json": self.snapshot, f"{self.slug}.py": self.module}


def generate(
    jobs: Sequence[Job],
    folder: Path,
    *,
    offline: bool = False,
    defaults: Options | None = None,
    progress: Callable[[Job], Progress] | None = None,
    type_check_all: bool = False,
    stopwatch: Stopwatch | None = None,
) -> tuple[Adapter, ...]:
    """Make the adapters of all jobs, or none.

    Args:
        jobs: The environments. Offline, an empty sequence stands for every snapshot in the folder.
        folder: The output folder. It is only read here: a module in it that is up to date is taken as it is.
        offline: Take the committed snapshots instead of asking the servers.
        defaults: The options of the snapshots in the folder if there are no jobs.
        progress: Returns the display that a job reports to.
        type_check_all: Type-check also the modules that are up to date, which were checked when they were written.
        stopwatch: Times the stages.

    Raises:
        OrlCodegenError: Any of its subclasses; if several targets fail, the message has a line for each.
    """
    stopwatch = stopwatch or Stopwatch()
    with stopwatch.stage("discovery"):
        if offline:
            taken = committed(jobs, folder, defaults or Options())
        else:
            taken = take_snapshots(jobs, progress or (lambda job: Silent()))
    with stopwatch.stage("survey"):
        adapters = tuple(adapter(*pair, folder) for pair in taken)
    _refuse_shared_slugs(adapters)
    outdated = [made for made in adapters if made.current is None]
    _work_out(outdated, stopwatch)
    with stopwatch.stage("type check"):
        _type_check(adapters if type_check_all else outdated)
    return adapters


def adapter(taken: Snapshot, options: Options, folder: Path | None = None) -> Adapter:
    """The adapter of a snapshot; the module in the folder, if one is given, is taken where it is up to date."""
    words = words_of(taken.target, options.variant, taken.variant) or taken.variant
    slug = options.name or slug_of(words)
    class_name = options.class_name or type_name([words], type_scope())
    text = (read(folder / f"{slug}.py") or "") if folder else ""
    current = is_current(text, slug, class_name, taken.digest, options.templates)
    made = Adapter(slug, options, class_name, taken, text if current else None)
    if not current or _may_be_refused(made):
        _ = made.survey
    return made


def _may_be_refused(made: Adapter) -> bool:
    """Whether an adapter whose module is up to date may have been made with options that refused less than these."""
    return made.options.on_conflict == "error" or methods_in(made.module) != len(tool_names(made.taken))


def _work_out(adapters: Sequence[Adapter], stopwatch: Stopwatch) -> None:
    """Make what the adapters leave until it is needed, and compare each module with its contract.

    Raises:
        VerificationError: A module differs from its contract.
    """
    for made in adapters:
        with stopwatch.stage("contract"):
            contract = made.contract
        with stopwatch.stage("rendering"):
            module = made.module
        with stopwatch.stage("verification"):
            audit(module, contract, own_templates=made.options.templates is not None)


def _type_check(adapters: Sequence[Adapter]) -> None:
    """Type-check modules, all in one run.

    Raises:
        VerificationError: One of them does not type-check.
    """
    checked = {f"{made.slug}.py": made.module for made in adapters if made.options.type_check}
    if checked:
        type_check(checked)


def render_files(taken: Snapshot, options: Options) -> Mapping[str, str]:
    """The text of the two files of a snapshot, by name."""
    return adapter(taken, options).files


def take_snapshots(jobs: Sequence[Job], progress: Callable[[Job], Progress]) -> tuple[tuple[Snapshot, Options], ...]:
    """Ask all servers at the same time; each snapshot comes with the options of its job."""

    async def all_of_them() -> list[Snapshot | BaseException]:
        asked = [discover(job.target, job.options, progress(job)) for job in jobs]
        return await asyncio.gather(*asked, return_exceptions=True)

    snapshots = _all_or_error(run(all_of_them()))
    return tuple(zip(snapshots, [job.options for job in jobs], strict=True))


def _all_or_error(results: Sequence[T | BaseException]) -> list[T]:
    failures = [result for result in results if isinstance(result, BaseException)]
    expected = [failure for failure in failures if isinstance(failure, OrlCodegenError)]
    if len(expected) < len(failures):
        raise next(failure for failure in failures if failure not in expected)
    if failures:
        raise expected[0] if len(expected) == 1 else OrlCodegenError("\n".join(map(str, expected)))
    return [result for result in results if not isinstance(result, BaseException)]


def _refuse_shared_slugs(adapters: Sequence[Adapter]) -> None:
    counts = Counter(made.slug for made in adapters)
    for slug in (slug for slug, count in counts.items() if count > 1):
        targets = [printable(made.taken.target) for made in adapters if made.slug == slug]
        raise UsageError(
            f"{' and '.join(targets)} would both be written to {slug}.py. Give one of them another name: --name SLUG, "
            "or `name` in the configuration."
        )
