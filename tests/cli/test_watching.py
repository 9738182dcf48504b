"""`--watch`: which changes it notices, on a real file system. `test_generate` shows it with a real environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from orl_codegen.cli.arguments import Selection, select
from orl_codegen.cli.watching import work_on_changes
from orl_codegen.errors import ServerError

CONFIG = '[tool.orl-codegen]\noutput = "{}"\n[[tool.orl-codegen.environments]]\ntarget = "server.py:Made"\n'


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one environment, in a file that imports others."""
    monkeypatch.chdir(tmp_path)
    for folder in ("out", "package/inner", "elsewhere"):
        Path(folder).mkdir(parents=True)
    for name in ("server.py", "helper.py", "package/__init__.py", "package/inner/__init__.py", "package/server.py"):
        Path(name).touch()
    Path("pyproject.toml").write_text(CONFIG.format("out"))
    return tmp_path


def worked_on(targets: Sequence[str], *changes: Callable[[], object]) -> list[Selection]:
    """What was worked on: at first, and after each of the changes, which are made while the work is done."""
    seen: list[Selection] = []
    steps = iter(changes)

    def work(selection: Selection) -> None:
        seen.append(selection)
        change = next(steps, None)
        if change is None:
            raise KeyboardInterrupt
        change()

    with pytest.raises(KeyboardInterrupt):
        work_on_changes(partial(select, targets, Path("out") if targets else None), work)
    return seen


def written(name: str, text: str = "x = 1") -> Callable[[], object]:
    """A change of a file."""
    return partial(Path(name).write_text, text)


def test_what_the_file_imports_is_watched(project: Path) -> None:
    """The file, a file beside it that is changed, made anew or removed, and one that an editor puts in its place."""

    def replaced() -> None:
        Path("elsewhere/new.py").write_text("y = 1")
        Path("elsewhere/new.py").rename("server.py")

    changes = [written("server.py"), written("helper.py"), written("new.py"), Path("new.py").unlink, replaced]
    assert len(worked_on(["server.py:Made"], *changes)) == 6


def test_a_package_is_watched_as_a_whole(project: Path) -> None:
    """Every folder of it, wherever in it the file is."""
    inner, outer = written("package/inner/part.py"), written("package/part.py")
    assert len(worked_on(["package/server.py:Made"], inner, outer)) == 3


def test_what_is_written_does_not_count(project: Path) -> None:
    """Neither the adapters, nor files of other kinds, nor what is not imported from there."""

    def several() -> None:
        for name in ("notes.txt", "elsewhere/other.py", "out/made.py", "package/part.py"):
            written(name)()
        written("server.py")()

    seen = worked_on(["server.py:Made"], several)
    assert len(seen) == 2


def test_the_configuration_is_read_again(project: Path) -> None:
    """After an error in it, what is watched stays, and the next version counts."""

    def broken() -> None:
        written("pyproject.toml", "[tool.orl-codegen")()
        written("server.py", "y = 2")()

    seen = worked_on([], broken, written("pyproject.toml", CONFIG.format("other")))
    assert [selection.folder.name for selection in seen] == ["out", "out", "other"]


def test_an_error_does_not_end_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is told, and the next change is waited for."""

    def failing() -> None:
        written("server.py")()
        raise ServerError("It does not start.")

    assert len(worked_on(["server.py:Made"], failing)) == 2
    assert capsys.readouterr().err == "orl-codegen: It does not start.\n"
