"""An adapter as an Inspect task: what the model is shown and told, and what the log says of each rollout."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import inspect_ai
import pytest
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.tool import ToolCall
from transformers.utils import get_json_schema

import orl_codegen.inspect
from generated.documents import Documents
from generated.kitchen import Kitchen
from orl_codegen import OpenRewardSpec, tools
from orl_codegen.environments.kitchen import Kitchen as KitchenEnvironment
from orl_codegen.errors import ExtraError
from orl_codegen.inspect import evaluation, rollout_of
from orl_codegen.inspect.figures import Estimate, figures_of
from orl_codegen.inspect.tooling import showing_exactly, tool_infos
from orl_codegen.runtime import RolloutAdapter
from orl_codegen.runtime.vocabulary import bound_tools
from tests.environments.answers import Quiz as QuizEnvironment
from tests.environments.echo import MoodyEcho as MoodyEchoEnvironment
from tests.environments.pictures import Gallery as GalleryEnvironment
from tests.environments.vault import Vault as VaultEnvironment
from tests.generator import golden
from tests.runtime.adapters import Gallery, MoodyEcho, Quiz, Vault
from tests.support.applications import answering
from tests.support.models import chat_server, tool_call
from tests.support.servers import RunningServer, dead_url, running, serving_application

Turn = str | tuple[str, dict[str, Any]]
ENVIRONMENTS = (KitchenEnvironment, MoodyEchoEnvironment, QuizEnvironment, GalleryEnvironment, VaultEnvironment)


@pytest.fixture(scope="module")
def served() -> Iterator[RunningServer]:
    with running(*ENVIRONMENTS) as server:
        yield server


@pytest.fixture
def server(served: RunningServer) -> Iterator[RunningServer]:
    """It must have no session open when a test ends."""
    yield served
    assert served.wait_for_sessions(0) == 0


def says(*turns: Turn) -> Model:
    """A model that says the same in every rollout, and nothing afterwards."""

    def output(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        number = sum(message.role == "assistant" for message in messages)
        turn = turns[number] if number < len(turns) else ""
        text = isinstance(turn, str)
        made = ModelOutput.from_content("mock", turn) if text else ModelOutput.for_tool_call("mock", turn[0], turn[1])
        made.usage = ModelUsage(input_tokens=2, output_tokens=1, total_tokens=3)
        return made

    return get_model("mockllm/model", custom_outputs=output, memoize=False)


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., EvalLog]:
    """Plays an evaluation, and gives its log."""

    def played(
        spec: OpenRewardSpec[Any], model: Model, limits: Mapping[str, Any] | None = None, **options: Any
    ) -> EvalLog:
        (log,) = inspect_ai.eval(
            evaluation(spec, **options),
            model,
            log_dir=str(tmp_path),
            log_format="json",
            display="none",
            max_samples=8,
            **(limits or {}),
        )
        return log

    return played


def of(log: EvalLog) -> Sequence[EvalSample]:
    """The samples of a log, by the index of their task."""
    return sorted(log.samples or [], key=lambda sample: (sample.metadata["task_index"], sample.epoch))


def test_the_model_is_shown_what_training_shows() -> None:
    """Every fact of every tool is what `get_json_schema` makes of it, and nothing is added: of the golden cases, of the
    adapters in `generated/`, and of the SDK's toolsets, which Documents has."""
    shown = 0
    for adapter in (Kitchen, Documents, *_golden_adapters()):
        for info, method in zip(tool_infos(adapter), bound_tools(adapter).values(), strict=True):
            assert info.model_dump(exclude_none=True) == get_json_schema(method)["function"]
            shown += 1
    assert shown > 100


def _golden_adapters() -> Iterator[type[RolloutAdapter]]:
    for case in golden.CASES:
        path = golden.FOLDER / case / "adapter.py"
        if path.exists():
            yield golden.adapter_of(path.read_text("utf-8"), golden.contract(golden.read(case)))


def test_a_strictness_that_was_asked_for_stays() -> None:
    """Some platforms take only tools with `strict`, and Inspect has a model argument for that."""
    model = get_model("openai-api/local/x", base_url=dead_url(), api_key="none", strict_tools=True, memoize=False)
    assert showing_exactly(model).api.strict_tools is True


def test_a_provider_sends_it_unchanged(server: RunningServer, play: Callable[..., EvalLog]) -> None:
    """On the wire of an OpenAI-compatible server stand the schemas of training, and what the model is told is what the
    adapter answers: also to calls that no tool has, and to arguments that do not fit."""
    turns = [
        tool_call("search-recipes", query="ris", filters=None),
        tool_call("shout"),
        tool_call("convert", amount="3", unit="cup", colour="red"),
        tool_call("convert", amount="much", unit="cup"),
        _with_arguments(tool_call("convert"), '{"amount": 3, "un'),
        tool_call("serve_dish", dish="risotto", ingredients=["rice", "stock"]),
    ]

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        return turns[sum(message["role"] == "assistant" for message in body["messages"])]

    with chat_server(answer) as (url, asked):
        model = get_model("openai-api/local/tiny", base_url=url, api_key="none", memoize=False)
        log = play(OpenRewardSpec(Kitchen, split="test", base_url=server.url), model)
    for sent, wanted in zip(asked[0]["tools"], tools(Kitchen), strict=True):
        assert json.dumps(wanted["function"]) == json.dumps(sent["function"])
    told = [message["content"] for message in asked[-1]["messages"] if message["role"] == "tool"]
    assert told == [
        '["risotto"]',
        "{'error': 'Tool shout not found.'}",
        "{'error': 'convert was not called, its arguments are not valid: colour: no such parameter. Required: amount, "
        "unit.'}",
        "Error: convert was not called, its arguments are not valid: amount: Input should be a valid number, unable to "
        "parse string as a number.",
        "{'error': 'The arguments of a call have to be a JSON object.'}",
    ]
    (sample,) = of(log)
    rollout = rollout_of(sample)
    assert rollout is not None and rollout.finished and rollout.turns == 6
    assert rollout.calls == (
        ("search-recipes", None),
        ("shout", "unknown_tool"),
        ("convert", "wrong_arguments"),
        ("convert", "input_validation"),
        ("convert", "wrong_arguments"),
        ("serve_dish", None),
    )
    assert sample.scores is not None and sample.scores["reward"].value == rollout.reward == 0.67
    assert sample.scores["reward"].metadata == {"rewards": [[None], [], [], [None], [], [0.67]]}


def _with_arguments(message: dict[str, Any], arguments: str) -> dict[str, Any]:
    (call,) = message["tool_calls"]
    return message | {"tool_calls": [call | {"function": call["function"] | {"arguments": arguments}}]}


def test_calls_of_a_turn_are_made_in_order(server: RunningServer, play: Callable[..., EvalLog]) -> None:
    """Whatever they are named and hold, each is answered; after the end of the episode none is carried out."""
    odd = {"self": 1, "func": 2, "kwargs": 3, "tool": 4, "": 5}
    made = [("step", {"number": 1}), ("", {}), ("step", odd), ("step", {"number": "2"}), ("\x1b[31m", {})]
    made += [("echo", {"text": "hello"}), ("step", {"number": 3})]
    calls = [ToolCall(str(place), name, arguments) for place, (name, arguments) in enumerate(made)]
    message = ChatMessageAssistant(content="", tool_calls=calls)
    choice = ChatCompletionChoice(message=message, stop_reason="tool_calls")
    output = ModelOutput(model="mock", choices=[choice], usage=ModelUsage())
    model = get_model("mockllm/model", custom_outputs=lambda *_: output, memoize=False)
    (sample,) = of(play(OpenRewardSpec(MoodyEcho, base_url=server.url, num_tasks=1), model))
    told = [message.text for message in sample.messages[2:]]
    assert told[:2] == ["1", "{'error': 'Tool  not found.'}"] and "no such parameter" in told[2]
    assert told[3:] == [
        "1 2",
        "{'error': 'Tool \\x1b[31m not found.'}",
        "match",
        "The episode has finished: this call was not carried out.",
    ]
    rollout = rollout_of(sample)
    assert rollout is not None and [name for name, _ in rollout.calls] == [name for name, _ in made]


def test_the_prompt_is_the_sessions(server: RunningServer, play: Callable[..., EvalLog]) -> None:
    """Each sample says which task it is, with its fields, and begins with what the environment asks."""
    log = play(OpenRewardSpec(Kitchen, num_tasks=2, base_url=server.url), says("I give up."))
    first, second = of(log)
    assert [sample.id for sample in (first, second)] == ["train-0", "train-1"]
    assert first.metadata["task"]["dish"] == "carbonara"
    assert first.messages[0].text == "A guest wants something italian, ready in 25 minutes. Serve a dish that fits."
    assert second.messages[0].text != first.messages[0].text


def test_without_a_reward_a_rollout_stays_unscored(server: RunningServer, play: Callable[..., EvalLog]) -> None:
    """It counts neither as 0 nor in the mean, and its turns and calls are there all the same."""
    log = play(OpenRewardSpec(Kitchen, split="test", base_url=server.url), says("I give up."))
    (sample,) = of(log)
    assert sample.scores is not None and isinstance(value := sample.scores["reward"].value, float) and math.isnan(value)
    assert log.results is not None and log.results.scores[0].unscored_samples == 1
    rollout = rollout_of(sample)
    assert rollout is not None and (rollout.reward, rollout.turns, rollout.calls) == (None, 1, ())


def test_the_last_message_goes_to_the_terminal_tool(server: RunningServer, play: Callable[..., EvalLog]) -> None:
    """An environment that grades the answer is given it, and its grade is the score."""
    spec = OpenRewardSpec(Quiz, base_url=server.url, num_tasks=3)
    right = spec.tasks[1][1]["answer"]
    samples = of(play(spec, says(right)))
    assert [sample.scores["reward"].value for sample in samples if sample.scores] == [
        float(task["answer"] == right) for _, task in spec.tasks
    ]


def test_a_failure_of_the_infrastructure_is_an_error_of_its_sample(
    server: RunningServer, play: Callable[..., EvalLog]
) -> None:
    """It has no score, says why, and the other samples are played to their end."""
    log = play(OpenRewardSpec(MoodyEcho, base_url=server.url, indices=[0, 1]), says(("echo", {"text": "hello"})))
    well, broken = of(log)
    assert log.status == "success"
    assert well.error is None and well.scores is not None and well.scores["reward"].value == 1.0
    assert broken.error is not None and "no sandbox for you" in broken.error.message
    assert not broken.scores and rollout_of(broken) is None


def test_an_environment_that_is_lost_is_an_error_of_its_sample(play: Callable[..., EvalLog]) -> None:
    """What was played until then is in the log, and gives no score."""
    from openreward.environments import Server

    lost = answering({"/moodyecho/call": 400}, Server([MoodyEchoEnvironment]).app)
    with serving_application(lost) as server:
        spec = OpenRewardSpec(MoodyEcho, base_url=server.url, num_tasks=1)
        (sample,) = of(play(spec, says(("echo", {"text": "hello"}), "Never said.")))
    assert sample.error is not None and "HTTP 400" in sample.error.message and not sample.scores
    rollout = rollout_of(sample)
    assert rollout is not None and (rollout.turns, rollout.calls) == (1, (("echo", "environment_failed"),))


def test_limits_of_inspect_end_a_rollout_as_it_stands(server: RunningServer, play: Callable[..., EvalLog]) -> None:
    """In the middle of a call, too: the session is closed, and the rewards until then are the score."""
    spec = OpenRewardSpec(MoodyEcho, base_url=server.url, num_tasks=1)
    model = says(("step", {"number": 1}), ("wait", {"seconds": 60}), ("echo", {"text": "hello"}))
    for limit in ({"time_limit": 1}, {"token_limit": 4}, {"message_limit": 3}):
        (sample,) = of(play(spec, model, limits=limit))
        assert sample.limit is not None and f"{sample.limit.type}_limit" in limit
        assert sample.scores is not None and sample.scores["reward"].value == 0.5
        assert server.wait_for_sessions(0) == 0


def test_more_samples_than_sessions(server: RunningServer, play: Callable[..., EvalLog]) -> None:
    """Those that Inspect begins beyond `max_sessions` wait, and all are played."""
    most: list[int] = []

    def output(*_: Any) -> ModelOutput:
        most.append(len(server.live_sessions))
        made = ModelOutput.for_tool_call("mock", "echo", {"text": "x"})
        made.usage = ModelUsage()
        return made

    spec = OpenRewardSpec(MoodyEcho, base_url=server.url, indices=[0, 5], max_sessions=2)
    log = play(spec, get_model("mockllm/model", custom_outputs=output, memoize=False), epochs=4)
    assert len(most) >= 8 and max(most) <= 2
    assert all(sample.error is None and sample.scores for sample in of(log))


def test_turns_are_limited(server: RunningServer, play: Callable[..., EvalLog]) -> None:
    """The calls of the last turn are made, and no further turn is asked for."""
    model = says(*[("convert", {"amount": 1, "unit": "cup"})] * 9)
    (sample,) = of(play(OpenRewardSpec(Kitchen, split="test", base_url=server.url), model, max_turns=3))
    rollout = rollout_of(sample)
    assert rollout is not None and (rollout.turns, len(rollout.calls)) == (3, 3)


def test_epochs_give_means_and_pass_at_k(server: RunningServer, play: Callable[..., EvalLog]) -> None:
    """By Inspect's reducers: the mean over the rollouts of a task, and the chance that one of k has passed."""
    served: list[int] = []

    def output(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        served.append(1)
        ingredients = ["rice", "stock", "parmesan"] if len(served) == 1 else ["rice"]
        made = ModelOutput.for_tool_call("mock", "serve_dish", {"dish": "risotto", "ingredients": ingredients})
        made.usage = ModelUsage()
        return made

    spec = OpenRewardSpec(Kitchen, split="test", base_url=server.url)
    log = play(spec, get_model("mockllm/model", custom_outputs=output, memoize=False), epochs=4)
    assert log.results is not None
    reduced = {score.reducer: round(score.metrics["mean"].value, 4) for score in log.results.scores}
    assert reduced == {
        "mean": round((1.0 + 3 * 0.33) / 4, 4),
        "pass_at_1": 0.25,
        "pass_at_2": 0.5,
        "pass_at_4": 1.0,
    }


def test_rewards_can_be_summed(server: RunningServer, play: Callable[..., EvalLog]) -> None:
    """All that were not null."""
    model = says(("step", {"number": 1}), ("step", {"number": 2}), ("echo", {"text": "hello"}))
    log = play(OpenRewardSpec(MoodyEcho, base_url=server.url, num_tasks=1), model, reward="sum")
    (sample,) = of(log)
    assert sample.scores is not None and sample.scores["reward"].value == 2.0


def test_the_whole_trace_can_be_the_score(server: RunningServer, play: Callable[..., EvalLog]) -> None:
    """The last reward, the sum and the reward of each turn, with a mean of its own: over those rollouts of a task that
    have a reward in that turn. Rollouts of different length go together, and one without a reward stays unscored."""
    begun: list[int] = []

    def output(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        if messages[-1].role == "user":
            begun.append(1)
        turns = {1: ("step", {"number": 1}), 2: ("echo", {"text": "hello"})}
        turn = turns.get(len(begun)) if messages[-1].role == "user" else turns[2]
        made = ModelOutput.for_tool_call("mock", *turn) if turn else ModelOutput.from_content("mock", "I give up.")
        made.usage = ModelUsage()
        return made

    model = get_model("mockllm/model", custom_outputs=output, memoize=False)
    spec = OpenRewardSpec(MoodyEcho, base_url=server.url, num_tasks=1)
    log = play(spec, model, epochs=3, max_turns=3, reward="trace")
    assert log.status == "success" and log.results is not None
    values = [score.value for sample in of(log) for score in (sample.scores or {}).values()]
    assert sorted((_without_nan(value) for value in values), key=len) == [
        {},
        {"last": 1.0, "sum": 1.0, "turn_1": 1.0},
        {"last": 1.0, "sum": 1.5, "turn_1": 0.5, "turn_2": 1.0},
    ]
    means = {score.name: score.metrics["mean"].value for score in log.results.scores if score.reducer == "mean"}
    assert _without_nan(means) == {"last": 1.0, "sum": 1.25, "turn_1": 0.75, "turn_2": 1.0}
    assert {*means} == {"last", "sum", "turn_1", "turn_2", "turn_3"}
    figures = figures_of(log)
    assert figures.by_turn == {1: 0.75, 2: 1.0} and figures.scored == 2
    assert figures.reward == Estimate(mean=1.0, error=None, count=1)
    assert figures.passed == {1: 1.0, 2: 1.0}, "of two rollouts with a reward, nobody can say how three would do"


def _without_nan(value: object) -> dict[str, float]:
    """The parts that are scored; none of a score that is not."""
    return {key: part for key, part in value.items() if not math.isnan(part)} if isinstance(value, dict) else {}


def test_pictures_reach_the_model(server: RunningServer, play: Callable[..., EvalLog]) -> None:
    """As images of the prompt and of results; by default as a line of text, as in training."""
    spec = OpenRewardSpec(Gallery, base_url=server.url, indices=[1], images="pil")
    (sample,) = of(play(spec, says(("look", {}))))
    prompt, _, result, _ = sample.messages
    assert [part.type for part in prompt.content if not isinstance(part, str)] == ["text", "image", "text"]
    assert [part.type for part in result.content if not isinstance(part, str)] == ["text", "image", "text"]


def test_no_secret_reaches_the_log(server: RunningServer, play: Callable[..., EvalLog]) -> None:
    """Neither one that the environment repeats, nor the key."""
    secrets = {"token": "hush-hush-7"}
    spec = OpenRewardSpec(Vault, base_url=server.url, num_tasks=1, secrets=secrets, api_key="key-hush-9")
    log = play(spec, says(("tell", {}), ("trip", {})))
    (sample,) = of(log)
    assert sample.error is None and len(sample.messages) > 3
    written = Path(log.location.removeprefix("file://")).read_text("utf-8")
    assert "could not log in with" in written and "hush" not in written


TASK_FILE = """
from inspect_ai import Task, task

from orl_codegen import OpenRewardSpec
from orl_codegen.inspect import evaluation
from tests.runtime.adapters import MoodyEcho


@task
def echo(url: str, turns: int = 1) -> Task:
    return evaluation(OpenRewardSpec(MoodyEcho, base_url=url, num_tasks=1), max_turns=turns)
"""


def test_a_file_with_a_task_needs_nothing_of_trl(
    server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `inspect eval FILE@echo -T url=...` does; the extra `eval` is enough."""
    for name in ("trl", "datasets"):
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "tasks.py").write_text(TASK_FILE, "utf-8")
    (log,) = inspect_ai.eval(
        f"{tmp_path / 'tasks.py'}@echo",
        says(("echo", {"text": "hello"})),
        task_args={"url": server.url},
        log_dir=str(tmp_path),
        display="none",
    )
    assert (log.status, log.eval.task_args["turns"]) == ("success", 1)
    assert [sample.scores["reward"].value for sample in log.samples or [] if sample.scores] == [1.0]


@pytest.mark.parametrize("name", orl_codegen.inspect.__all__)
def test_without_inspect_the_extra_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a ModuleNotFoundError from somewhere inside."""
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(ExtraError, match=r"inspect_ai.*pip install 'orl-codegen\[eval\]'"):
        getattr(orl_codegen.inspect, name)
