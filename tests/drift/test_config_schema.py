"""The JSON Schema of the configuration, which editors read: does it agree with what reads the configuration?"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from orl_codegen.drift.config_schema import config_schema
from tests.cli.test_config import test_what_is_invalid_is_an_error as refused_configurations
from tests.support.cli import orl_codegen

ROOT = Path(__file__).parents[2]

BEYOND = ("kitchen", "none")
"""Targets and probes have a grammar of their own, which the schema does not repeat."""

REFUSED = [
    text for text, _ in refused_configurations.pytestmark[0].args[1] if not any(f'"{w}"' in text for w in BEYOND)
]


def accepted(text: str) -> bool:
    """Whether the schema accepts a table."""
    return bool(Draft7Validator(config_schema()).is_valid({"tool": {"orl-codegen": tomllib.loads(text)}}))


def test_the_committed_schema_is_current() -> None:
    """`docs/config.schema.json` is what the command prints, and a valid schema."""
    text = orl_codegen("rules", "--format", "config-schema").out
    assert (ROOT / "docs" / "config.schema.json").read_text("utf-8") == text
    Draft7Validator.check_schema(json.loads(text))


@pytest.mark.parametrize("text", REFUSED)
def test_what_the_reader_refuses_the_schema_refuses(text: str) -> None:
    """As far as a schema can say it."""
    assert not accepted(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        'output = "x"\ntimeout = 0.5\nconcurrency = 256\nprobe = "0,5,10-20"\non-conflict = "error"',
        '[[environments]]\ntarget = "O/N"\nname = "a_b"\nsecrets = { KEY = "NAME" }\ntask-tools = false',
        'profile = "code"\nfail-on = "info"\n[severity]\nparam-order-changed = "off"',
        '[[accept]]\nreason = "reviewed"\nfingerprint = "0123456789ab"',
        '[[accept]]\nreason = "reviewed"\nrule = "tool-description-changed"\ntool = "a"\npath = "/description"',
    ],
)
def test_what_the_reader_accepts_the_schema_accepts(text: str, tmp_path: Path) -> None:
    """Each of these is a configuration that commands take."""
    from orl_codegen.drift.policy_tables import read_acceptances, read_severities
    from orl_codegen.generator.config import parse_config

    config = parse_config(tomllib.loads(text), tmp_path)
    read_severities(config.check.get("severity", {}))
    read_acceptances(config.check.get("accept", []))
    assert accepted(text)


def test_the_configuration_of_this_project_is_accepted() -> None:
    """As a whole pyproject.toml, with all that others have in it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert Draft7Validator(config_schema()).is_valid(project)
