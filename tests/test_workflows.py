"""The workflows of GitHub: ours, those that users copy, and what a release takes for granted."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import yaml

from orl_codegen.version import REPOSITORY, __version__
from tests.docs.blocks import titled

ROOT = Path(__file__).parents[1]
OURS = sorted(ROOT.glob(".github/workflows/*.yml"))
COPIED = sorted(ROOT.glob("examples/*/.github/workflows/*.yml"))
SHOWN = (".github/workflows/drift.yml", ".github/workflows/follow.yml")


def _check(schema: str, *files: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        f"vendor.github-{schema}",
        *map(str, files),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_workflows_are_what_github_accepts(tmp_path: Path) -> None:
    """Our workflows, that of the example and those in the documentation fit GitHub's schema; a wrong one does not."""
    assert {path.stem for path in OURS} == {"ci", "docs", "nightly", "release"} and COPIED
    shown = [tmp_path / Path(title).name for title in SHOWN]
    for path, title in zip(shown, SHOWN, strict=True):
        path.write_text(titled("ci.md", title))
    done = _check("workflows", *OURS, *COPIED, *shown)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(OURS[0].read_text("utf-8").replace("runs-on:", "runs_on:"))
    assert _check("workflows", wrong).returncode == 1


def test_the_action_is_what_github_accepts() -> None:
    """The action that users name in their workflows fits GitHub's schema."""
    done = _check("actions", ROOT / ".github/actions/check/action.yml")
    assert done.returncode == 0, done.stdout


def test_a_job_has_an_end_and_may_do_only_what_it_needs() -> None:
    """Each of our jobs has a time limit, and a workflow may read unless a job says that it needs more."""
    for path in OURS:
        workflow = yaml.safe_load(path.read_text("utf-8"))
        assert workflow["permissions"] == {"contents": "read"}
        assert all(job["timeout-minutes"] <= 180 for job in workflow["jobs"].values())


def test_workflows_call_targets_that_exist() -> None:
    """`make` and `.ci/run` in our workflows are what the Makefile and the repository have."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    called = {name for path in OURS for name in re.findall(r"make ([a-z-]+)", path.read_text("utf-8"))}
    assert called and called <= targets
    assert (ROOT / ".ci/run").exists()


def test_the_changelog_is_kept() -> None:
    """It has the changes since the last release, and a section for this version, which a release looks for."""
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[0] in ("Unreleased", __version__) and __version__ in headings
    assert f'__version__ = "{__version__}"\n' in (ROOT / "codegen/orl_codegen/version.py").read_text("utf-8")


def test_the_repository_has_one_name() -> None:
    """What `init` writes, the metadata of the package and the pages name one repository."""
    assert f'"https://github.com/{REPOSITORY}"' in (ROOT / "pyproject.toml").read_text("utf-8")
