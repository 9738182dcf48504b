"""Every rule has a case that fires it, and every change in one direction has a rule in the other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from orl_codegen.drift import rules
from orl_codegen.drift.comparison.compare import compare_snapshots
from orl_codegen.drift.rules import RULES
from tests.drift.cases import Case, cases

CASES = cases()

COMPANIONS = {
    "tool-became-terminal": "the terminal tool itself has a finding too",
    "tool-became-ordinary": "the terminal tool itself has a finding too",
    "tool-identifier-changed": "only another tool can take a name away, and that one is new",
    "param-identifier-changed": "only another parameter can take a name away, and that one is new",
    "suspicious-text-added": "the text that holds it has changed",
    "suspicious-text-removed": "the text that holds it has changed",
    "task-tool-conflict-added": "the tool is widened to what all tasks take, which is a change of its schema",
}
"""Rules that cannot fire alone, and why."""

MIRROR = {
    "added-required": "removed",
    "added-optional": "removed",
    "removed": "added",
    "added": "removed",
    "became-required": "became-optional",
    "became-terminal": "became-ordinary",
    "generalized": "specialized",
    "loosened": "tightened",
    "opened": "closed",
}
"""What the end of an id becomes when old and new are swapped."""

WAIVED = {
    "param-removed": "its mirror is one of two rules: added-required and added-optional",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_change_gives_exactly_the_findings_of_its_line(case: Case) -> None:
    """Each line of the table gives the findings that it names, at the places that it names, and no others."""
    changes = compare_snapshots(case.old, case.new)
    assert sorted((change.rule, change.path) for change in changes) == case.findings


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_changed_gives_nothing(case: Case) -> None:
    """A snapshot compared with itself, digest or not, has no findings."""
    assert compare_snapshots(case.old, case.old) == compare_snapshots(case.new, case.new) == ()


@pytest.mark.parametrize("rule", [rule.id for rule in RULES.values() if rule.category != "files"])
def test_every_rule_fires_alone(rule: str) -> None:
    """Each rule about snapshots has a case that fires it and only it, or a written reason why it never fires alone."""
    fired = [case.rules for case in CASES if rule in case.rules]
    assert fired, f"no case fires {rule}"
    assert ({rule} in fired) != (rule in COMPANIONS)


@pytest.mark.parametrize("rule", [rule.id for rule in RULES.values() if rule.category != "files"])
def test_every_rule_has_its_mirror(rule: str) -> None:
    """What can be added can be removed: for each `-added` there is a `-removed`, and so on, or a written waiver."""
    mirrors = {
        rule.removesuffix(a) + b
        for a, b in [*MIRROR.items(), *((b, a) for a, b in MIRROR.items())]
        if rule.endswith(f"-{a}")
    }
    assert not mirrors or mirrors & RULES.keys() or rule in WAIVED


def test_the_catalogue_is_written_in_full() -> None:
    """Each rule says what it means, why it matters and what to do, in sentences, and its id is in kebab case."""
    for rule in RULES.values():
        assert rule.id == rule.id.lower() and set(rule.id) <= set("abcdefghijklmnopqrstuvwxyz-")
        for text in (rule.meaning, rule.why, rule.react):
            assert text.endswith(".") and (text[0].isupper() or text[0] == "`"), rule.id


def test_every_severity_is_written_beside_its_rule() -> None:
    """In the catalogue's source, each rule is one call with both severities as literals: no helper hides them."""
    sources = [path.read_text("utf-8") for path in Path(rules.__file__).parent.glob("about_*.py")]
    calls = [node for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    written = {
        ast.literal_eval(call.args[0]): {
            keyword.arg: ast.literal_eval(keyword.value)
            for keyword in call.keywords
            if keyword.arg in ("training", "code")
        }
        for call in calls
    }
    assert written == {rule.id: {"training": rule.training, "code": rule.code} for rule in RULES.values()}
