"""`orl-codegen diff OLD NEW`: what changed between two snapshots."""

from __future__ import annotations

from dataclasses import replace

import click

from orl_codegen.cli.check import settings
from orl_codegen.cli.reports import destinations, hand_over, report_options
from orl_codegen.drift.rules import Profile, Severity


@click.command()
@click.argument("old")
@click.argument("new")
@report_options
def diff(
    old: str,
    new: str,
    format_: str | None,
    reports: tuple[str, ...],
    profile: Profile | None,
    fail_on: Severity | None,
    accept_blocks: bool,
) -> int:
    """Compare two snapshots, each given as a file path or as `<git ref>:<path>`, such as HEAD~1:generated/kitchen.json.

    Exit status 0: no drift; 1: drift; 2: a snapshot could not be read.
    """
    from orl_codegen.drift.comparison.compare import compare_snapshots
    from orl_codegen.drift.findings import Checked, Comparison, Report
    from orl_codegen.drift.sources import read_snapshot
    from orl_codegen.generator.config import find_config

    places = destinations(format_, reports)
    severity, policy = settings(find_config(), profile, fail_on)
    before, after = read_snapshot(old), read_snapshot(new)
    changes = compare_snapshots(before.snapshot, after.snapshot)
    findings = policy.judge(changes, after.slug, after.shown, after.lines)
    comparison = Comparison("old ↔ new", "different" if findings else "same", findings)
    report = Report((Checked(after.name, f"{before.name} → {after.name}", (comparison,)),), policy.profile, severity)
    hand_over(replace(report, accept_blocks=accept_blocks), places)
    return int(report.failed)
