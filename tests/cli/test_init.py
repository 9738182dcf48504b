"""`orl-codegen init`: from a TARGET to a project with a configuration, an adapter, a workflow and a hook."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from orl_codegen.errors import ConfigError
from orl_codegen.generator.config import find_config
from orl_codegen.generator.project.hook import ENTRY, with_hook
from orl_codegen.generator.project.pyproject import with_environment
from orl_codegen.version import REPOSITORY, __version__
from tests.support.cli import orl_codegen
from tests.support.environments import environment, source_of, spec
from tests.support.platform import platform
from tests.support.servers import RunningServer, running

ROOT = Path(__file__).parents[2]
FILES = [".github/workflows/drift.yml", ".pre-commit-config.yaml", "generated/made.json", "generated/made.py"]
ENTRY_OF_ONE = {"target": "Owner/New", "probe": "all", "secrets": {"TOKEN": "MY_TOKEN"}}


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running(environment([spec("go")])) as running_server:
        yield running_server


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository as working directory."""
    for name in ("MY_TOKEN", "A_KEY", "GITHUB_KEY"):
        monkeypatch.setenv(name, "of no use")
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts(folder: Path) -> dict[str, str]:
    """Every file below a folder, with its text."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in folder.rglob("*") if path.is_file()
    }


def test_an_empty_folder_becomes_a_project_and_stays_one(project: Path, server: RunningServer) -> None:
    """All files are written and valid, `check` is content with them, and a second run changes none."""
    outcome = orl_codegen("init", server.url, "--no-type-check")
    assert outcome.status == 0, outcome.err
    assert sorted(texts(project)) == sorted([*FILES, "pyproject.toml"])
    assert outcome.out.splitlines()[:5] == [
        f"wrote {name}" for name in ["generated/made.json", "generated/made.py", "pyproject.toml", *FILES[:2]]
    ]
    assert "  git add generated pyproject.toml .github/workflows/drift.yml .pre-commit-config.yaml\n" in outcome.out
    assert "  from generated.made import Made\n" in outcome.out
    assert tomllib.loads(Path("pyproject.toml").read_text())["tool"]["orl-codegen"] == {
        "output": "generated",
        "environments": [{"target": server.url, "type-check": False}],
    }
    assert orl_codegen("check").status == 0
    before = texts(project)
    for arguments in (["init", server.url], ["init"], ["init", server.url, "--dry-run"]):
        again = orl_codegen(*arguments)
        assert again.status == 0 and texts(project) == before
        assert again.out.count("left as it is: ") == 5


def test_the_workflow_uses_what_the_action_has(project: Path, server: RunningServer) -> None:
    """It names this project's action at this version, with inputs that it has, and asks no server of this machine."""
    orl_codegen("init", server.url, "--no-type-check", "--secret", "TOKEN=MY_TOKEN", "--api-key-env", "A_KEY")
    workflow = yaml.safe_load(Path(FILES[0]).read_text())
    assert workflow[True] == {"pull_request": None, "schedule": [{"cron": "0 6 * * *"}]}
    (check,) = [step for step in workflow["jobs"]["check"]["steps"] if step.get("id") == "drift"]
    path = check["uses"].removeprefix(f"{REPOSITORY}/").removesuffix(f"@v{__version__}")
    action = yaml.safe_load((ROOT / path / "action.yml").read_text())
    assert {*check["with"]} <= {*action["inputs"]} and check["with"] == {"offline": "true"}
    assert check["env"] == {"A_KEY": "${{ secrets.A_KEY }}", "MY_TOKEN": "${{ secrets.MY_TOKEN }}"}
    assert (
        "steps.drift.outputs.report" in workflow["jobs"]["check"]["steps"][-1]["if"] and "report" in action["outputs"]
    )


def test_what_exists_is_left_as_it_is(project: Path, server: RunningServer) -> None:
    """A workflow of one's own stays, pyproject.toml and the hooks keep their lines, and the option in there is used."""
    own = {
        FILES[0]: "name: mine\n",
        FILES[1]: "repos:  # ours\n- repo: local\n  hooks: []\n",
        "pyproject.toml": '[tool.orl-codegen]  # of ours\noutput = "made"\ntype-check = false\n\n[tool.other]\nx = 1\n',
    }
    Path(FILES[0]).parent.mkdir(parents=True)
    for name, text in own.items():
        Path(name).write_text(text)
    outcome = orl_codegen("init", server.url)
    assert outcome.status == 0 and f"left as it is: {FILES[0]}\n" in outcome.out
    assert Path("made/made.py").exists() and not Path("generated").exists()
    assert Path(FILES[0]).read_text() == own[FILES[0]]
    assert Path(FILES[1]).read_text() == own[FILES[1]] + ENTRY
    assert Path("pyproject.toml").read_text() == own["pyproject.toml"].replace(
        "[tool.other]", f'[[tool.orl-codegen.environments]]\ntarget = "{server.url}"\n\n[tool.other]'
    )


def test_what_cannot_be_added_to_is_printed(server: RunningServer) -> None:
    """A list of hooks in another style stays, and the entry is printed for pasting."""
    Path(FILES[1]).write_text("repos: [{repo: local, hooks: []}]\n")
    outcome = orl_codegen("init", server.url, "--no-type-check")
    assert outcome.status == 0 and f"Add this to `repos` in {FILES[1]}:\n\n{ENTRY}" in outcome.out
    assert Path(FILES[1]).read_text() == "repos: [{repo: local, hooks: []}]\n"


def test_a_project_further_down_in_the_repository(project: Path) -> None:
    """A file is recorded as seen from pyproject.toml; the workflow is where GitHub looks, and works in that folder."""
    inside = project / "environments" / "walk"
    (inside / "src").mkdir(parents=True)
    (inside / "pyproject.toml").write_text("[build-system]\nrequires = []\n")
    (inside / "src" / "server.py").write_text(source_of("Walk"))
    os.chdir(inside / "src")
    outcome = orl_codegen("init", "server.py", "--no-type-check", "-o", "../adapters")
    assert outcome.status == 0, outcome.err
    (job,) = find_config().jobs
    assert (job.target.record, find_config().output) == ("src/server.py", inside / "adapters")
    assert 'with serve("src/server.py") as url:' in outcome.out and "There is no pre-commit hook" in outcome.out
    steps = yaml.safe_load((project / FILES[0]).read_text())["jobs"]["check"]["steps"]
    assert {"run": "python -m pip install --editable .", "working-directory": "environments/walk"} in steps
    assert [step["with"] for step in steps if step.get("id") == "drift"] == [{"working-directory": "environments/walk"}]


def test_it_asks_on_a_terminal(project: Path, server: RunningServer) -> None:
    """The answer is taken as TARGET."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "orl_codegen", "init", "--no-type-check", "-q"]
    process = subprocess.Popen(command, stdin=theirs, stderr=subprocess.PIPE, text=True)
    os.write(ours, f"{server.url}\n".encode())
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and errors == "Which environment " + errors.partition("Which environment ")[2]
    assert [job.target.record for job in find_config().jobs] == [server.url]
    for handle in (ours, theirs):
        os.close(handle)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["http://127.0.0.1:1", "--timeout", "0.2"], "http://127.0.0.1:1"),
        (["http://me:secret@127.0.0.1:1"], "The user name and password of http://127.0.0.1:1 would be written"),
        ([], "Name the TARGET to set up: orl-codegen init TARGET. There is no terminal to ask on."),
        (["Owner/One", "Owner/Two"], "init sets up one TARGET at a time"),
        (["nowhere.py"], "There is no file nowhere.py"),
        (["Owner/Name", "--timeout", "0"], "--timeout must be more than 0"),
    ],
)
def test_if_it_fails_nothing_is_written(project: Path, arguments: list[str], message: str) -> None:
    """One paragraph and exit status 2; the folder is as it was."""
    outcome = orl_codegen("init", *arguments)
    assert (outcome.status, outcome.out, texts(project)) == (2, "", {})
    assert message in outcome.err and "secret@" not in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--probe", "all"], "already lists {url}, with other options. Nothing was written."),
        (["-o", "elsewhere"], "Leave out -o, or change `output` there."),
        (["--variant", "made"], "is the adapter of nowhere"),
        (["--variant", "made", "--name", "other", "--secret", "KEY=GITHUB_KEY"], "`GITHUB_KEY` cannot be the name"),
    ],
)
def test_what_contradicts_the_project_is_refused(
    project: Path, server: RunningServer, arguments: list[str], message: str
) -> None:
    """Neither a setting nor the adapter of another environment is replaced."""
    orl_codegen("init", server.url, "--no-type-check")
    if "nowhere" in message or "KEY" in message:
        taken = Path(FILES[2]).read_text().replace(server.url, "nowhere")
        Path(FILES[2]).write_text(taken)
        Path("pyproject.toml").unlink()
    Path(FILES[0]).unlink()
    before = texts(project)
    outcome = orl_codegen("init", server.url, "--no-type-check", *arguments)
    assert outcome.status == 2 and message.format(url=server.url) in outcome.err and texts(project) == before


def test_a_folder_that_cannot_be_made(project: Path, server: RunningServer) -> None:
    """Everything is written, or nothing."""
    Path(".github").write_text("a file")
    outcome = orl_codegen("init", server.url, "--no-type-check")
    assert outcome.status == 2 and "drift.yml cannot be read (Not a directory). Nothing was written." in outcome.err
    assert texts(project) == {".github": "a file"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment\n",
        '[project]\nname = "x"  # why\n\n\n',
        "[tool.a]\r\nx = 1  # Windows\r\n",
        '[tool.orl-codegen]\n# why\noutput = "gen"  # there\n\n[tool.orl-codegen.severity]\na = "off"\n\n[tool.b]\n',
        '[[tool.orl-codegen.environments]]\ntarget = "A/B"  # first\n\n[tool.b]\nx = 1\n',
        '[tool.orl-codegen]\nenvironments = [\n  { target = "A/B" },  # first\n]\n[tool.b]\nx = 1\n',
        'tool.orl-codegen.output = "gen"\n',
        "[tool.orl-codegen]\n[tool.a]\nx = 1\n[tool.orl-codegen.severity]\na = 'off'\n",
    ],
)
def test_every_layout_keeps_its_lines(text: str) -> None:
    """The environment is added, and what was there is still there, comments and line ends too."""
    added = with_environment(text, ENTRY_OF_ONE, "generated")
    lines = [line for line in text.splitlines(keepends=True) if line.strip()]
    assert not [line for line in lines if line not in added.splitlines(keepends=True)]
    table = tomllib.loads(added)["tool"]["orl-codegen"]
    assert table["environments"][-1] == ENTRY_OF_ONE and table["output"] == ("gen" if '"gen"' in text else "generated")
    assert added.count("\r\n") == (added.count("\n") if "\r\n" in text else 0)


@pytest.mark.parametrize("text", ["tool = { a = 1 }\n", '[tool]\norl-codegen = { output = "gen" }\n'])
def test_a_layout_that_cannot_be_added_to(text: str) -> None:
    """It is refused, with the lines to add by hand."""
    with pytest.raises(ConfigError, match=r'target = "Owner/New" yourself'):
        with_environment(text, ENTRY_OF_ONE, "generated")


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("", "repos:\n" + "".join(f"  {line}\n" for line in ENTRY.splitlines())),
        ("repos:\n  - repo: local\n    hooks: []\n", "".join(f"  {line}\n" for line in ENTRY.splitlines())),
        ("repos:\n- repo: local\n  hooks: []\n# end", "\n" + ENTRY),
        ("repos:\n- repo: local\n  hooks: []\nci: {}\n", None),
        ("repos: [\n", None),
        ("- a\n", None),
        ("ci: {}\n", None),
    ],
)
def test_the_hook_is_added_only_where_that_is_safe(text: str, added: str | None) -> None:
    """The text that is there stays, and what YAML reads is what it read before and one entry."""
    assert with_hook(text) == (None if added is None else text + added)
    if added is not None:
        loaded: Any = yaml.safe_load(text + added)
        assert loaded["repos"][-1] == yaml.safe_load(ENTRY)[0] and with_hook(text + added) == text + added


def test_secrets_that_the_platform_says_are_required(project: Path) -> None:
    """They are named with the options to add, before a session is opened; where the platform does not say, generating
    tells what is wrong."""
    route, given = "/v1/environments/Owner/Name/required-secrets", ("--secret", "OPENAI_API_KEY=MY_TOKEN")
    with platform(answers={route: {"secrets": ["OPENAI_API_KEY", "TAVILY_API_KEY"]}}) as there:
        outcome = orl_codegen("init", "Owner/Name", *given)
        assert outcome.status == 2
        assert "Owner/Name requires secrets that were not passed: TAVILY_API_KEY. Nothing was written." in outcome.err
        assert outcome.err.rstrip().endswith("name that variable: --secret TAVILY_API_KEY=TAVILY_API_KEY.")
        assert not there.to("/create_session") and not texts(project)
        asked = orl_codegen("init", "Owner/Name", *given, "--secret", "TAVILY_API_KEY=A_KEY", "--dry-run")
        assert "requires secrets" not in asked.err and there.to("/create_session")
    with platform(answers={route: 500}) as there:
        assert "requires secrets" not in orl_codegen("init", "Owner/Name", "--dry-run").err
        assert there.to("/create_session")
