"""What `check` looks at: the committed module, the committed snapshot beside it, and the live environment.

Three comparisons for each environment, each with its findings: module ↔ snapshot, snapshot ↔ live, and whether the
module type-checks. If the seal of a module holds, this version generated and type-checked it from its snapshot, so
neither is repeated. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from orl_codegen.drift.change import Change, Place
from orl_codegen.drift.committed import UNRENDERABLE, Committed, shown_path
from orl_codegen.drift.comparison.compare import compare_snapshots
from orl_codegen.drift.findings import Checked, Comparison, Finding, Report
from orl_codegen.drift.policy import DEFAULT_FAIL_ON, Policy
from orl_codegen.drift.remedies import regenerate
from orl_codegen.drift.rules import Severity
from orl_codegen.errors import OrlCodegenError, VerificationError, printable
from orl_codegen.generator.options import Job
from orl_codegen.generator.output.reading import lines_of
from orl_codegen.generator.snapshot import Snapshot
from orl_codegen.generator.stopwatch import Stopwatch

if TYPE_CHECKING:
    from orl_codegen.generator.discovery.discovery import Progress

MODULE = "module ↔ snapshot"
LIVE = "snapshot ↔ live"
TYPES = "module types"
FILES = "files ↔ targets"

Live = Snapshot | OrlCodegenError | None
Differ = Callable[[Path, str | None, str | None], str]


@dataclass(frozen=True)
class CheckOptions:
    """How to check.

    Attributes:
        policy: How changes are weighed.
        fail_on: The mildest severity that fails.
        offline: Leave out the live comparison.
        whole: These are all the environments of the project, so an acceptance that covers nothing is unused.
        configured: The jobs of the project's configuration.
        type_check: Run mypy even on modules whose seal holds.
        verbose: Explain what the rules mean.
        differ: Makes the unified diff of a module from its path, its text and the expected text; or None.
    """

    policy: Policy
    fail_on: Severity = DEFAULT_FAIL_ON
    offline: bool = False
    whole: bool = False
    configured: tuple[Job, ...] = ()
    type_check: bool = False
    verbose: bool = False
    differ: Differ | None = None


def inspect_environments(
    environments: Sequence[Committed],
    options: CheckOptions,
    progress: Callable[[Job], Progress],
    orphans: Sequence[Path] = (),
    stopwatch: Stopwatch | None = None,
) -> Report:
    """Check all environments, the live ones concurrently; failed comparisons are in the report.

    Args:
        environments: What is committed for each.
        options: How to check them.
        progress: Gives each job the display that it reports to.
        orphans: Generated files that belong to no target.
        stopwatch: Times the stages.
    """
    stopwatch = stopwatch or Stopwatch()
    with stopwatch.stage("discovery"):
        live = [None] * len(environments) if options.offline else _ask(environments, progress)
    checked = [_check(*pair, options, stopwatch) for pair in zip(environments, live, strict=True)]
    checked += [_orphans(orphans, options.policy)] if orphans else []
    report = Report(tuple(checked), options.policy.profile, options.fail_on, options.verbose)
    everything = options.whole and not options.offline and not report.failures
    return replace(report, unused=options.policy.unused(finding for *_, finding in report) if everything else ())


def _ask(environments: Sequence[Committed], progress: Callable[[Job], Progress]) -> list[Live]:
    """The live snapshot of each environment whose committed one can be read, or the error that asking for it raised."""
    import asyncio

    from orl_codegen.generator.discovery.discovery import discover
    from orl_codegen.generator.discovery.running import run

    async def ask(environment: Committed) -> Live:
        if environment.snapshot is None:
            return None  # nothing to compare with
        try:
            return await discover(environment.job.target, environment.options, progress(environment.job))
        except OrlCodegenError as error:
            return error

    async def ask_all() -> list[Live]:
        return list(await asyncio.gather(*map(ask, environments)))

    return run(ask_all())


def _check(environment: Committed, live: Live, options: CheckOptions, stopwatch: Stopwatch) -> Checked:
    judge = _Judge(environment, options.policy)
    with stopwatch.stage(MODULE):
        module = judge.comparison(MODULE, environment.changes())
    with stopwatch.stage(LIVE):
        served = _served(environment, live, options, judge)
    with stopwatch.stage(TYPES):
        types = _types(environment, options, judge)
    return Checked(
        name=environment.name,
        target=printable(environment.job.target.record, 500),
        comparisons=(module, served, types),
        regenerate=_regenerate(environment, options, offline=not served.findings),
        diff=_diff(environment, live, options.differ) if options.differ else "",
    )


def _regenerate(environment: Committed, options: CheckOptions, offline: bool) -> str:
    given = environment.job.options
    needed = replace(environment.options, variant=given.variant) if environment.slug else given
    offline = offline and environment.snapshot is not None
    configured = environment.job in options.configured
    return regenerate(environment.job.target.record, None if configured else needed, environment.folder, offline)


def _diff(environment: Committed, live: Live, differ: Differ) -> str:
    taken = live if isinstance(live, Snapshot) else environment.snapshot
    try:
        expected = None if taken is None else environment.expected(taken)
    except UNRENDERABLE:  # the comparison reports that it cannot be rendered
        return ""
    path = environment.folder / f"{environment.slug}.py"
    return "" if expected in (None, environment.module) else differ(path, environment.module, expected)


def _served(environment: Committed, live: Live, options: CheckOptions, judge: _Judge) -> Comparison:
    if options.offline:
        return Comparison(LIVE, "left out", note="offline")
    if environment.snapshot is None or live is None:
        return Comparison(LIVE, "failed", note=_nothing_to_compare_with(environment))
    try:
        if isinstance(live, OrlCodegenError):
            raise live
        changes = compare_snapshots(environment.snapshot, live, allow_partial=environment.job.options.allow_partial)
        return judge.comparison(LIVE, changes)
    except OrlCodegenError as error:
        return Comparison(LIVE, "failed", note=str(error))


def _nothing_to_compare_with(environment: Committed) -> str:
    return (
        f"{printable(environment.job.target.record)} was compared with nothing: its snapshot is missing or damaged. "
        "Write it again with orl-codegen generate."
    )


def _types(environment: Committed, options: CheckOptions, judge: _Judge) -> Comparison:
    if environment.module is None:
        return Comparison(TYPES, "left out", note="there is no module")
    if not environment.job.options.type_check:
        return Comparison(TYPES, "left out", note="switched off")
    if environment.sealed and not options.type_check:
        return Comparison(TYPES, "same", note="checked when it was written")
    return judge.comparison(TYPES, _type_errors(environment.name, environment.module))


def _type_errors(name: str, module: str) -> Iterator[Change]:
    from orl_codegen.generator.output.verification import type_check

    try:
        type_check({f"{name}.py": module})
    except (VerificationError, UnicodeError) as error:  # the latter if the file is not UTF-8
        yield (Place() / f"{name}.py").change("module-type-error", None, str(error))


def _orphans(orphans: Sequence[Path], policy: Policy) -> Checked:
    found = [
        policy.judge([(Place() / path.name).change("file-orphan")], path.stem, shown_path(path), {}) for path in orphans
    ]
    comparison = _comparison(FILES, tuple(finding for findings in found for finding in findings))
    return Checked(
        name="files without a target",
        target="[tool.orl-codegen]",
        comparisons=(comparison,),
        regenerate="orl-codegen generate --prune",
        purpose="To remove the files without a target and write all others again",
    )


def _comparison(name: str, findings: tuple[Finding, ...]) -> Comparison:
    return Comparison(name, "different" if findings else "same", findings)


class _Judge:
    """Weighs the changes of one environment, and knows which file and line a finding points to."""

    def __init__(self, environment: Committed, policy: Policy) -> None:
        self.environment = environment
        self.policy = policy

    def comparison(self, name: str, changes: Iterable[Change]) -> Comparison:
        changes = tuple(changes)
        if not changes:
            return _comparison(name, ())
        lines = lines_of(self.environment.module or "")
        of_snapshot = [change for change in changes if change.rule.startswith("snapshot-")]
        of_module = [change for change in changes if change not in of_snapshot]
        findings = (
            *self.policy.judge(of_snapshot, self.environment.name, self.environment.shown(".json"), {}),
            *self.policy.judge(of_module, self.environment.name, self.environment.shown(), lines),
        )
        return _comparison(name, findings)
