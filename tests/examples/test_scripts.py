"""The training scripts of `examples/` run to their end on the CPU, with a tiny local model that has a script to play.

All in one process, because each that imports TRL costs seconds.
"""

from __future__ import annotations

import ast
import json
import re
import runpy
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import transformers

from orl_codegen.environments.kitchen import RECIPES, Kitchen
from tests.support import grpo
from tests.support.servers import RunningServer, running

EXAMPLES = Path(__file__).parents[2] / "examples"
ON_THE_CPU = ["--use_cpu", "--bf16", "false", "--report_to", "none", "--save_strategy", "no", "--disable_tqdm", "true"]
ONE_STEP = ["--max_steps", "1", "--logging_steps", "1", "--per_device_train_batch_size", "4", "--num_generations", "2"]

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a tiny model and its tokenizer, as `--model` takes it."""
    folder, tokenizer = tmp_path_factory.mktemp("model"), grpo.tokenizer()
    tokenizer.save_pretrained(folder)
    grpo.model(tokenizer).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """The demo kitchen."""
    with running(Kitchen) as server:
        yield server


def play(prompt: str) -> str:
    """Read the recipe of the first dish that fits the order, serve it, and say so."""
    answers = prompt.count("<tool_response>")
    cuisine, minutes = re.findall(r"something (\w+), ready in (\d+) minutes", prompt)[-1]
    fits = [name for name, dish in RECIPES.items() if dish["cuisine"] == cuisine and dish["minutes"] <= int(minutes)]
    if answers == 0:
        return grpo.call("read_recipe", json.dumps({"dish": fits[0]}))
    served = {"dish": fits[0], "ingredients": RECIPES[fits[0]]["ingredients"]}
    return grpo.call("serve_dish", json.dumps(served)) if answers == 1 else "Served."


@contextmanager
def scripted(model: str) -> Iterator[None]:
    """Every model of the tiny kind writes what `play` says."""
    written = grpo.writing(transformers.AutoTokenizer.from_pretrained(model), play)
    with patch.object(transformers.Qwen3ForCausalLM, "generate", side_effect=written):
        yield


def run(script: str, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    """Run a script as `python examples/SCRIPT ARGUMENTS` does."""
    path = str(EXAMPLES / script)
    monkeypatch.setattr(sys, "argv", [path, *map(str, arguments)])
    runpy.run_path(path, run_name="__main__")


def logged(output: str) -> dict[str, Any]:
    """What the trainer has logged of its only step."""
    (line,) = [line for line in output.splitlines() if line.startswith("{") and "'reward'" in line]
    return {name: float(value or "nan") for name, value in ast.literal_eval(line).items()}


def test_train_grpo(
    server: RunningServer,
    model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A step on a URL whose adapter is not there yet: it is generated, every rollout earns 1.0, the model is saved."""
    monkeypatch.chdir(tmp_path)
    with scripted(model):
        target = ["--target", server.url, "--adapter", "adapters.bistro:Bistro"]
        run("train_grpo.py", monkeypatch, "--model", model, "--output_dir", "out", *target, *ONE_STEP, *ON_THE_CPU)
    assert "class Bistro(RolloutAdapter)" in Path("adapters/bistro.py").read_text()
    assert logged(capsys.readouterr().out)["reward"] == 1.0
    assert Path("out/model.safetensors").is_file()


def test_custom_reward(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """A step with the environment's reward and three others, of which two look at the adapters; weights apply."""
    with scripted(model):
        run("custom_reward.py", monkeypatch, "--model", model, "--output_dir", tmp_path, *ONE_STEP, *ON_THE_CPU)
    step = logged(capsys.readouterr().out)
    names = ["last_reward", "brought_to_an_end", "few_calls", "read_before_serving"]
    assert [step[f"rewards/{name}/mean"] for name in names] == [1.0, 1.0, 0.0, 1.0]
    assert step["reward"] == pytest.approx(1.0 + 0.2 + 0.1)
    assert step["kitchen/calls"] == 2.0


def test_learning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """The learning run gets through a step of its warm start and one of GRPO, and draws what it has earned."""
    short = ["--warm-steps", 1, "--max-steps", 1, "--seeds", 0, "--output", tmp_path / "learning.svg"]
    run("learning.py", monkeypatch, *short)
    assert re.search(r"^seed 0: mean reward \d\.\d\d in the first ten steps", capsys.readouterr().out, re.MULTILINE)
    assert "mean reward of 64 rollouts" in (tmp_path / "learning.svg").read_text("utf-8")


class NoTransfer:
    """In place of NCCL, which needs GPUs: the weights go nowhere."""

    def __init__(self, **_: Any) -> None:
        self.sent = 0

    def send_weights(self, weights: Iterator[Any]) -> None:
        self.sent += len(list(weights))

    def init_weight_transfer(self) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def destroy(self) -> None: ...


def test_train_async(
    server: RunningServer,
    model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The asynchronous trainer gets its rollouts from a process of its own; what needs GPUs is left out of the step."""
    trainer = "trl.experimental.async_grpo.async_grpo_trainer"
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    with ExitStack() as in_place, grpo.completions_server(tokenizer, play) as vllm:
        in_place.enter_context(
            patch("trl.experimental.async_grpo.async_rollout_worker.is_vllm_available", lambda: True)
        )
        in_place.enter_context(patch("torch.cuda.get_device_name", lambda _: "CPU"))
        in_place.enter_context(patch(f"{trainer}.WeightTransferClient", NoTransfer))
        in_place.enter_context(patch(f"{trainer}.AsyncGRPOTrainer.compute_loss", no_loss))
        places = ["--target", server.url, "--vllm_server_base_url", vllm, "--output_dir", tmp_path]
        run("train_async.py", monkeypatch, "--model", model, *places, *ONE_STEP, *ON_THE_CPU)
    assert logged(capsys.readouterr().out)["reward"] == 1.0
    assert (tmp_path / "model.safetensors").is_file()


def no_loss(self: Any, model: Any, inputs: Any, **_: Any) -> Any:
    """In place of the loss, whose attention is computed by a kernel for GPUs."""
    return sum(weights.sum() for weights in model.parameters()) * 0.0
