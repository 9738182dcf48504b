"""The commands of docs/reports.md print what the page shows."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from orl_codegen.cli.reports import REPORT_FORMATS
from orl_codegen.drift.policy_tables import read_acceptances
from orl_codegen.generator.snapshot import dump, load
from tests.support.cli import orl_codegen

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reports.md").read_text("utf-8")

WEIGH = {
    "name": "weigh-food",
    "description": "Weigh an ingredient.",
    "input_schema": {"type": "object", "properties": {"what": {"type": "string"}}},
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project of the page: the kitchen, committed as v1.0."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "generated").mkdir()
    for suffix in (".py", ".json"):
        shutil.copy(ROOT / f"generated/kitchen{suffix}", "generated")
    Path("pyproject.toml").write_text(
        '[tool.orl-codegen]\noutput = "generated"\n'
        '[[tool.orl-codegen.environments]]\ntarget = "orl_codegen.environments.kitchen:Kitchen"\nprobe = "all"\n'
    )
    for words in ("init -q", "add .", "-c user.name=a -c user.email=a@b.c commit -q -m one", "tag v1.0"):
        subprocess.run(["git", *words.split()], check=True)
    return tmp_path


def shown(command: str) -> str:
    """What the page shows that a command prints."""
    [output] = re.findall(rf"```console\n\$ {re.escape(command)}\n(.*?)```", PAGE, re.DOTALL)
    return str(output)


def test_the_check_of_the_page(project: Path) -> None:
    """The example of several reports prints what the page shows, and writes both files."""
    command = "orl-codegen check --offline --report html=drift.html --report sarif=drift.sarif"
    assert orl_codegen(*shlex.split(command)[1:]).out == shown(command)
    assert Path("drift.html").is_file() and Path("drift.sarif").is_file()


def test_the_changelog_of_the_page(project: Path) -> None:
    """The example of a changelog is what the command prints after such changes, and so is the block to paste."""
    taken = load(Path("generated/kitchen.json").read_text("utf-8"))
    text = (
        json.dumps(taken.tools).replace('["thai", "italian"]', '["italian"]').replace('"default": 10', '"default": 20')
    )
    Path("generated/kitchen.json").write_text(dump(replace(taken, tools=(*json.loads(text), WEIGH))), "utf-8")
    assert orl_codegen("changelog", "v1.0").out == shown("orl-codegen changelog v1.0")
    found = orl_codegen("diff", "v1.0:generated/kitchen.json", "generated/kitchen.json", "--accept-block").out
    [fingerprints] = re.findall(r"fingerprint = \[\n.*?\n\]\n", PAGE, re.DOTALL)
    assert fingerprints in found


def test_what_the_page_names_exists() -> None:
    """The table has every format, the block to paste is one that `check` accepts, the action has the input."""
    assert sorted(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == sorted(REPORT_FORMATS)
    [block] = re.findall("```toml\n(.*?)```", PAGE, re.DOTALL)
    assert len(read_acceptances(tomllib.loads(block)["tool"]["orl-codegen"]["accept"])) == 3
    [workflow] = [yaml.safe_load(text) for text in re.findall("```yaml\n(.*?)```", PAGE, re.DOTALL)]
    action = yaml.safe_load((ROOT / ".github/actions/check/action.yml").read_text("utf-8"))
    [step] = [step for step in workflow["jobs"]["check"]["steps"] if step["uses"].endswith("actions/check@main")]
    assert step["with"].keys() <= action["inputs"].keys()
