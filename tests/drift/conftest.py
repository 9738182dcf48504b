"""A project that contains the adapter of a small environment, for tests that change what is committed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import orl_codegen
from tests.support.environments import environment, spec
from tests.support.servers import RunningServer, running

PANTRY = environment(
    [spec("find-food", "Find food.", query={"type": "string"}), spec("cook", "Cook it.", minutes={"type": "integer"})],
    name="Pantry",
)


@pytest.fixture(scope="session")
def pantry() -> Iterator[RunningServer]:
    """A server with two tools that do not change."""
    with running(PANTRY) as server:
        yield server


@pytest.fixture(scope="session")
def generated(pantry: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of that environment, as generated."""
    folder = tmp_path_factory.mktemp("generated")
    assert orl_codegen(pantry.url, "-o", folder, "--name", "pantry", "-q").status == 0
    return folder


@pytest.fixture
def project(generated: Path, pantry: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with these files in `generated/`, configured; the working directory of the test."""
    shutil.copytree(generated, tmp_path / "generated")
    configure(tmp_path, pantry.url)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(project: Path, url: str, more: str = "") -> None:
    """Write the project's pyproject.toml."""
    (project / "pyproject.toml").write_text(
        f'[tool.orl-codegen]\noutput = "generated"\n{more}\n'
        f'[[tool.orl-codegen.environments]]\ntarget = "{url}"\nname = "pantry"\n'
    )
