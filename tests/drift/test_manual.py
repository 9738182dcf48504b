"""The printed catalogue is up to date."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from orl_codegen.drift.manual import MANUALS
from orl_codegen.drift.rules import RULES
from tests.support.cli import orl_codegen

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_the_catalogue_says() -> None:
    """docs/drift-rules.md is generated: `orl-codegen rules --format markdown > docs/drift-rules.md`."""
    assert (ROOT / "docs/drift-rules.md").read_text("utf-8") == orl_codegen("rules", "--format", "markdown").out


@pytest.mark.parametrize("format_", MANUALS)
def test_every_format_lists_every_rule(format_: str) -> None:
    """Text, JSON and Markdown name each rule with both severities."""
    outcome = orl_codegen("rules", "--format", format_)
    assert outcome.status == 0
    assert [rule for rule in RULES if rule not in click.unstyle(outcome.out)] == []


def test_the_json_is_complete() -> None:
    """In JSON a rule has its id, its category, both severities, and three texts."""
    for entry in json.loads(orl_codegen("rules", "--format", "json").out):
        rule = RULES[entry["id"]]
        assert (entry["code"], entry["training"], entry["react"]) == (rule.code, rule.training, rule.react)
