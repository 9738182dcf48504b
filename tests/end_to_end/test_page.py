"""docs/evaluation.md, followed literally."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import inspect_ai

from orl_codegen.environments.kitchen import Kitchen
from tests.docs.blocks import ROOT, blocks
from tests.support.models import chat_server, tool_call
from tests.support.servers import running

PAGE = "evaluation.md"


def test_the_first_evaluation(tmp_path: Path) -> None:
    """The script of the page, the command, and the very output that it shows."""
    (script,) = blocks(PAGE, "json")
    (tmp_path / script.file).write_text(script.source, "utf-8")
    command, output = blocks(PAGE, "console")[1].commands()[0]
    arguments = [sys.executable, "-m", "orl_codegen", *shlex.split(command)[1:]]
    run = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.strip() == output.strip()


def test_the_task_in_python_and_its_log(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    """The task of the page is played through Inspect, and its log read as the page reads it."""
    task, reader = blocks(PAGE, "python")
    monkeypatch.chdir(tmp_path)
    turn = tool_call("serve_dish", dish="risotto", ingredients=["rice", "stock", "parmesan"])
    with running(Kitchen) as server, chat_server(lambda body: turn) as (url, _):
        defined: dict[str, Any] = {}
        exec(compile(task.source.replace("http://127.0.0.1:8080", server.url), "evaluate.py", "exec"), defined)
        model = inspect_ai.model.get_model("openai-api/local/tiny", base_url=url, api_key="none", memoize=False)
        (log,) = inspect_ai.eval(defined["kitchen"](), model, log_dir="logs", display="none")
    source = reader.source.replace("logs/kitchen.eval", os.fspath(log.location))
    capsys.readouterr()
    exec(compile(source, "read_log.py", "exec"), {})
    assert capsys.readouterr().out.splitlines() == [
        f"test-0 {epoch} 1.0 1 (('serve_dish', None),)" for epoch in (1, 2, 3, 4)
    ]


def test_every_option_is_on_a_page() -> None:
    """What `eval` takes stands in this page or in the table of the commands."""
    from orl_codegen.cli.eval import eval as command

    told = "".join((ROOT / "docs" / page).read_text("utf-8") for page in (PAGE, "commands.md"))
    options = [name for option in command.params for name in option.opts if name.startswith("--")]
    assert [name for name in options if f"`{name}" not in told and f"{name} " not in told] == []
