"""`examples/own-environment` is a project that works once it has been copied."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import orl_codegen

PROJECT = Path(__file__).parents[2] / "examples" / "own-environment"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project, as the working directory."""
    copy = tmp_path / "till"
    shutil.copytree(PROJECT, copy, ignore=shutil.ignore_patterns(".*_cache", "__pycache__"))
    monkeypatch.chdir(copy)
    return copy


def test_its_own_tests_pass_in_a_copy(project: Path) -> None:
    """The environment by itself and a rollout through the committed adapter, as its CI runs them."""
    done = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "8 passed" in done.stdout


def test_check_is_green_until_the_environment_changes(project: Path) -> None:
    """Nothing to report on the copy; a value that a tool no longer accepts is found, with exit status 1."""
    before = orl_codegen("check")
    environment = project / "till.py"
    environment.write_text(
        environment.read_text().replace('Literal["tea", "coffee", "cake"]', 'Literal["tea", "coffee"]')
    )
    after = orl_codegen("check")
    assert (before.status, after.status) == (0, 1), before.err + after.err
    assert "No drift." in before.out
    assert "enum-value-removed" in after.out and "cake" in after.out
