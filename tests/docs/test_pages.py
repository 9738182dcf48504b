"""The Python of the other pages runs as it is printed, on real servers; only the trainers are left out, which need a
model: what each page hands to its trainer is played instead."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trl
import trl.experimental.async_grpo

import orl_codegen.trl
from orl_codegen.environments.documents import Documents
from orl_codegen.environments.kitchen import Kitchen
from orl_codegen.trl.rewards import last_reward
from tests.docs.blocks import ROOT, blocks, titled
from tests.docs.following import run
from tests.support.grpo import call, roll_out_asynchronously, train
from tests.support.servers import RunningServer, running

URL = "http://127.0.0.1:8080"
SERVERS = ("serve_kitchen.py", "serve_both.py")
GENERATE = "orl-codegen orl_codegen.environments.kitchen:Kitchen --probe all -o generated"

Trainers = list[dict[str, Any]]


class Recorded:
    """Takes what a trainer takes."""

    def __init__(self, trainers: Trainers, **options: Any) -> None:
        trainers.append(options)

    def train(self) -> None:
        """Nothing: there is no model."""


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """Both environments on one server, as environments.md serves them."""
    with running(Kitchen, Documents) as running_server:
        yield running_server


@pytest.fixture
def trainers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Trainers:
    """What the trainers are made with. Their configurations are TRL's own, which refuse options that do not exist."""
    recorded: Trainers = []
    here = functools.partial(Recorded, recorded)
    monkeypatch.setattr(orl_codegen.trl, "GRPOTrainer", here, raising=False)
    monkeypatch.setattr(trl.experimental.async_grpo, "AsyncGRPOTrainer", here)
    for module, name in ((trl, "GRPOConfig"), (trl.experimental.async_grpo, "AsyncGRPOConfig")):
        monkeypatch.setattr(module, name, functools.partial(getattr(module, name), use_cpu=True, bf16=False))
    monkeypatch.chdir(tmp_path)
    return recorded


def execute(page: str, url: str) -> list[dict[str, Any]]:
    """Execute the Python of a page, block by block; returns the names of each. What only serves is compiled."""
    spaces = []
    for block in blocks(page, "python"):
        code = compile(block.source.replace(URL, url), f"{page}:{block.line}", "exec")
        spaces.append({"__name__": "served" if block.title in SERVERS else "__main__"})
        if not block.is_excerpt:
            exec(code, spaces[-1])
    return spaces


def play(options: dict[str, Any], row: dict[str, Any]) -> Any:
    """Reset an adapter as the trainer would, with a row of a dataset; returns it."""
    factory = options["environment_factory"]
    rollout = (factory[row["environment"]] if isinstance(factory, dict) else factory)()
    rollout.reset(**row)
    return rollout


def test_training(trainers: Trainers, server: RunningServer) -> None:
    """Every row of every dataset of the page can be played, and an unplayed rollout has no reward."""
    execute("training.md", server.url)
    plain, evaluating, colocated, asynchronous = trainers
    assert {row["split"] for row in evaluating["eval_dataset"]} == {"test"}
    assert len(plain["train_dataset"]) == len(asynchronous["train_dataset"]) == 4 and colocated["args"].use_vllm
    for row in (*evaluating["train_dataset"], *evaluating["eval_dataset"]):
        rollout = play(evaluating, row)
        assert evaluating["reward_funcs"](completions=[""], environments=[rollout]) == [None]
    assert server.wait_for_sessions(0) == 0


def test_the_readme_trains(trainers: Trainers, server: RunningServer) -> None:
    """The example of README is a trainer with four tasks."""
    execute("README.md", server.url)
    assert [len(options["train_dataset"]) for options in trainers] == [4]


def test_several_environments_and_a_curriculum(
    trainers: Trainers, server: RunningServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both environments are in the dataset, in the proportions and the orders that the page names."""
    execute("environments.md", server.url)
    both, curriculum = trainers
    assert {*both["train_dataset"]["environment"]} == {"kitchen", "documents"} == {*both["environment_factory"]}
    assert both["reward_funcs"] is last_reward
    first, last = (play(both, both["train_dataset"][at]) for at in (0, -1))
    assert (type(first).__name__, type(last).__name__) == ("Kitchen", "Documents")
    assert curriculum["train_dataset"]["task_index"][:] == [0, 1, 2, 3]
    assert [play(curriculum, row)._environment.variant for row in curriculum["train_dataset"]] == ["kitchen"] * 4
    printed = capsys.readouterr().out
    assert printed.count("'kitchen'") == printed.count("'documents'") == 4
    assert "[0, 1] [0, 1, 2, 3]" in printed


def test_rewards(trainers: Trainers, server: RunningServer) -> None:
    """The functions of the page count what they say, and the adapter of one's own changes the reward."""
    spaces = execute("rewards.md", server.url)
    [options] = trainers
    rollout = play(options, options["train_dataset"][0])
    rollout.read_recipe(dish="carbonara")
    few_calls, default = options["reward_funcs"]
    assert few_calls(environments=[rollout]) == [None]
    rollout.serve_dish(dish="carbonara", ingredients=["pasta", "eggs"])
    assert few_calls(environments=[rollout]) == [-0.04] and default(environments=[rollout]) == [0.67]
    strict = orl_codegen.OpenRewardSpec(spaces[2]["StrictKitchen"], base_url=server.url).environment_factory()
    strict.reset(task_index=0)
    strict.serve_dish(dish="carbonara", ingredients=["pasta", "eggs"])
    assert strict.reward == 0.0 and strict.rewards == [0.67]


def test_errors(server: RunningServer, capsys: pytest.CaptureFixture[str]) -> None:
    """The example of the reference opens a session where there is a server."""
    execute("reference/errors.md", server.url)
    assert capsys.readouterr().out.startswith("A guest wants something")


ASKED: list[set[str]] = []


def notes_what_it_gets(**arguments: Any) -> list[float]:
    """A reward function that keeps the names of its arguments."""
    ASKED.append({*arguments})
    return [0.0] * len(arguments["completions"])


def serve_half(prompt: str) -> str:
    """Serve a dish that is not perfect, once."""
    if "<tool_response>" in prompt:
        return "Enjoy."
    return call("serve_dish", '{"dish": "carbonara", "ingredients": ["pasta", "eggs"]}')


def test_what_reward_functions_get(server: RunningServer, tmp_path: Path) -> None:
    """The page's table says what the real trainers pass; in the asynchronous one the adapter of one's own counts."""
    source = titled("rewards.md", "strict_kitchen.py")
    module: dict[str, Any] = {"__name__": __name__}
    exec(source, module)
    globals()["StrictKitchen"] = module["StrictKitchen"]  # where pickle looks for it
    spec = orl_codegen.OpenRewardSpec(module["StrictKitchen"], base_url=server.url, indices=[0])
    ASKED.clear()
    train(spec, serve_half, tmp_path, reward_funcs=[notes_what_it_gets, spec.reward_funcs], batch=2)
    samples = roll_out_asynchronously(spec, 2, serve_half, [notes_what_it_gets, spec.reward_funcs])
    both, only_there = {"prompts", "completions", "completion_ids", "task_index", "split"}, {"environments"}
    only_there |= {"trainer_state", "log_extra", "log_metric"}
    assert both | only_there <= ASKED[0] and both <= ASKED[-1] and not only_there & ASKED[-1]
    text = (ROOT / "docs/rewards.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|") and line.endswith("| yes | **no** |")]
    assert {name for name in only_there if f"`{name}`" in "".join(rows)} == only_there
    assert {sample.metrics["reward"] for sample in samples} == {0.0}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the adapters that the pages import."""
    shutil.copytree(ROOT / "generated", tmp_path / "generated", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_templates_of_ones_own(project: Path) -> None:
    """The commands of the page change the form of the adapter, and print what the page shows."""
    for block in blocks("templates.md", "console"):
        run(block, project)


@pytest.mark.parametrize("page", ["README.md", "index.md"])
def test_the_first_commands(page: str, tmp_path: Path) -> None:
    """README and the first page begin with the same two commands, and the second one writes what they show."""
    block, *_ = blocks(page, "console")
    (install, _), (generate, _) = block.commands()
    assert install == "pip install 'orl-codegen[generate]'" and generate == GENERATE
    if page == "README.md":  # once is enough: the blocks are alike
        run(block, tmp_path, skip=("pip install",))
        assert (tmp_path / "generated/kitchen.py").read_text() == (ROOT / "generated/kitchen.py").read_text()
    assert block.source == blocks("README.md", "console")[0].source
