"""No block of the documentation is left to itself: each is executed, type-checked, parsed, or listed with a reason."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.blocks import BLOCKS, ROOT, Block, titled

FRAGMENTS = {"upstream.md": "proposes changes to TRL's own source, in which its lines would stand"}
"""Pages whose Python is neither executed nor type-checked, and why."""

TYPE_CHECKED = {
    "configuration.md": "its features have tests of their own",
    "examples.md": "the scripts in examples/ have tests of their own",
    "platform.md": "needs the platform; its features have tests of their own",
    "preflight.md": "its features have tests of their own",
    "reports.md": "its features have tests of their own",
    "stand-in.md": "its features have tests of their own",
}
"""Pages whose Python is type-checked only, and whose commands are not run here, and why."""

EXECUTED = {
    "README.md": "test_pages.py",
    "evaluation.md": "tests/end_to_end/test_page.py",
    "other-trainers.md": "tests/episodes/test_glue.py",
    "environments.md": "test_pages.py",
    "from-trl.md": "test_from_trl.py",
    "reference/errors.md": "test_pages.py",
    "rewards.md": "test_pages.py",
    "start.md": "test_start.py",
    "templates.md": "test_pages.py",
    "training.md": "test_pages.py",
}
"""Pages whose blocks are executed, and where."""

NOT_RUN = {
    "pip install": "installs packages",
    "python -m venv": "installs packages",
    ". .venv/bin/activate": "installs packages",
    "make ": "sets up a virtual environment, and runs all tests",
    "accelerate launch": "needs several GPUs",
    "torchrun": "needs several GPUs",
    "orl-codegen diff HEAD~1:": "needs two commits; tests/drift/test_diff.py has them",
    "orl-codegen eval": "needs a model; tests/cli/test_eval.py and tests/end_to_end/ have them",
    "orl-codegen check": "needs a project; tests/drift/test_check.py has one, and start.md runs it",
    "orl-codegen orl_codegen.environments.kitchen:Kitchen --probe all -o generated": "is run by test_pages.py, once",
}
"""How the commands begin that pages in no list above show, and why they are not run there."""


UNTYPED_BASES = ("openreward.environments import", "(BaseTextEnv)", "(vf.MultiTurnEnv)")
"""What stands in blocks whose classes derive from classes of libraries without types."""


def name_of(block: Block) -> str:
    """The page and the line of a block, as a module name."""
    return f"{re.sub(r'[^a-z]+', '_', block.page.removesuffix('.md').lower())}_{block.line}"


def of(*languages: str) -> list[Any]:
    """The blocks in some languages, as parameters of a test."""
    return [pytest.param(block, id=name_of(block)) for block in BLOCKS if block.language in languages]


def test_every_block_has_its_test() -> None:
    """A language that nobody looks at, and a page that is in no table, are an error."""
    assert {block.language for block in BLOCKS} <= {"", "console", "diff", "json", "python", "toml", "yaml"}
    pages = {block.page for block in BLOCKS if block.language == "python" and not block.is_excerpt}
    assert pages <= EXECUTED.keys() | TYPE_CHECKED.keys() | FRAGMENTS.keys()


@pytest.mark.parametrize("block", of("console"))
def test_a_command_is_run_or_there_is_a_reason(block: Block) -> None:
    """Each command stands on a page that a test follows, or in the table of those that are not run."""
    assert block.commands()
    if block.page in TYPE_CHECKED or EXECUTED.get(block.page, "test_pages.py") != "test_pages.py":
        return
    if block.page == "templates.md":
        return
    for command, _ in block.commands():
        assert command.startswith(tuple(NOT_RUN)), command


@pytest.mark.parametrize("block", of("json", "toml", "yaml"))
def test_data_parses(block: Block) -> None:
    """JSON, TOML and YAML blocks are what they say."""
    {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}[block.language](block.source)


@pytest.mark.parametrize("block", [block for block in of("python") if block.values[0].is_excerpt])
def test_an_excerpt_is_in_its_file(block: Block) -> None:
    """What is shown of a committed file stands there, line by line; start.md makes its file in its own test."""
    if (file := ROOT / block.file).exists():
        assert textwrap.indent(block.source, "    ").strip("\n") in file.read_text("utf-8")
    else:
        assert block.page == "start.md"


def test_every_python_block_type_checks(tmp_path: Path) -> None:
    """mypy --strict accepts each block as a module of its own, with the adapters of generated/ at hand."""
    folder = tmp_path / "generated"
    folder.mkdir()
    for adapter in (ROOT / "generated").glob("*.py"):
        (folder / adapter.name).write_text(adapter.read_text("utf-8"))
    [guessing] = [block for block in BLOCKS if block.file == "generated/guessing.py"]
    (folder / "guessing.py").write_text(guessing.source)
    files = [_written(block, tmp_path) for block in BLOCKS if _is_module(block)]
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "tests/docs/mypy.ini")]
    command += ["--cache-dir", str(ROOT / ".mypy_cache" / "docs"), *files]
    found = [str(ROOT / "codegen"), os.environ.get("MYPYPATH", ""), str(ROOT)]
    env = os.environ | {"MYPYPATH": os.pathsep.join(filter(None, found))}
    run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"no issues found in {len(files)} source files" in run.stdout


def _is_module(block: Block) -> bool:
    return block.language == "python" and not block.is_excerpt and block.page not in FRAGMENTS


def _written(block: Block, folder: Path) -> str:
    """Write a block as a module; environments go into a package of theirs, which mypy.ini has an entry for."""
    package = "environments" if any(base in block.source for base in UNTYPED_BASES) else "blocks"
    path = folder / package / f"{name_of(block)}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(block.source)
    return str(path.relative_to(folder))


def test_the_address_of_the_repository_is_the_same_everywhere() -> None:
    """The pages, the workflows and mkdocs.yml name the repository that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    owner = "/".join(
        project.get("urls", {}).get("Homepage", "https://github.com/orl-codegen/orl-codegen").split("/")[3:5]
    )
    texts = [
        path.read_text("utf-8") for path in [ROOT / "README.md", ROOT / "mkdocs.yml", *(ROOT / "docs").rglob("*.md")]
    ]
    named = {name for text in texts for name in re.findall(r"[\w.-]+/orl-codegen(?=[/@\s\"').]|$)", text)}
    assert {name for name in named if not name.startswith(("tool", "github.com", "completions", "."))} == {owner}
    assert titled("ci.md", ".github/workflows/drift.yml").count(f"{owner}/.github/actions/check@") == 1
