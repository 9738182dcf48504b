"""The page for users of TRL's spec: its table is TRL's signature, and its diff makes the script train."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
from pathlib import Path

import pytest
from trl.experimental.openreward import OpenRewardSpec as TRLSpec

from orl_codegen.environments.kitchen import Kitchen
from tests.docs.blocks import ROOT, blocks, titled
from tests.docs.following import train
from tests.support.cli import orl_codegen
from tests.support.grpo import call
from tests.support.servers import running

PAGE = "from-trl.md"
URL = "http://127.0.0.1:8080"


def serve(prompt: str) -> str:
    """Serve a dish that is half right wherever carbonara is."""
    if "<tool_response>" in prompt:
        return "Enjoy."
    return call("serve_dish", '{"dish": "carbonara", "ingredients": ["pasta", "eggs"]}')


def test_the_table_has_every_argument() -> None:
    """Each argument of TRL's spec, and none that it does not have."""
    table = (ROOT / "docs" / PAGE).read_text("utf-8").partition("## Argument by argument")[2].partition("\n\nOn the")[0]
    cells = " ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
    assert {*re.findall(r"`([a-z_]+)`", cells)} == {*inspect.signature(TRLSpec).parameters}


def test_five_lines_change_and_the_rewards_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The script trains one step with TRL's spec; with the diff applied to it, one with ours, and earns the same."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENREWARD_API_URL", "OPENREWARD_SESSION_URL"):
        monkeypatch.setenv(name, "")  # put back what the script sets
    before = titled(PAGE, "before.py")
    [diff] = blocks(PAGE, "diff")
    assert len(re.findall(r"^\+(?!\+\+)", diff.source, re.MULTILINE)) == 5
    (tmp_path / "before.py").write_text(before)
    subprocess.run(
        ["patch", "before.py"], input=diff.source, text=True, check=True, cwd=tmp_path, stdout=subprocess.PIPE
    )
    after = (tmp_path / "before.py").read_text()
    with running(Kitchen) as server:
        train(before.replace(URL, server.url), tmp_path, serve)
        for name in ("OPENREWARD_API_URL", "OPENREWARD_SESSION_URL"):
            os.environ.pop(name)
        [generate] = blocks(PAGE, "console")
        [(command, _)] = generate.commands()
        assert orl_codegen(*command.replace(URL, server.url).split()[1:], "-q").status == 0
        # A module of that name is imported already, so the one that was just made is put in its place.
        names: dict[str, object] = {"__name__": "generated.kitchen"}
        exec((tmp_path / "generated/kitchen.py").read_text(), names)
        monkeypatch.setattr("generated.kitchen.Kitchen", names["Kitchen"])
        train(after.replace(URL, server.url), tmp_path, serve)
    rewards = [line for line in capsys.readouterr().out.splitlines() if line.startswith("rewards: ")]
    assert rewards[0] == rewards[1] and "0.67" in rewards[0]
