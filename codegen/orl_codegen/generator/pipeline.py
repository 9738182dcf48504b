"""The generator, from targets to the text of their files. `generate` is its table of contents.

Nothing is written here: the commands `generate` and `check` differ only in what they do with the text.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from orl_codegen.errors import OrlCodegenError, UsageError, printable
from orl_codegen.generator import snapshot
from orl_codegen.generator.contract import contract
from orl_codegen.generator.contract.contract import Contract
from orl_codegen.generator.contract.naming import type_name, type_scope
from orl_codegen.generator.discovery.discovery import Progress, Silent, discover
from orl_codegen.generator.options import Job, Options
from orl_codegen.generator.output.folder import committed
from orl_codegen.generator.output.rendering import render
from orl_codegen.generator.output.verification import audit, type_check
from orl_codegen.generator.snapshot import Snapshot
from orl_codegen.generator.target import slug_of, words_of

T = TypeVar("T")


@dataclass(frozen=True)
class Adapter:
    """One environment, ready to be written.

    Attributes:
        slug: Name of its two files.
        options: The options that it was made with.
        contract: What the module says.
        snapshot: The text of the snapshot file.
        module: The text of the module.
    """

    slug: str
    options: Options
    contract: Contract
    snapshot: str
    module: str

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
) -> tuple[Adapter, ...]:
    """Make the adapters of all jobs, or none.

    Args:
        jobs: The environments. Offline, an empty sequence stands for every snapshot in the folder.
        folder: The output folder. It is only read here, and only when offline.
        offline: Take the committed snapshots instead of asking the servers.
        defaults: The options of the snapshots in the folder if there are no jobs.
        progress: Returns the display that a job reports to.

    Raises:
        OrlCodegenError: Any of its subclasses; if several targets fail, the message has a line for each.
    """
    if offline:
        taken = committed(jobs, folder, defaults or Options())
    else:
        taken = take_snapshots(jobs, progress or (lambda job: Silent()))
    adapters = tuple(adapter(*pair) for pair in taken)
    _refuse_shared_slugs(adapters)
    verify(adapters)
    return adapters


def adapter(taken: Snapshot, options: Options) -> Adapter:
    """The adapter of a snapshot: its contract, and the text of its files."""
    words = words_of(taken.target, options.variant, taken.variant) or taken.variant
    slug = options.name or slug_of(words)
    made = contract.build(
        taken,
        class_name=options.class_name or type_name([words], type_scope()),
        allow_partial=options.allow_partial,
        on_conflict=options.on_conflict,
    )
    return Adapter(slug, options, made, snapshot.dump(taken), render(made, slug, options.templates))


def verify(adapters: Sequence[Adapter]) -> None:
    """Compare each module with its contract, and type-check all of them in one run.

    Raises:
        VerificationError: A module differs from its contract, or does not type-check.
    """
    for made in adapters:
        audit(made.module, made.contract, own_templates=made.options.templates is not None)
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

    snapshots = _all_or_error(asyncio.run(all_of_them()))
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
        targets = [printable(made.contract.snapshot.target) for made in adapters if made.slug == slug]
        raise UsageError(
            f"{' and '.join(targets)} would both be written to {slug}.py. Give one of them another name: --name SLUG, "
            "or `name` in the configuration."
        )
