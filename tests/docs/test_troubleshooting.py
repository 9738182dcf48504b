"""The headings of the page on troubleshooting are what people see: each is found in an error that is really raised."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from generated.kitchen import Kitchen
from orl_codegen import OpenRewardSpec
from orl_codegen.errors import OrlCodegenError
from tests.docs.blocks import ROOT
from tests.support.cli import orl_codegen
from tests.support.servers import dead_url

HEADINGS = re.findall(r"^### (.+)$", (ROOT / "docs/troubleshooting.md").read_text("utf-8"), re.MULTILINE)


@cache
def texts() -> tuple[str, ...]:
    """Every text of the package, with a gap where a value is filled in."""
    return tuple(text for path in sorted((ROOT / "codegen").rglob("*.py")) for text in _texts(path))


def _texts(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)  # type: ignore[misc]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("heading", HEADINGS)
def test_a_heading_is_in_a_message(heading: str) -> None:
    """The words stand together in a text of the package, so a message that is reworded takes its heading along."""
    assert any(heading in text.replace("\0", "") or heading in text for text in texts())


PROVOKED: dict[str, Callable[[], object]] = {
    "is not a target": lambda: orl_codegen("localhost:8080", "-o", "generated"),
    "Check that the server is running and the address is right.": lambda: orl_codegen(dead_url(), "-o", "generated"),
    "needs an API key, and the environment variable": lambda: orl_codegen("Eigent/SETA", "-o", "generated"),
    "The environment variable that holds the secret": lambda: orl_codegen(
        "http://127.0.0.1:1", "-o", "generated", "--secret", "KEY=NOT_SET_ANYWHERE"
    ),
    "There is nothing to check": lambda: orl_codegen("check", "-o", "generated"),
    "does not match its digest": lambda: orl_codegen("show", "edited.json"),
    "which is not running anywhere yet": lambda: OpenRewardSpec(Kitchen),
    "OpenRewardSpec takes a generated class": lambda: OpenRewardSpec("http://127.0.0.1:8080"),  # type: ignore[type-var]
    "Pass num_tasks or indices, not both.": lambda: OpenRewardSpec(
        Kitchen, base_url="http://127.0.0.1:8080", num_tasks=1, indices=[1]
    ),
    "No session is open. Call reset() before a tool.": lambda: (
        OpenRewardSpec(Kitchen, base_url="http://127.0.0.1:8080").environment_factory().convert(amount=1, unit="cup")
    ),
}


@pytest.mark.parametrize("heading", PROVOKED)
def test_what_is_easily_provoked_says_so(heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """These mistakes are made, and the message has the words of the heading."""
    assert heading in HEADINGS
    monkeypatch.chdir(tmp_path)
    snapshot = (ROOT / "generated/kitchen.json").read_text("utf-8")
    (tmp_path / "edited.json").write_text(snapshot.replace("Find recipes", "Find gold"))
    try:
        outcome = PROVOKED[heading]()
    except OrlCodegenError as error:
        assert heading in str(error)
    else:
        assert heading in outcome.err and outcome.status == 2  # type: ignore[attr-defined]
