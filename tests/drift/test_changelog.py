"""`changelog` tells readers of release notes what changed in the adapters between two commits."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from markdown_it import MarkdownIt

from orl_codegen.drift.release_notes import release_notes
from orl_codegen.generator.snapshot import dump
from tests.drift.cases import snapshot
from tests.drift.reports import COMMANDS, HOSTILE
from tests.support.cli import orl_codegen
from tests.support.logs import commands_in

SEARCH = {
    "name": "search",
    "description": "Find recipes.\nSlowly.",
    "input_schema": {"properties": {"query": {"type": "string"}, "limit": {"type": "integer", "default": 10}}},
}
NARROWER = {
    **SEARCH,
    "description": "Find recipes.\nQuickly.",
    "input_schema": {"required": ["query"], "properties": {"query": {"type": "string"}, "limit": {"default": 20}}},
}
COOK = {"name": "cook", "description": "Cook it.", "input_schema": {"properties": {}}}
WEIGH = {"name": "weigh", "description": "Weigh it.", "input_schema": {"properties": {}}}

OLD = {
    "kitchen": {"target": "demo:Kitchen", "tools": [COOK, SEARCH]},
    "cellar": {"target": "demo:Cellar", "tools": [COOK]},
    "attic": {"target": "demo:Attic", "tools": [COOK]},
}
NEW = {
    "kitchen": {"target": "demo:Kitchen", "tools": [NARROWER, WEIGH], "splits": [{"name": "test", "type": "test"}]},
    "pantry": {"target": "demo:Pantry", "tools": [COOK]},
    "loft": {"target": "demo:Attic", "tools": [COOK]},
}

NOTES = """\
## `cellar`, removed

**Breaks callers.** The project no longer has an adapter of that name.

## `kitchen`

### Removed tools

- `cook`: Cook it. **Breaks callers.**

### Changed tools

- `search`
    - **Breaks callers.** The parameter `query` of `search` became required.
    - **Needs a new run.** The default of `limit` of `search` changed from `10` to `20`.
    - The description of `search` changed from `Find recipes.\\nSlowly.` to `Find recipes.\\nQuickly.`.
    - The type of `limit` of `search` is wider: `any`, previously `integer`.

### Added tools

- `weigh`: Weigh it. **Needs a new run.**

### The environment

- The split `test` was added.

## `loft`

**Breaks callers.** The module `generated/attic.py` is now `generated/loft.py`.

## `pantry`, new

From `demo:Pantry`.

- `cook`: Cook it.

*Breaks callers*: code that calls the adapter has to change. *Needs a new run*: training that is under way can neither \
go on nor be compared across the change.
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with the old adapters under the tag `v1`, and the new ones in its working tree."""
    monkeypatch.chdir(tmp_path)
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    (tmp_path / "pyproject.toml").write_text('[tool.orl-codegen]\noutput = "generated"\n')
    git("init", "-q")
    write(tmp_path, OLD)
    (tmp_path / "generated/other.json").write_text("{}")
    commit("v1")
    write(tmp_path, NEW)
    return tmp_path


def git(*words: str) -> None:
    """Run git in the working directory."""
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words], check=True)


def commit(tag: str) -> None:
    """Commit everything under a tag."""
    git("add", "--all")
    git("commit", "-q", "-m", tag)
    git("tag", tag)


def write(root: Path, contents: Mapping[str, Mapping[str, Any]]) -> None:
    """Let the output folder hold the snapshots of these environments and no others."""
    folder = root / "generated"
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.json"):
        path.unlink()
    for slug, content in contents.items():
        (folder / f"{slug}.json").write_text(dump(snapshot(content)), "utf-8")


def test_the_notes_tell_everything(repository: Path) -> None:
    """Environments that are new, gone or moved; of the others, the tools and what each change breaks."""
    outcome = orl_codegen("changelog", "v1")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == NOTES


def test_two_refs_a_path_and_a_folder_below(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two commits the notes are the same, from wherever they are asked for; a path narrows them."""
    commit("v2")
    write(repository, OLD)
    assert orl_codegen("changelog", "v1", "v2").out == NOTES
    assert orl_codegen("changelog", "v1").out == "No adapter changed between v1 and the working tree.\n"
    monkeypatch.chdir(repository / "generated")
    assert orl_codegen("changelog", "v1", "v2").out == orl_codegen("changelog", "v1", "v2", ".").out == NOTES
    narrowed = orl_codegen("changelog", "v1", "v2", "kitchen.json").out
    assert narrowed.startswith("## `kitchen`\n") and narrowed.count("\n## ") == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["v9"], "`v9` is not a commit, tag or branch"),
        (["v1:generated"], "`v1:generated` is not a commit"),
        (["--", "--output=x"], "`--output=x` is not a commit"),
        (["$(touch x)"], "is not a commit"),
        (["v1", "v9", "generated"], "v9 is neither a git ref nor a path with snapshots"),
        (["v1", "--", "--output=x"], "neither a git ref nor a path"),
        (["v1", ".."], "is not in the git repository"),
        (["v1", "v1", "../elsewhere"], "is not in the git repository"),
        (["v1", "both"], "is a git ref and a path. Write ./both"),
    ],
)
def test_what_is_not_there_is_an_error(repository: Path, words: list[str], message: str) -> None:
    """A ref or a path that does not exist, or could be either, is status 2 and one paragraph."""
    git("tag", "both")
    (repository / "both").touch()
    outcome = orl_codegen("changelog", *words)
    assert outcome.status == 2 and message in outcome.err and len(outcome.err.splitlines()) == 1
    assert not (repository / "x").exists() and outcome.out == ""


def test_a_snapshot_that_was_edited_is_an_error(repository: Path) -> None:
    """Notes are not written from a snapshot that does not match its digest."""
    path = repository / "generated/kitchen.json"
    path.write_text(path.read_text("utf-8").replace("Weigh", "Eat"), "utf-8")
    outcome = orl_codegen("changelog", "v1")
    assert outcome.status == 2 and "generated/kitchen.json does not match its digest" in outcome.err


def test_without_a_repository_or_a_folder(tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of a repository, and without a folder to look in, status 2 says what to do."""
    (repository / "pyproject.toml").unlink()
    outcome = orl_codegen("changelog", "v1")
    assert outcome.status == 2 and "Name the folder of the adapters" in outcome.err
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nothing"))
    outcome = orl_codegen("changelog", "v1")
    assert outcome.status == 2 and "There is no git repository" in outcome.err


@pytest.mark.parametrize("text", [HOSTILE, COMMANDS])
def test_no_text_of_a_server_is_markup(text: str) -> None:
    """Whatever a server writes is text in the notes: no link, no HTML, no mention, no command to a runner."""
    tool = {"name": text, "description": text, "input_schema": {"properties": {text: {"type": "string"}}}}
    path, other = PurePosixPath("kitchen.json"), PurePosixPath("other.json")
    old = replace(snapshot({"tools": [tool]}), target="old")
    new = snapshot({"target": text, "tools": [{**tool, "description": text[::-1]}], "splits": [{"name": text}]})
    notes = release_notes({path: old}, {path: new, other: replace(new, variant="more")})
    html = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(notes)
    assert not {*re.findall(r"<(\w+)", html)} - {"h2", "h3", "p", "ul", "li", "code", "strong", "em"}
    assert not [command for line in notes.splitlines() for command in commands_in(line)]
