"""A sample of `make mutations`, and what its tables must hold for its rates to mean anything."""

from __future__ import annotations

import json

import pytest

from orl_codegen.drift.rules import RULES
from tests.mutations.__main__ import suffices
from tests.mutations.kinds import CHANGES, SEVERITIES, Kind
from tests.mutations.tool_kinds import TOOL_CHANGES
from tests.mutations.tools import CORPUS, Environment, corpus, project
from tests.mutations.trials import Trial, Trials

SEED = 20261203

NO_VALUES_TELL = {
    "default-changed": "what is accepted stays the same, and what happens does not",
    "default-removed": "what is accepted stays the same, and what happens does not",
    "deprecated-added": "it announces a change that is still to come",
    "tool-input-closed": "adapters pass nothing but parameters",
}
"""Rules whose severity for code does not follow from the values that the schemas accept, and why."""


def test_single_changes_of_tools_in_the_project_are_reported_exactly() -> None:
    """Each change has its finding, rule, place and severities, and no other; each equivalent has none above info."""
    _hold(project(), changes=450, equivalents=150)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real tools is not beside the project")
def test_single_changes_of_real_tools_are_reported_exactly() -> None:
    """The same for tools of public servers."""
    _hold(corpus(CORPUS), changes=450, equivalents=150)


def _hold(environments: list[Environment], changes: int, equivalents: int) -> None:
    trials = Trials(environments, SEED)
    for all_tried in (trials.changes(changes), trials.equivalents(equivalents)):
        assert suffices(all_tried), "\n".join(str(trial) for trial in all_tried if not trial.right)


def test_a_trial_is_determined_by_its_seed_and_number() -> None:
    """The same seed gives the same trials, so that one that failed can be looked at again."""
    again = [[_told(trial) for trial in Trials(project(), SEED).changes(20)] for _ in range(2)]
    assert again[0] == again[1] != [_told(trial) for trial in Trials(project(), SEED + 1).changes(20)]


def _told(trial: Trial) -> tuple[object, ...]:
    return trial.kind, trial.number, trial.verdict, trial.tools, trial.wanted


def test_every_trial_changes_something() -> None:
    """No row leaves both sides alike: that would be reported rightly without a comparison."""
    for trial in Trials(project(), SEED).changes(200):
        old, new = map(json.dumps, trial.tools)
        assert old != new, trial  # as texts: in dicts, the order of parameters would not count


@pytest.mark.parametrize("kind", CHANGES, ids=lambda kind: kind.name)
def test_a_change_breaks_callers_where_fewer_values_are_accepted(kind: Kind) -> None:
    """The severity that a row wants for code agrees with what jsonschema is asked to find about it."""
    worst = {SEVERITIES[rule][0] for rule, _ in kind.findings}
    excused = {rule for rule, _ in kind.findings} & NO_VALUES_TELL.keys()
    if kind.accepts is not None and not excused:
        assert ("error" in worst) == (kind.accepts in ("less", "other"))


def test_every_rule_about_tools_has_a_row() -> None:
    """What a single change of one tool can fire is in the tables, but for what takes other tools, tasks or a terminal
    tool, and for the catch-all."""
    rows = {rule for kind in CHANGES for rule, _ in kind.findings}
    wanted = {rule.id for rule in RULES.values() if rule.category not in ("environment", "files")}
    apart = {rule for rule in wanted if rule.startswith(("tool-", "task-", "suspicious-"))}
    assert wanted - apart - rows <= {"param-identifier-changed", "union-order-changed"}
    assert rows <= SEVERITIES.keys() and len({kind.name for kind in (*CHANGES, *TOOL_CHANGES)}) == len(
        [*CHANGES, *TOOL_CHANGES]
    )
