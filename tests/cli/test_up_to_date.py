"""A module that is up to date is not rendered again; whatever it is made of, a change is noticed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from orl_codegen.generator import pipeline, snapshot
from orl_codegen.generator.contract import merging
from orl_codegen.generator.snapshot import Snapshot, TaskTool
from orl_codegen.version import __version__
from tests.support.cli import Outcome, orl_codegen
from tests.support.environments import spec

MODULE = Path("out/made.py")
RENDERED = ["discovery", "survey", "contract", "rendering", "verification", "type check"]
LEFT_ALONE = ["discovery", "survey", "type check"]


@pytest.fixture(autouse=True)
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A snapshot with two tools, and its module."""
    monkeypatch.chdir(tmp_path)
    MODULE.parent.mkdir()
    write_snapshot(spec("fetch"), spec("cook", heat={"type": "integer"}))
    assert stages(again()) == RENDERED
    return MODULE.read_text("utf-8")


def write_snapshot(*tools: dict[str, object], task_tools: Sequence[TaskTool] = ()) -> None:
    taken = Snapshot("http://127.0.0.1:1", "made", "train", tuple(tools), task_tools=tuple(task_tools))
    Path("out/made.json").write_text(snapshot.dump(taken), "utf-8")


def again(*options: str) -> Outcome:
    outcome = orl_codegen("generate", "--offline", "-o", "out", "--timings", *options)
    assert outcome.status == 0, outcome.err
    return outcome


def stages(outcome: Outcome) -> list[str]:
    """The stages whose times are printed, without the writing."""
    found = re.findall(r"^ *\d+\.\d\d s  (.+)$", outcome.err, re.MULTILINE)
    return [name for name in found if name not in ("writing", "in all")]


def test_nothing_to_do(generated: str) -> None:
    """The second run leaves the module alone."""
    outcome = again()
    assert stages(outcome) == LEFT_ALONE
    assert "unchanged out/made.py" in outcome.out
    assert MODULE.read_text("utf-8") == generated


def test_notes_are_news() -> None:
    """What the user should know is said when a module is written, and after that only to who asks."""
    write_snapshot(spec("fetch-it"))
    note = "renamed: fetch-it: its method is called fetch_it"
    assert note in again().err
    assert note not in again().err
    assert note in again("-v").err


def test_a_tool_that_was_left_out() -> None:
    """A module without it is up to date for --allow-partial only: without the option the tool is refused each time."""
    write_snapshot(spec("fetch"), spec("cook", heat={"$ref": "https://example.org/heat.json"}))
    assert stages(again("http://127.0.0.1:1", "--allow-partial")) == RENDERED
    assert stages(again("http://127.0.0.1:1", "--allow-partial")) == LEFT_ALONE
    refused = orl_codegen("generate", "--offline", "-o", "out")
    assert refused.status == 2
    assert "The tool 'cook' is refused" in refused.err


def test_tasks_that_disagree() -> None:
    """A module for which they were widened is up to date, but not where that is an error."""
    taken = [TaskTool(spec("cook", heat={"type": kind}), (task,)) for task, kind in enumerate(("integer", "string"))]
    write_snapshot(spec("fetch"), task_tools=taken)
    assert stages(again()) == RENDERED
    assert stages(again()) == LEFT_ALONE
    refused = orl_codegen("generate", "http://127.0.0.1:1", "--offline", "-o", "out", "--on-conflict", "error")
    assert refused.status == 2
    assert "give the tool 'cook' different schemas" in refused.err


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("heat", "cold"),
        lambda text: text + "\n",
        lambda text: text.replace(f"orl-codegen {__version__}", "orl-codegen 0.0.1"),
        lambda text: "",
        lambda text: text[:-20],
    ],
)
def test_an_edited_module(generated: str, edit: Callable[[str], str]) -> None:
    """It is written again as it was, whatever was changed in it."""
    MODULE.write_text(edit(generated), "utf-8")
    again()
    assert MODULE.read_text("utf-8") == generated


def test_a_snapshot_that_changed(generated: str) -> None:
    """Another tool in it makes another module."""
    write_snapshot(spec("fetch"))
    assert stages(again()) == RENDERED
    assert "def cook(" not in MODULE.read_text("utf-8")


def test_another_class_name() -> None:
    """The module is rendered under it, and keeps it where no other is named."""
    assert stages(again("http://127.0.0.1:1", "--class-name", "Other")) == RENDERED
    assert "class Other(" in MODULE.read_text("utf-8")
    assert stages(again()) == LEFT_ALONE


def test_other_templates(generated: str) -> None:
    """The module is rendered with them once, and without them once they are no longer named."""
    shipped = (Path(pipeline.__file__).parents[3] / "templates" / "method.py.jinja").read_text("utf-8")
    Path("templates").mkdir()
    Path("templates/method.py.jinja").write_text(shipped.rstrip("\n") + "  # ours\n")
    assert stages(again("--templates", "templates")) == RENDERED
    assert "# ours" in MODULE.read_text("utf-8")
    assert stages(again("--templates", "templates")) == LEFT_ALONE
    assert stages(again()) == RENDERED
    assert MODULE.read_text("utf-8") == generated


def test_show_does_not_render(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot and its module are shown alike, and neither takes the renderer."""
    monkeypatch.setattr(pipeline, "render", None)
    shown = orl_codegen("show", "out/made.json")
    assert (shown.status, shown.out) == (0, orl_codegen("show", str(MODULE)).out)
    assert "heat: int" in shown.out


def test_thousands_of_tools() -> None:
    """An environment may have ten thousand, and one more is refused with the number."""
    assert merging.MAX_TOOLS == 10_000
    many = [spec(f"tool_{number}") for number in range(merging.MAX_TOOLS)]
    write_snapshot(*many)
    shown = orl_codegen("show", "out/made.json")
    assert (shown.status, shown.out.count("tool_")) == (0, merging.MAX_TOOLS)
    write_snapshot(*many, spec("one_more"))
    refused = orl_codegen("show", "out/made.json")
    assert refused.status == 2
    assert "10001" in refused.err.replace(",", "")
