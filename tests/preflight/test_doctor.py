"""`orl-codegen doctor`, with models as `save_pretrained` writes them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from transformers import Qwen3Config

from tests.support.cli import Outcome, orl_codegen
from tests.support.grpo import tokenizer
from tests.support.servers import RunningServer, dead_url

ROOT = Path(__file__).parents[2]
MODULE = "tests.preflight.adapters"
KITCHEN = str(ROOT / "generated" / "kitchen.py")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models: their tokenizers and configurations, which is all that is looked at."""
    folder = tmp_path_factory.mktemp("models")
    for name, template in (("qwen", "qwen3"), ("gemma", "gemma4"), ("deaf", "phi3"), ("unknown", "muse_glimmer")):
        save(folder / name, template)
    return folder


def save(folder: Path, template: str) -> None:
    fast = tokenizer(template)
    fast.bos_token = "<|endoftext|>"
    fast.save_pretrained(folder)
    Qwen3Config(vocab_size=len(fast), max_position_embeddings=4096).save_pretrained(folder)


def doctor(model: Path, *options: Any, module: str = MODULE) -> tuple[int, dict[str, tuple[str, str]]]:
    """The exit status, and the verdict and the text of each check."""
    done = run(model, *options, module=module)
    assert done.err == "" or done.status == 2
    found = re.findall(r"^(ok|warning|error) +(.*)\n((?: .*\n)+)", done.out, re.MULTILINE)
    return done.status, {check: (verdict, " ".join(text.split())) for verdict, check, text in found}


def run(model: Path, *options: Any, module: str = MODULE) -> Outcome:
    return orl_codegen("doctor", module, "--model", model, *options)


def test_all_is_well(models: Path) -> None:
    """Each check has a line, and none is more than ok."""
    status, found = doctor(models / "qwen", "--max-tool-output", 300)
    assert status == 0 and {verdict for verdict, _ in found.values()} == {"ok"}
    assert [*found] == [
        "chat template", "vLLM server", "dataset columns", "max_sessions", "tool calls", "prompt length", "tool results"
    ]  # fmt: skip
    said = r"max_tool_output=300 is about 2\d\d tokens, of max_completion_length=512\."
    assert re.fullmatch(said, found["tool results"][1])


def test_a_vllm_server_and_several_processes(models: Path) -> None:
    """Refused as in a trainer, with the ways out; one process, or colocate, is fine."""
    server = ("--vllm-mode", "server")
    status, found = doctor(models / "qwen", "--processes", 8, *server)
    assert (status, found["vLLM server"][0]) == (1, "error")
    assert "8 processes" in found["vLLM server"][1] and "AsyncGRPOTrainer" in found["vLLM server"][1]
    for options in (server, ("--processes", 8, "--vllm-mode", "colocate"), ("--processes", 8)):
        assert doctor(models / "qwen", *options)[0] == 0


@pytest.mark.parametrize(
    ("model", "said"),
    [("deaf", "does not render tool calls"), ("unknown", "TRL refuses it: Unrecognized chat template")],
)
def test_a_template_that_trl_does_not_take(models: Path, model: str, said: str) -> None:
    """What the constructor of the trainer would say; calls, which cannot be read then, are not looked at."""
    status, found = doctor(models / model)
    assert status == 1 and found["chat template"][0] == "error" and said in found["chat template"][1]
    assert "tool calls" not in found and found["prompt length"][0] == "ok"


def test_names_that_a_template_cannot_carry(models: Path) -> None:
    """TRL's parser of Gemma's calls ends a name at a hyphen, so `search-recipes` could never be called."""
    status, found = doctor(models / "gemma", module=KITCHEN)
    assert (status, found["tool calls"][0]) == (0, "warning")
    assert "search-recipes" in found["tool calls"][1] and "cook" not in found["tool calls"][1]
    assert doctor(models / "qwen", module=KITCHEN)[1]["tool calls"][0] == "ok"


def test_lengths(models: Path, server: RunningServer) -> None:
    """Of the tools alone; with the prompts of tasks, each in a session; and what a long result would take."""
    status, found = doctor(models / "qwen", "--max-model-length", 300, "--vllm-mode", "colocate")
    assert (status, found["prompt length"][0]) == (1, "error")
    assert "The tools, without any prompt, have" in found["prompt length"][1]
    assert "vLLM refuses such a prompt" in found["prompt length"][1]
    asked = ("--base-url", server.url, "--tasks", 4)
    status, found = doctor(models / "qwen", *asked, "--max-model-length", 2600, "--max-tool-output", 9000)
    assert status == 0 and found["prompt length"][0] == found["tool results"][0] == "warning"
    assert "The longest prompt that is known has 2" in found["prompt length"][1]
    assert "for a completion, not max_completion_length=512" in found["prompt length"][1]
    assert re.search(r"is about 8\d\d\d tokens.*a single long result does not fit", found["tool results"][1])
    assert server.paths().count("POST /create") == 4


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("no/such.py", "There is no file no/such.py."),
        ("no.such.module", "no.such.module cannot be imported: ModuleNotFoundError"),
        ("tests.runtime.adapters", "has adapters Echo, SlowEcho"),
        ("tests.runtime.adapters:Nobody", "has no adapter of that name"),
        ("tests.support.cli", "has no adapter. MODULE is one that orl-codegen has generated."),
    ],
)
def test_modules_that_are_no_adapters(models: Path, module: str, said: str) -> None:
    """One paragraph, and status 2: nothing was found out."""
    done = run(models / "qwen", module=module)
    assert done.status == 2 and said in done.err and done.out == ""


def test_what_cannot_be_checked(models: Path, tmp_path: Path) -> None:
    """A module that raises, a model that is not there, a server that is not: one paragraph, and status 2."""
    (tmp_path / "odd.py").write_text("raise SystemExit('\\x1b[31mgone')")
    done = run(models / "qwen", module=str(tmp_path / "odd.py"))
    assert done.status == 2 and "SystemExit: \\x1b[31mgone" in done.err
    done = run(tmp_path / "nothing here")
    assert done.status == 2 and "nothing here cannot be loaded" in done.err and done.out == ""
    assert done.err.count("\n") == 1
    done = run(models / "qwen", "--tasks", 1, "--base-url", dead_url())
    assert done.status == 2 and "Check that the server is running" in done.err


def test_without_trl(models: Path) -> None:
    """One line that says what to install."""
    program = "import sys; sys.modules['trl'] = None; from orl_codegen.cli import main; main()"
    command = [sys.executable, "-c", program, "doctor", KITCHEN, "--model", models / "qwen"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2 and done.stdout == ""
    assert "pip install 'orl-codegen[trl]'" in done.stderr and done.stderr.count("\n") == 1
