"""`diff` takes snapshots from files and from commits, and nothing in a name reaches a shell or becomes an option."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from orl_codegen.generator.snapshot import _digest, dump
from tests.drift.cases import tool
from tests.support.cli import orl_codegen

OLD = tool({"description": "Act.", "input_schema": {"properties": {"x": {"type": "string"}}}})
NEW = tool({"description": "Act.", "input_schema": {"properties": {"x": {"type": "integer"}}}})


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository whose last commit holds the old snapshot and whose work tree holds the new one."""
    monkeypatch.chdir(tmp_path)
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    (tmp_path / "act.json").write_text(dump(OLD))
    for command in ("init -q", "add act.json", "-c user.name=a -c user.email=a@b.c commit -q -m one"):
        subprocess.run(["git", *command.split()], check=True)
    (tmp_path / "act.json").write_text(dump(NEW))
    return tmp_path


def test_two_files(repository: Path) -> None:
    """Two paths: status 1 and the finding, or 0 if they say the same."""
    (repository / "old.json").write_text(dump(OLD))
    outcome = orl_codegen("diff", "old.json", "act.json", "--format", "json")
    assert outcome.status == 1
    assert [finding["rule"] for finding in json.loads(outcome.out)["findings"]] == ["type-changed"]
    assert orl_codegen("diff", "act.json", "act.json").status == 0


def test_a_commit_and_a_file(repository: Path) -> None:
    """`<git ref>:<path>` is read from git, and relative to the working directory if the path begins with `./`."""
    assert orl_codegen("diff", "HEAD:act.json", "act.json").status == 1
    assert orl_codegen("diff", "HEAD:./act.json", "HEAD:act.json").status == 0


@pytest.mark.parametrize("format_", ["text", "json", "github", "markdown", "sarif", "junit"])
def test_every_format(repository: Path, format_: str) -> None:
    """diff has all the formats of check, with the same status."""
    outcome = orl_codegen("diff", "HEAD:act.json", "act.json", "--format", format_)
    assert outcome.status == 1 and "type-changed" in outcome.out


@pytest.mark.parametrize(
    "place",
    [
        "none.json",
        "HEAD:none.json",
        "nowhere:act.json",
        "--output=x:act.json",
        "HEAD;touch x:act.json",
        "$(touch x):act.json",
    ],
)
def test_what_cannot_be_read_is_an_error(repository: Path, place: str) -> None:
    """A file or a commit that does not exist gives status 2 and one paragraph; nothing else happens."""
    outcome = orl_codegen("diff", "--", place, "act.json")
    assert outcome.status == 2 and len(outcome.err.strip().splitlines()) == 1
    assert not (repository / "x").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"splits": [["train"]]},
        {"splits": "train"},
        {"splits": [{"name": 1}]},
        {"tools": [{}]},
        {"tools": [None]},
        {"target": None},
        {"probed": [True]},
        {"terminal_tool": "submit"},
        {"task_tools": [{"tasks": [0], "spec": []}]},
        {"toolset": 1},
        {"supports_score_group": "no"},
    ],
)
def test_a_snapshot_of_the_wrong_shape_is_an_error(repository: Path, wrong: dict[str, Any]) -> None:
    """A digest says nothing about shapes: a file with a valid digest and the wrong shape is an error, not a crash."""
    content = {**json.loads(dump(OLD)), **wrong}
    whole = {key: value for key, value in content.items() if key not in ("format", "digest")}
    (repository / "odd.json").write_text(json.dumps({"format": 1, "digest": _digest(whole), **whole}))
    outcome = orl_codegen("diff", "odd.json", "act.json")
    assert outcome.status == 2 and outcome.err.startswith("orl-codegen: odd.json is not a snapshot")


def test_an_edited_snapshot_is_an_error(repository: Path) -> None:
    """A snapshot that does not match its digest is not compared."""
    (repository / "act.json").write_text(dump(NEW).replace("Act.", "Acts."))
    outcome = orl_codegen("diff", "HEAD:act.json", "act.json")
    assert outcome.status == 2 and "edited by hand" in outcome.err
