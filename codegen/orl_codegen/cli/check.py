"""`orl-codegen check`: do the committed files still match, and does the live environment?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orl_codegen.cli.arguments import Selection, environment_options, select, timings_option
from orl_codegen.cli.reports import FAILING, destinations, hand_over, report_options
from orl_codegen.drift.policy import DEFAULT_FAIL_ON, DEFAULT_PROFILE, Policy
from orl_codegen.drift.rules import PROFILES, Profile, Severity
from orl_codegen.errors import UsageError, printable
from orl_codegen.generator.config import Config
from orl_codegen.generator.stopwatch import Stopwatch

if TYPE_CHECKING:
    from orl_codegen.drift.committed import Committed


@click.command()
@environment_options
@report_options
@click.option("--offline", is_flag=True, help="Do not ask the live environments; no network.")
@click.option("--diff", "show_diff", is_flag=True, help="Add the unified diff of each module that would change.")
@timings_option
@click.option("-q", "--quiet", is_flag=True, help="No progress, and no text if nothing was found.")
@click.option("-v", "--verbose", is_flag=True, help="Say why each finding matters and what to do.")
@click.option("--dry-run", is_flag=True, hidden=True)  # accepted because generate has it; check never writes
def check(
    format_: str | None,
    reports: tuple[str, ...],
    profile: Profile | None,
    fail_on: Severity | None,
    accept_blocks: bool,
    offline: bool,
    show_diff: bool,
    quiet: bool,
    verbose: bool,
    timings: bool,
    dry_run: bool,
    **given: Any,
) -> int:
    """Compare each module with its snapshot, each snapshot with the live environment, and type-check the modules.

    Without TARGET it checks every environment in [tool.orl-codegen] of pyproject.toml, or else every snapshot in the
    output folder. Only reports are written. Exit status 0: no drift; 1: drift; 2: a comparison could not be made.
    """
    from orl_codegen.cli.display import display, report_timings
    from orl_codegen.drift.inspection import CheckOptions, inspect_environments

    places = destinations(format_, reports)
    selection = select(given.pop("targets"), given.pop("output"), needs_jobs=False, **given)
    severity, policy = settings(selection.config, profile, fail_on)
    options = CheckOptions(
        policy=policy,
        fail_on=severity,
        offline=offline,
        whole=selection.whole,
        verbose=verbose,
        type_check=given["type_check"] is True,
        differ=_differ() if show_diff else None,
        configured=selection.config.jobs,
    )
    environments, orphans = _committed(selection)
    stopwatch = Stopwatch()
    with display(quiet) as shown:
        report = inspect_environments(environments, options, shown.of, orphans, stopwatch)
        if timings:
            report_timings(shown, stopwatch)
    for failure in report.failures:
        click.echo(f"orl-codegen: {failure}", err=True)
    printing = not quiet or bool(report.findings or report.failures) or places.printed != "text"
    hand_over(replace(report, accept_blocks=accept_blocks), places, printing=printing)
    return 2 if report.failures else int(report.failed)


def settings(config: Config, profile: Profile | None, fail_on: Severity | None) -> tuple[Severity, Policy]:
    """What fails, and how changes are weighed: the command line, then the configuration, then the defaults.

    Raises:
        ConfigError: A severity, rule or acceptance in the configuration is invalid.
    """
    from orl_codegen.drift.policy_tables import read_acceptances, read_choice, read_severities

    configured = config.check
    policy = Policy(
        profile=profile or read_choice("profile", configured.get("profile", DEFAULT_PROFILE), PROFILES),
        severities=read_severities(configured.get("severity", {})),
        accepted=read_acceptances(configured.get("accept", [])),
    )
    return fail_on or read_choice("fail-on", configured.get("fail-on", DEFAULT_FAIL_ON), FAILING), policy


def _committed(selection: Selection) -> tuple[tuple[Committed, ...], list[Path]]:
    """The environments, and the generated files that belong to none of them."""
    from orl_codegen.drift.committed import find_all_committed, find_committed
    from orl_codegen.generator.output import writing

    if selection.jobs:
        environments = find_committed(selection.jobs, selection.folder)
        if not selection.whole:
            return environments, []
        slugs = [environment.slug for environment in environments if environment.slug]
        return environments, [change.path for change in writing.unclaimed(selection.folder, slugs)]
    environments = find_all_committed(selection.folder, selection.defaults)
    if not environments:
        raise UsageError(
            f"There is nothing to check: no TARGET, no environments in [tool.orl-codegen] of pyproject.toml, and no "
            f"snapshot in {printable(selection.folder)}. Generate one: orl-codegen TARGET -o DIR."
        )
    return environments, []


def _differ() -> Callable[[Path, str | None, str | None], str]:
    from orl_codegen.cli.generate import unified_diff

    return unified_diff
