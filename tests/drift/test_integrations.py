"""The pre-commit hook, the GitHub Action and the workflow in docs/ci.md agree with the command line."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.blocks import titled
from tests.drift.conftest import configure
from tests.support.cli import orl_codegen
from tests.support.environments import environment, spec
from tests.support.servers import running

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / ".github/actions/check/action.yml").read_text("utf-8"))


def workflow() -> Any:
    """The workflow on the page."""
    return yaml.safe_load(titled("ci.md", ".github/workflows/drift.yml"))


def test_the_hook_runs_a_command_that_exists() -> None:
    """The pre-commit hook is the offline check of the whole project."""
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert hook["entry"].split() == ["orl-codegen", "check", "--offline"] and hook["pass_filenames"] is False
    assert "--offline" in orl_codegen("check", "--help").out


@pytest.mark.parametrize(
    "steps", [ACTION["runs"]["steps"], workflow()["jobs"]["check"]["steps"]], ids=["action", "page"]
)
def test_no_expression_is_pasted_into_a_script(steps: list[dict[str, Any]]) -> None:
    """Inputs and events reach scripts as environment variables, so that none of them can be code."""
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []


def test_the_workflow_uses_inputs_and_outputs_that_exist() -> None:
    """The action has every input and output that the page's workflow uses."""
    steps = workflow()["jobs"]["check"]["steps"]
    [action] = [step for step in steps if step.get("id") == "drift"]
    assert action["uses"].split("@")[0].endswith("/.github/actions/check")
    assert action.get("with", {}).keys() <= ACTION["inputs"].keys()
    assert set(re.findall(r"steps\.drift\.outputs\.(\w+)", str(steps))) <= ACTION["outputs"].keys()


@pytest.mark.parametrize("drift", [False, True])
def test_the_action_runs(project: Path, tmp_path: Path, drift: bool) -> None:
    """The action's own script, run by bash: its status is that of check, and drift leaves a report for the comment."""
    if drift:
        module = project / "generated/pantry.py"
        module.write_text(module.read_text("utf-8").replace("Find food.", "Find gold."), "utf-8")
    run = run_action(tmp_path, OFFLINE="true", SARIF="found.sarif")
    assert run.returncode == int(drift), run.stderr
    assert f"status={int(drift)}" in (tmp_path / "output").read_text()
    assert ("::error file=generated/pantry.py" in run.stdout) == drift
    assert ((tmp_path / "summary").read_text().startswith("<!-- orl-codegen check -->")) == drift
    assert (f"report={tmp_path}/report.md" in (tmp_path / "output").read_text()) == drift
    assert bool(json.loads((project / "found.sarif").read_text("utf-8"))["runs"][0]["results"]) == drift


def test_the_action_asks_the_server_once(project: Path, tmp_path: Path) -> None:
    """Annotations, the report and SARIF come from one run."""
    with running(environment([spec("cook", "Cook it.")], name="Pantry")) as server:
        configure(project, server.url)
        run = run_action(tmp_path, OFFLINE="false", SARIF="found.sarif")
        asked = server.paths()
    assert run.returncode == 1 and "tool-removed" in run.stdout
    assert asked.count("GET /pantry/tools") == 1


def test_the_action_fails_without_a_report(project: Path, tmp_path: Path) -> None:
    """Where the command is refused, the status is 2, and no report of an earlier step is taken for its own."""
    (tmp_path / "report.md").write_text("of yesterday")
    run = run_action(tmp_path, OFFLINE="true", SARIF="", FAIL_ON="nonsense")
    assert run.returncode == 2 and "nonsense" in run.stderr
    assert (tmp_path / "output").read_text() == "status=2\n" and (tmp_path / "summary").read_text() == ""


def test_the_action_installs_what_check_needs() -> None:
    """The action installs the package beside it with the extra of the generator, unless it is told what to install."""
    script = ACTION["runs"]["steps"][0]["run"].replace("python -m pip install --quiet", "printf %s")
    for package, installed in {
        "": "/a b/../../..[generate]",
        "orl-codegen[generate]==1": "orl-codegen[generate]==1",
    }.items():
        env = {**os.environ, "PACKAGE": package, "BESIDE": "/a b/../../.."}
        run = subprocess.run(["bash", "-e", "-c", script], env=env, capture_output=True, text=True, timeout=10)
        assert run.stdout == installed


def run_action(tmp_path: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the script of the action in the working directory, with these inputs."""
    command = tmp_path / "bin/orl-codegen"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m orl_codegen "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    for name in ("output", "summary"):
        (tmp_path / name).touch()
    env = {
        **os.environ,
        **dict.fromkeys(["TARGETS", "PROFILE", "FAIL_ON"], ""),
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "OUTPUT": "generated",
        "REPORT": str(tmp_path / "report.md"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        **inputs,
    }
    script = next(step["run"] for step in ACTION["runs"]["steps"] if step.get("id") == "check")
    return subprocess.run(["bash", "-e", "-c", script], env=env, capture_output=True, text=True, timeout=60)
