"""`orl-codegen show`: the tools as the model will see them, from a server, a snapshot or a module."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import orl_codegen
from tests.support.environments import environment
from tests.support.servers import running

FETCH = {
    "name": "fetch-it",
    "description": "Fetches \x1b[31mit\u202e.\n\nArgs:\n    file-path: Where it is.",
    "input_schema": {
        "type": "object",
        "properties": {
            "file-path": {"type": "string", "maxLength": 9},
            "where": {"type": "string", "description": "long/" * 20 + " first."},  # the line breaks before it
            "how": {"type": "object", "properties": {"fast": {"type": "boolean"}}, "required": ["fast"]},
        },
        "required": ["file-path"],
    },
}

SHOWN = r"""
fetch-it
  Fetches \x1b[31mit\u202e.
    file_path: str
        Where it is. At most 9 characters. Its name in the environment is 'file-path'.
    where: str, optional
        long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/lo
        ng/long/ first.
    how: dict, optional
        Fields: fast (boolean, required).
"""


def test_a_server_a_snapshot_and_a_module_show_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same text for all three, with nested types as the dict that the model sees, and nothing a terminal obeys."""
    monkeypatch.chdir(tmp_path)
    with running(environment([FETCH])) as server:
        assert orl_codegen(server.url, "-o", "out", "-q").status == 0
        live = orl_codegen("show", server.url)
    assert (live.status, live.err) == (0, "")
    assert live.out.strip() == SHOWN.strip()
    assert orl_codegen("show", "out/made.json").out == live.out
    assert orl_codegen("show", "out/made.py").out == live.out


def test_a_module_without_an_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python file that orl-codegen did not write is read as a target, and the message says why it is not one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.py").write_text("x = 1")
    outcome = orl_codegen("show", "other.py")
    assert outcome.status == 2 and "it defines no subclass of openreward.environments.Environment" in outcome.err
