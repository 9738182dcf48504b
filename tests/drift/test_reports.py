"""Several reports from one run: each goes whole to a place of its own, and a bad place is refused before the work."""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.drift.conftest import configure
from tests.support.cli import orl_codegen
from tests.support.environments import environment, spec
from tests.support.servers import running

FILES_REMAIN = {"generated", "pyproject.toml"}


def test_one_run_gives_several_reports(project: Path) -> None:
    """The server is asked once; each file has its format, and standard output the one of `--format`."""
    with running(environment([spec("find-food", "Find gold.", query={"type": "string"})], name="Pantry")) as server:
        configure(project, server.url)
        places = ("--report", "markdown=one.md", "--report", f"sarif={project}/two.sarif", "--report", "text=three.txt")
        outcome = orl_codegen("check", "--format", "github", *places)
        asked = server.paths()
    assert outcome.status == 1 and outcome.out.startswith("::error file=generated/pantry.py")
    assert asked.count("GET /pantry/tools") == 1
    assert (project / "one.md").read_text("utf-8").startswith("<!-- orl-codegen check -->")
    assert json.loads((project / "two.sarif").read_text("utf-8"))["version"] == "2.1.0"
    assert "\x1b" not in (project / "three.txt").read_text("utf-8")
    assert {path.name for path in project.iterdir()} == FILES_REMAIN | {"one.md", "two.sarif", "three.txt"}


def test_a_report_replaces_the_last_one(project: Path) -> None:
    """A file of the same name is replaced as a whole and keeps its mode, also if nothing was found."""
    (project / "report.md").write_text("old " * 10_000)
    (project / "report.md").chmod(0o640)
    assert orl_codegen("check", "--offline", "-q", "--report", "markdown=report.md").status == 0
    assert "no drift" in (project / "report.md").read_text("utf-8")
    assert "old" not in (project / "report.md").read_text("utf-8")
    assert stat.S_IMODE((project / "report.md").stat().st_mode) == 0o640


def test_a_report_on_standard_output(project: Path) -> None:
    """`-` is standard output, where the report then stands instead of the text."""
    outcome = orl_codegen("check", "--offline", "--report", "json=-")
    assert outcome.status == 0 and json.loads(outcome.out)["failed"] is False


def test_diff_writes_reports_too(project: Path) -> None:
    """`diff` takes `--report` as `check` does."""
    snapshot = "generated/pantry.json"
    outcome = orl_codegen("diff", snapshot, snapshot, "--report", "json=found.json")
    assert outcome.status == 0 and outcome.out.endswith("No drift.\n")
    assert json.loads((project / "found.json").read_text("utf-8"))["findings"] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--report", "markdown"], "write FMT=PATH"),
        (["--report", "markdown="], "write FMT=PATH"),
        (["--report", "pdf=report.pdf"], "is one of text, json, github, markdown, sarif, junit"),
        (["--report", "json=-", "--report", "markdown=-"], "Two reports would go to standard output"),
        (["--format", "text", "--report", "markdown=-"], "Two reports would go to standard output"),
        (["--report", "json=r", "--report", "text=./r"], "Two reports would go to ./r"),
        (["--report", "json=none/r"], "none/r cannot be written: No such file or directory"),
        (["--report", "json=pyproject.toml/r"], "pyproject.toml/r cannot be written: Not a directory"),
        (["--report", f"json={'r' * 300}"], "cannot be written: File name too long"),
        (["--report", "json=generated"], "generated exists and is not an ordinary file"),
        (["--report", "json=link"], "link exists and is not an ordinary file"),
        (["--report", "json=/dev/null"], "/dev/null exists and is not an ordinary file"),
        (["--report", "json=generated/pantry.json"], "pantry.json is an adapter or a snapshot"),
        (["--report", "text=fine", "--report", "text=generated/pantry.py"], "pantry.py is an adapter or a snapshot"),
    ],
)
def test_a_bad_report_is_refused_before_the_server_is_asked(project: Path, options: list[str], message: str) -> None:
    """Status 2 and one paragraph, although the server is down; nothing is written and nothing is lost."""
    configure(project, "http://127.0.0.1:1")
    (project / "link").symlink_to("elsewhere")
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    outcome = orl_codegen("check", *options)
    assert outcome.status == 2 and message in outcome.err and len(outcome.err.splitlines()) == 1
    assert before == {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_refused(project: Path) -> None:
    """A folder or a file without the right to write is refused before the check."""
    (project / "shut").mkdir(mode=0o500)
    (project / "fixed.md").touch(mode=0o400)
    for place in ("shut/report.md", "fixed.md"):
        outcome = orl_codegen("check", "--offline", "--report", f"markdown={place}")
        assert outcome.status == 2 and place in outcome.err


def test_a_report_that_fails_is_not_half_written(project: Path) -> None:
    """If the second of two files cannot be written any more, the first is not either; what was found is printed."""
    (project / "one.md").write_text("old")
    (project / "generated/pantry.json").unlink()
    command = [sys.executable, "-m", "orl_codegen", "check", "--offline", "--no-type-check"]
    outcome = subprocess.run(
        [*command, "--report", "github=one.md", "--report", "sarif=two.sarif"],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=60,
    )
    assert outcome.returncode == 2 and "two.sarif cannot be written: File too large" in outcome.stderr
    assert (project / "one.md").read_text() == "old" and "snapshot-missing" in outcome.stdout
    assert {path.name for path in project.iterdir()} == FILES_REMAIN | {"one.md"}
