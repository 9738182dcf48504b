"""The stand-in as users run it: from code, as a fixture, as a command; and what its rewards are."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import SnapshotError, UsageError
from orl_codegen.sessions.loop import close_sessions
from orl_codegen.standin import StandIn, mock
from orl_codegen.standin.scoring import EVERY_OTHER, LONGEST, SHORTEST, scoring_of
from tests.support.cli import orl_codegen

ROOT = Path(__file__).parents[2]
KITCHEN = ROOT / "generated/kitchen.json"

pytest_plugins = ["orl_codegen.standin.plugin"]


def test_the_fixture_plays_whole_rollouts(orl_mock: Callable[..., StandIn]) -> None:
    """Tasks, prompt, a scripted reward, a refused call and the end of the episode arrive at the adapter."""
    from generated.kitchen import Kitchen

    kitchen = orl_mock(KITCHEN, rewards={"train-2": [None, 0.5], EVERY_OTHER: [0.25]})
    spec = OpenRewardSpec(Kitchen, base_url=kitchen.url, num_tasks=3)
    assert [row["id"] for row in spec.rows] == ["train-0", "train-1", "train-2"]
    rollout = spec.environment_factory()
    assert "train-2" in str(rollout.reset(task_index=2))
    assert str(rollout.convert(amount=0, unit="cup")).startswith("Error: convert was not called")
    assert '{"celsius": 200}' in str(rollout.preheat_oven(celsius=200))
    rollout.serve_dish(dish="risotto", ingredients=["rice"])
    assert (rollout.rewards, rollout.finished) == ([None, None, 0.5], True)
    rollout.reset(task_index=0)
    rollout.search_recipes()
    assert (rollout.reward, rollout.finished) == (0.25, True)
    assert [(call.name, call.carried_out, call.reward) for call in kitchen.calls] == [
        ("convert", False, None),
        ("preheat_oven", True, None),
        ("serve_dish", True, 0.5),
        ("search-recipes", True, 0.25),
    ]
    close_sessions()


def test_a_real_step_of_training(tmp_path: Path) -> None:
    """TRL's GRPOTrainer takes a step against the stand-in, and its reward is the scripted one."""
    from generated.kitchen import Kitchen
    from tests.support.grpo import call, logged, train

    def write(prompt: str) -> str:
        return "Done" if "<tool_response>" in prompt else call("convert", '{"amount": 2, "unit": "cup"}')

    with mock(KITCHEN, rewards=[0.75]) as kitchen:
        trainer = train(OpenRewardSpec(Kitchen, base_url=kitchen.url, num_tasks=2), write, tmp_path)
        assert logged(trainer, "reward") == 0.75
        assert [call.name for call in kitchen.calls] == ["convert"] * 4
        close_sessions()


def test_drawn_rewards_depend_on_seed_task_and_call_alone() -> None:
    """They are the same each time, differ between inputs, lie between 0 and 1, and every episode ends."""

    def played(seed: int, task: str, amount: int) -> list[tuple[float | None, bool]]:
        scoring = scoring_of(seed, None)
        return [scoring.outcome(task, at, ["convert", {"amount": amount}], None) for at in range(LONGEST)]

    for task in ("train-0", "train-1", "test-0"):
        outcomes = played(7, task, 1)
        assert outcomes == played(7, task, 1)
        ends = [at + 1 for at, (_, finished) in enumerate(outcomes) if finished]
        assert SHORTEST <= ends[0] <= LONGEST
        assert all(reward is None or 0 <= reward <= 1 for reward, _ in outcomes)
        assert all((reward is None) is not finished for reward, finished in outcomes)
    last = {played(seed, "train-0", amount)[-1][0] for seed in range(5) for amount in range(5)}
    assert len(last) > 10


@pytest.mark.parametrize("rewards", ["1", [], [True], [float("nan")], {"a": 1}, {"a": []}, {1: [0.5]}, 5])
def test_a_script_of_another_form_is_refused(rewards: object) -> None:
    """The error says which form it should have."""
    with pytest.raises(UsageError, match="a list of numbers and nulls"), mock(KITCHEN, rewards=rewards):  # type: ignore[arg-type]
        pass


def test_files_that_are_no_snapshot_are_refused(tmp_path: Path) -> None:
    """One paragraph and status 2, from the command as from code."""
    (tmp_path / "odd.json").write_text("[" * 100_000)
    with pytest.raises(SnapshotError, match="is not a snapshot"), mock(tmp_path / "odd.json"):
        pass
    for args in (["nothing.json"], [KITCHEN, "--rewards", "nothing.json"], [tmp_path / "odd.json"]):
        outcome = orl_codegen("mock", *args)
        assert outcome.status == 2 and outcome.out == ""
        assert outcome.err.startswith("orl-codegen: ") and outcome.err.count("\n") == 1


def test_a_port_that_is_taken_is_said() -> None:
    """The error names the port and the way out."""
    with mock(KITCHEN) as first:
        again = mock(KITCHEN, port=int(first.url.rpartition(":")[2]))
        with pytest.raises(UsageError, match="cannot be listened on"), again:
            pass


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_command_serves_until_a_signal(number: int, status: int) -> None:
    """Its first line is the URL, which answers; the signal ends it cleanly, with the status of the signal."""
    import urllib.request

    command = [sys.executable, "-m", "orl_codegen", "mock", KITCHEN, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(f"{url}/list_environments") as answer:
            assert json.load(answer) == ["kitchen"]
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
    assert (process.returncode, out) == (status, "")
    assert "standing in for kitchen" in err and err.endswith("orl-codegen: interrupted; the stand-in has ended.\n")


def test_the_plugin_is_cheap() -> None:
    """Whoever has the package installed loads it with every run of pytest: it brings nothing heavy."""
    heavy = "aiohttp asyncio jsonschema click orl_codegen.trl.spec orl_codegen.standin.application"
    code = "import pytest, sys; before = set(sys.modules); import orl_codegen.standin.plugin; "
    code += f"print([name for name in {heavy.split()!r} if name in set(sys.modules) - before])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT).stdout == "[]\n"
