"""`orl-codegen eval`: a split played with a model, from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orl_codegen.environments.kitchen import Kitchen
from tests.environments.echo import MoodyEcho
from tests.support.cli import Outcome, orl_codegen
from tests.support.models import chat_server, tool_call
from tests.support.servers import RunningServer, dead_url, running

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "generated" / "kitchen.py"

SERVES = {"calls": [{"name": "serve_dish", "arguments": {"dish": "risotto", "ingredients": ["rice", "stock"]}}]}
SCRIPT = {
    "train-0": ["I give up."],
    "*": [
        {"text": "Hm.", "calls": [{"name": "shout"}, {"name": "convert", "arguments": {"amount": "x", "unit": "cup"}}]},
        SERVES,
    ],
}

FIGURES = """\
Kitchen, split train
                  mockllm/scripted
─────────────────────────────────────────────────
mean reward       0.223 ± 0.961 (95 %)
pass@1            0.0%
pass@2            0.0%
rollouts          8 of 4 tasks
  with a reward   6
  finished        6
  failed          0
turns             1.8 in a rollout
calls             18, of which 12 not carried out
tokens            0 read, 0 written

tool         calls   not carried out
────────────────────────────────────────────
shout        6       6 (unknown_tool: 6)
convert      6       6 (input_validation: 6)
serve_dish   6       0

"""


IN_TURNS = ("pass@1 ", f"{'  in turn 2':17} 0.223\npass@1 ")


@pytest.fixture(scope="module")
def kitchen() -> Iterator[RunningServer]:
    with running(Kitchen, MoodyEcho) as server:
        yield server


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def script(turns: Any = SCRIPT) -> str:
    """The name of a model that says these turns."""
    Path("script.json").write_text(json.dumps(turns), "utf-8")
    return "scripted:script.json"


def played(server: RunningServer, *options: object, model: str | None = None) -> Outcome:
    """Evaluate the demo that runs at a server."""
    return orl_codegen("eval", MODULE, "--base-url", server.url, "--model", model or script(), *options)


def lines(text: str) -> str:
    """A text without the spaces that fill its lines."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def logs() -> list[Path]:
    """The logs that were left."""
    return sorted(Path("logs").glob("*.eval"))


def test_a_split_is_played_and_told(kitchen: RunningServer) -> None:
    """Rewards, turns and calls go to standard output, the place of the log to standard error; no session is left."""
    outcome = played(kitchen, "--split", "train", "--epochs", 2)
    assert (outcome.status, lines(outcome.out)) == (0, FIGURES)
    (log,) = logs()
    assert outcome.err == f"log: {log}\n"
    assert kitchen.wait_for_sessions(0) == 0


def test_the_whole_trace_is_told_by_turn(kitchen: RunningServer) -> None:
    """The mean reward of each turn that had one, in the table and in JSON; a log that counts in another way is not
    compared with it."""
    outcome = played(kitchen, "--split", "train", "--epochs", 2, "--reward", "trace")
    assert (outcome.status, lines(outcome.out)) == (0, FIGURES.replace(*IN_TURNS))
    compared = played(kitchen, "--split", "train", "--reward", "trace", "--compare", logs()[0], "--format", "json")
    assert compared.status == 0, compared.err
    after = json.loads(compared.out)["after"]
    assert (after["by_turn"], after["counted"]) == ({"2": pytest.approx(0.223, abs=1e-3)}, "trace")
    refused = played(kitchen, "--split", "train", "--compare", logs()[0])
    assert refused.status == 2 and "the trace of the rewards" in refused.err


def test_the_figures_can_be_read_by_programs(kitchen: RunningServer) -> None:
    """As one JSON object, with the reasons why rollouts failed and why calls were not carried out."""
    calls = [{"name": "echo"}, {"name": "echo", "arguments": {"text": "hello"}}]
    options = ["--variant", "moodyecho", "--split", "train", "--model", script({"*": [{"calls": calls}]})]
    outcome = orl_codegen("eval", kitchen.url, *options, "--tasks", 2, "--epochs", 2, "--format", "json")
    assert outcome.status == 0, outcome.err
    figures = json.loads(outcome.out, parse_constant=pytest.fail)
    assert (figures["rollouts"], figures["scored"], [*figures["failures"].values()]) == (4, 2, [2])
    assert figures["tools"] == {"echo": {"made": 4, "problems": {"wrong_arguments": 2}}}
    assert (figures["reward"]["mean"], figures["passed"]) == (1.0, {"1": 1.0, "2": 1.0})


def test_two_evaluations_side_by_side(kitchen: RunningServer) -> None:
    """Task by task, with the mean of the differences; a task that only one has a reward for is listed, too."""
    played(kitchen, "--split", "train")
    serves = [
        {**SERVES, "calls": [{**SERVES["calls"][0], "arguments": {"dish": "carbonara", "ingredients": ["pasta"]}}]}
    ]
    model = script({"train-0": serves, "*": [SERVES]})
    outcome = played(kitchen, "--split", "train", "--compare", logs()[0], model=model)
    assert outcome.status == 0
    told = [line.split() for line in outcome.out.splitlines()]
    assert ["train-0", "–", "0.330", "–"] in told
    assert ["train-2", "0.670", "0.670", "+0.000"] in told
    assert ["mean", "of", "the", "differences", "+0.000", "±", "0.000", "(95", "%)"] in told


def test_a_model_behind_a_server(kitchen: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any model of Inspect's; its tokens are counted."""
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    turns = [tool_call("serve_dish", dish="risotto", ingredients=["rice"]), {"content": "Done."}]
    with chat_server(lambda body: turns[sum(each["role"] == "assistant" for each in body["messages"])]) as (url, asked):
        outcome = played(kitchen, "--model-base-url", url, model="openai-api/local/tiny")
    assert outcome.status == 0 and "tokens            7 read, 3 written" in outcome.out
    assert "strict" not in asked[0]["tools"][0]["function"]


def test_an_environment_that_is_not_generated_yet(kitchen: RunningServer) -> None:
    """A TARGET is asked for its tools first, and nothing is written but the log."""
    outcome = orl_codegen("eval", kitchen.url, "--variant", "kitchen", "--model", script(), "-q")
    assert (outcome.status, outcome.err) == (0, "")
    assert "mean reward       0.670" in outcome.out
    assert sorted(path.name for path in Path().iterdir()) == ["logs", "script.json"]


def test_failures_are_counted_with_their_reasons(kitchen: RunningServer) -> None:
    """A rollout that the infrastructure ends has no reward; where all end so, that is an error."""
    options = ["--variant", "moodyecho", "--split", "train", "--model", script({"*": [{"calls": [{"name": "echo"}]}]})]
    outcome = orl_codegen("eval", kitchen.url, *options, "--tasks", 2)
    assert outcome.status == 0
    told = " ".join(outcome.out.split())
    assert f"1 failed: No session of moodyecho at {kitchen.url} could be opened: HTTP 500: RuntimeError: no" in told


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--model", "scripted:none.json"], "The script none.json cannot be read"),
        (["--model", "nobody/knows"], "The model nobody/knows cannot be used"),
        (["--model", "openai-api/x/y", "--model-base-url", f"{dead_url()}/v1"], "/v1 cannot be reached: Connection"),
        (["--split", "dev"], "dev"),
        (["--compare", "nothing.eval"], "--compare nothing.eval cannot be read"),
        (["--base-url", dead_url()], "Check that the server is running"),
        (["--secret", "token=NOT_SET_ANYWHERE"], "holds the secret token is not set"),
    ],
)
def test_what_cannot_be_played_is_said(kitchen: RunningServer, options: list[str], told: str) -> None:
    """In a paragraph, with exit status 2, and without a log."""
    outcome = played(kitchen, *options)
    assert (outcome.status, outcome.out) == (2, "")
    assert told in outcome.err and outcome.err.startswith("orl-codegen: ") and "Traceback" not in outcome.err
    assert logs() == []


@pytest.mark.parametrize("turns", [[], {"*": [1]}, {"*": [{"says": "x"}]}, {"*": [{"calls": [{"arguments": {}}]}]}])
def test_a_script_of_another_form_is_refused(kitchen: RunningServer, turns: Any) -> None:
    """With the form that it should have."""
    outcome = played(kitchen, model=script(turns))
    assert outcome.status == 2 and "does not have the form of one. It is a JSON object" in outcome.err
