"""Shell completion, over the protocol that click's scripts for bash speak."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["che"], {"plain,check"}),
        (["ch"], {"plain,check", "plain,changelog"}),
        (["check", "--fail-on", ""], {"plain,error", "plain,warning", "plain,info"}),
        (["show", "--for"], {"plain,--format"}),
        (["check", "Own"], {"plain,Owner/One", "plain,Owner/Two"}),
        (["server.p"], {"file,server.p"}),
        (["server.py", "--dry"], {"plain,--dry-run"}),
    ],
)
def test_what_bash_is_told(words: list[str], expected: set[str], tmp_path: Path) -> None:
    """Commands, choices, options, environments of the configuration, and files, also where `generate` is left out."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.orl-codegen]\nenvironments = [{ target = "Owner/One" }, { target = "Owner/Two" }]\n'
    )
    asked = {"COMP_WORDS": " ".join(["orl-codegen", *words]), "COMP_CWORD": str(len(words))}
    environment = {**os.environ, **asked, "_ORL_CODEGEN_COMPLETE": "bash_complete"}
    command = [sys.executable, "-m", "orl_codegen"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.split()) == expected
