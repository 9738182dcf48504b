"""Calls that go wrong tell the model what to change, in its own words, and the episode goes on."""

from __future__ import annotations

import inspect
import logging
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import trl
from openreward.environments import ToolOutput, terminal
from openreward.environments import tool as ors_tool
from transformers.utils import get_json_schema

from generated.kitchen import Kitchen
from orl_codegen import OpenRewardSpec
from orl_codegen.environments.kitchen import Kitchen as KitchenEnvironment
from orl_codegen.errors import RolloutError, SessionError, ToolError
from orl_codegen.ors.failures import without_traceback
from orl_codegen.ors.outputs import CallRefused
from orl_codegen.runtime import UNSET, Environment, RolloutAdapter, TerminalTool, ToolResult, tool
from orl_codegen.runtime.refusals import explained
from orl_codegen.trl import GRPOTrainer
from orl_codegen.trl.rewards import last_reward
from tests.environments.answers import Answer, Quiz
from tests.environments.echo import Echo as EchoEnvironment
from tests.environments.echo import Text, reply
from tests.runtime import adapters
from tests.runtime.test_overlapping import turns
from tests.support.applications import answering
from tests.support.environments import environment, spec
from tests.support.grpo import call, logged, roll_out_asynchronously, train
from tests.support.servers import RunningServer, running, serving_application

BOTH = pytest.mark.parametrize("trainer", [trl.GRPOTrainer, GRPOTrainer], ids=["trl", "overlapping"])


def opened(server: RunningServer, adapter: Any, **options: Any) -> Any:
    rollout = OpenRewardSpec(adapter, base_url=server.url, **options).environment_factory()
    rollout.reset()
    return rollout


def answers(trainer_class: Any, spec: OpenRewardSpec, folder: Path, *calls: str) -> tuple[Any, list[str]]:
    """The trainer after one step, and what stands as the tools' results in the completion of its first rollout."""
    completions: list[Any] = []

    def reward(completions: list[Any], *, seen: list[Any] = completions, **columns: Any) -> list[float | None]:
        seen.extend(completions)
        return list(spec.reward_funcs(completions=completions, **columns))

    options = {"max_completion_length": 2048, "max_tool_calling_iterations": 8}
    trainer = train(spec, turns(*calls), folder, reward_funcs=reward, trainer_class=trainer_class, **options)
    return trainer, [message["content"] for message in completions[0] if message["role"] == "tool"]


# Arguments.


class Mail(RolloutAdapter):
    """Parameters whose wire keys are no Python names, or are the Python names of others."""

    _environment = Environment(target="http://127.0.0.1:1", variant="mail")

    @tool("send", aliases={"from_": "from", "file_path": "file-path", "file_path_2": "file_path"})
    def send(self, *, from_: str, file_path: str = UNSET, file_path_2: str = UNSET) -> ToolResult:
        """Send a letter.

        Args:
            from_: Who writes.
            file_path: The letter.
            file_path_2: Another one.
        """
        return self._call("send", {"from": from_, "file-path": file_path, "file_path": file_path_2})

    @tool
    def look(self) -> ToolResult:
        """Look into the mailbox."""
        return self._call("look", {})


SEND = spec("send", **{"from": {}, "file-path": {}, "file_path": {}})
MAIL = [{**SEND, "input_schema": {**SEND["input_schema"], "required": ["from"]}}, spec("look")]


@pytest.fixture(scope="module")
def mail_server() -> Iterator[RunningServer]:
    with running(environment(MAIL, name="Mail")) as server:
        yield server


def test_arguments_under_their_wire_keys(mail_server: RunningServer) -> None:
    """The environment's own prompt may name them so. Where the wire key of one is the Python name of another, it is
    the other: that is the name that the model was shown."""
    rollout = opened(mail_server, Mail)
    for arguments in ({"from": "ada"}, {"from_": "ada"}):
        assert rollout.send(**arguments) == '{"from": "ada"}'
    assert rollout.send(**{"from": "ada", "file-path": "a", "file_path_2": "b"}) == (
        '{"from": "ada", "file-path": "a", "file_path": "b"}'
    )
    assert rollout.send(**{"from": "ada", "file_path": "a"}) == '{"from": "ada", "file-path": "a"}'
    rollout._close()


@pytest.mark.parametrize(
    ("name", "arguments", "problems", "allowed"),
    [
        ("send", {}, "from_: missing", "Required: from_. Optional: file_path, file_path_2."),
        (
            "send",
            {"to": "eve", "from": 1},
            "to: no such parameter",
            "Required: from_. Optional: file_path, file_path_2.",
        ),
        (
            "send",
            {"from_": 1, "from": 2},
            "from_: given twice, as from_ and as from",
            "Required: from_. Optional: file_path, file_path_2.",
        ),
        (
            "send",
            {"file-path": 1, "file_path": 2, "self": 3},
            "self: no such parameter; from_: missing; file_path: given twice, as file_path and as file-path",
            "Required: from_. Optional: file_path, file_path_2.",
        ),
        ("look", {"where": 1}, "where: no such parameter", "It takes no parameters."),
    ],
)
def test_arguments_that_do_not_fit(
    mail_server: RunningServer, name: str, arguments: Any, problems: str, allowed: str
) -> None:
    """The answer names them in the model's spelling, with what is allowed. It leaves no trace anywhere."""
    rollout = opened(mail_server, Mail)
    mail_server.requests.clear()
    with pytest.raises(TypeError) as told:
        getattr(rollout, name)(**arguments)
    assert str(told.value) == f"{name} was not called, its arguments are not valid: {problems}. {allowed}"
    assert (rollout.rewards, rollout.metadata, rollout.last_output, rollout.failure) == ([], [], "", None)
    assert mail_server.requests == []
    rollout._close()


def test_what_a_model_makes_up_is_bounded_and_escaped() -> None:
    """It is sent back to the model, and may stand in a log."""
    with pytest.raises(TypeError) as told:
        Mail().send(**{f"\x1b[31m{number}": "x" for number in range(500)}, **{"y" * 5000: 1})
    assert "\x1b" not in str(told.value) and len(str(told.value)) < 2200
    assert str(told.value).endswith("Required: from_. Optional: file_path, file_path_2.")


def test_odd_python_in_a_refusal_warns_of_nothing() -> None:
    """Python warns of escapes that it does not know, and quotes them: a server could put its own onto the terminal."""
    refusal = CallRefused("Tool input validation error: [{'loc': ('\\\x1b',), 'msg': 'no'}]", "input_validation")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert "Tool input validation error" in explained(Mail, "send", refusal)
    assert not warned


def test_a_tool_is_still_what_trl_and_transformers_expect() -> None:
    """A plain function with the signature, the hints and the docstring of the method, and bound like one."""
    function = vars(Kitchen)["search_recipes"]
    assert inspect.isfunction(function) and inspect.ismethod(Mail().look)
    assert function.__name__ == "search-recipes" and function.__qualname__ == "Kitchen.search_recipes"
    assert list(inspect.signature(function).parameters) == ["self", "query", "filters", "limit"]
    assert "return" not in get_type_hints(function)
    shown = get_json_schema(Mail().send)["function"]
    assert (shown["name"], list(shown["parameters"]["properties"])) == ("send", ["from_", "file_path", "file_path_2"])
    assert shown["parameters"]["required"] == ["from_"] and "return" not in shown
    assert pickle.loads(pickle.dumps(function)) is function


def test_positional_arguments_are_a_mistake_of_the_program() -> None:
    """No model can make it, so Python's own words will do."""
    with pytest.raises(TypeError, match="positional"):
        Mail().send("ada")  # type: ignore[misc]


@BOTH
def test_wrong_arguments_in_grpo(tmp_path: Path, trainer: Any) -> None:
    """The completion holds TRL's own form with our text, TRL counts a failure, and the right call is carried out."""
    wrong, right = call("convert", '{"amount": 1, "units": "cup"}'), call("convert", '{"amount": 1, "unit": "cup"}')
    with running(KitchenEnvironment) as server:
        kitchen = OpenRewardSpec(Kitchen, base_url=server.url, num_tasks=2)
        played, told = answers(trainer, kitchen, tmp_path, wrong, right)
        assert [rollout.rewards for rollout in played.environments] == [[None]] * 4
    assert told == [
        str(
            {
                "error": "convert was not called, its arguments are not valid: units: no such parameter; "
                "unit: missing. Required: amount, unit."
            }
        ),
        "240 ml",
    ]
    assert logged(played, "tools/failure_frequency") == 0.5


# Exceptions in the environment.

LONG = "x" * 5000


class Fragile(EchoEnvironment):
    """Its tool raises what it is told to raise, and counts on."""

    @ors_tool
    async def echo(self, params: Text) -> ToolOutput:
        """Raise an exception, unless told to win."""
        if params.text == "win":
            return reply("match", 1.0, finished=True)
        raise ValueError(LONG if params.text == "long" else params.text)


class FragileAdapter(adapters.Echo):
    """The same."""

    _environment = Environment(target="x:Fragile", variant="fragile")


@pytest.fixture(scope="module")
def fragile_server() -> Iterator[RunningServer]:
    with running(Fragile, Broken) as server:
        yield server


def test_an_exception_in_a_tool(fragile_server: RunningServer) -> None:
    """Its message reaches the model, the session lives on, and the call counts as one without a reward."""
    rollout = opened(fragile_server, FragileAdapter)
    rollout.step(number=1)
    with pytest.raises(ToolError, match=r"^echo failed: no such word$"):
        rollout.echo(text="no such word")
    assert (rollout.failure, rollout.finished, rollout.reward) == (None, False, 0.5)
    assert (rollout.rewards, rollout.metadata) == ([0.5, None], [None, None])
    assert rollout.last_output == "echo failed: no such word"
    assert rollout.step(number=2) == "1 2"
    assert rollout.echo(text="win") == "match"
    assert (rollout.rewards, last_reward(environments=[rollout])) == ([0.5, None, 0.5, 1.0], [1.0])
    assert isinstance(ToolError(""), RolloutError) and not isinstance(ToolError(""), SessionError)


def test_a_failed_tool_does_not_drop_a_rollout(fragile_server: RunningServer) -> None:
    """`drop_failed_rollouts` is about sessions that were lost."""
    rollout = opened(fragile_server, FragileAdapter, drop_failed_rollouts=True)
    rollout.step(number=1)
    with pytest.raises(ToolError):
        rollout.echo(text="oops")
    assert last_reward(environments=[rollout]) == [0.5]
    rollout._close()


@pytest.mark.parametrize(
    ("message", "shown"),
    [("", "it gave no reason"), ("\x1b[31mred", r"\x1b[31mred"), ("hush-hush is the key", "*** is the key")],
)
def test_the_message_of_an_exception_is_safe(fragile_server: RunningServer, message: str, shown: str) -> None:
    """Escaped, without secrets, and never empty."""
    rollout = opened(fragile_server, FragileAdapter, secrets={"TOKEN": "hush-hush"})
    with pytest.raises(ToolError) as told:
        rollout.echo(text=message)
    assert str(told.value) == f"echo failed: {shown}"
    rollout._close()


def test_the_message_of_an_exception_has_a_length(fragile_server: RunningServer) -> None:
    """A model's context is worth more than a page of a log."""
    rollout = opened(fragile_server, FragileAdapter)
    with pytest.raises(ToolError) as told:
        rollout.echo(text="long")
    assert len(str(told.value)) < 600
    rollout._close()


TRACEBACK = """Traceback (most recent call last):
  File "/srv/app/tools.py", line 7, in echo
    raise ValueError(text)
ValueError: no such word
"""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no such word", "no such word"),
        (TRACEBACK, "ValueError: no such word"),
        (f"While calling echo: {TRACEBACK}", "ValueError: no such word"),
        (TRACEBACK.strip() + "\nin two lines", "ValueError: no such word\nin two lines"),
        ("Traceback (most recent call last):", "Traceback (most recent call last):"),
        ("", ""),
    ],
)
def test_a_traceback_is_left_out(text: str, shown: str) -> None:
    """The SDK's server sends none; others do."""
    assert without_traceback(text) == shown


def test_a_traceback_does_not_reach_the_model(server: RunningServer) -> None:
    """Not its beginning either, though the rest would be cut."""
    from openreward.environments import Server

    data = "".join(f"data: {line}\n" for line in TRACEBACK.splitlines())
    stream = f"event: task_id\ndata: t\n\nevent: error\n{data}\n".encode()
    with serving_application(answering({"/echo/call": stream}, Server([EchoEnvironment]).app)) as odd:
        rollout = opened(odd, adapters.Echo)
        with pytest.raises(ToolError, match=r"^echo failed: ValueError: no such word$"):
            rollout.echo(text="x")
        rollout._close()


@BOTH
def test_exceptions_in_grpo(fragile_server: RunningServer, tmp_path: Path, trainer: Any) -> None:
    """TRL's own form, TRL's own count, and the next call of the same episode wins it."""
    fragile = OpenRewardSpec(FragileAdapter, base_url=fragile_server.url, num_tasks=2)
    calls = (call("echo", '{"text": "no such word"}'), call("echo", '{"text": "win"}'))
    played, told = answers(trainer, fragile, tmp_path, *calls)
    assert told == [str({"error": "echo failed: no such word"}), "match"]
    assert logged(played, "tools/failure_frequency") == 0.5
    assert (logged(played, "reward"), logged(played, "environment/failed")) == (1.0, 0.0)


def test_exceptions_in_the_asynchronous_trainer(fragile_server: RunningServer) -> None:
    """There as well."""
    fragile = OpenRewardSpec(FragileAdapter, base_url=fragile_server.url, num_tasks=2)
    write = turns(call("echo", '{"text": "no such word"}'), call("echo", '{"text": "win"}'))
    assert [sample.metrics["reward"] for sample in roll_out_asynchronously(fragile, 4, write)] == [1.0] * 4


# A terminal tool that raises.


class Broken(Quiz):
    """A guess is worth something; its grader is broken."""

    @ors_tool
    async def guess(self) -> ToolOutput:
        """Guess."""
        return reply("noted", 0.25)

    @terminal
    @ors_tool
    async def submit(self, params: Answer) -> ToolOutput:
        """Raise an exception."""
        raise RuntimeError("the grader is down")


class BrokenAdapter(RolloutAdapter):
    """The same."""

    _environment = Environment(target="x:Broken", variant="broken", terminal_tool=TerminalTool("submit", arg="answer"))

    @tool
    def guess(self) -> ToolResult:
        """Guess."""
        return self._call("guess", {})


@pytest.mark.parametrize(("guesses", "reward"), [(0, None), (1, 0.25)])
def test_a_terminal_tool_that_raises(
    fragile_server: RunningServer, guesses: int, reward: float | None, caplog: pytest.LogCaptureFixture
) -> None:
    """It gave no reward: the rollout keeps an earlier one, or is unscored. A warning says so, and the session ends."""
    rollout = opened(fragile_server, BrokenAdapter)
    for _ in range(guesses):
        rollout.guess()
    assert last_reward(environments=[rollout], completions=["4"]) == [reward]
    assert rollout.failure is None and not rollout._awaits_message()
    assert "The terminal tool of BrokenAdapter gave no reward: submit failed: the grader is down." in caplog.text
    assert fragile_server.wait_for_sessions(0) == 0


def test_a_terminal_tool_that_raises_in_grpo(
    fragile_server: RunningServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Training goes on."""
    caplog.set_level(logging.WARNING)
    broken = OpenRewardSpec(BrokenAdapter, base_url=fragile_server.url, num_tasks=2)
    trainer = train(broken, turns(call("guess", "{}")), tmp_path)
    assert (logged(trainer, "reward"), logged(trainer, "environment/scored")) == (0.25, 1.0)
    assert caplog.text.count("the grader is down") >= 4


def test_refusals_of_the_server_still_count_as_answers(server: RunningServer) -> None:
    """Calls that are answered here do not; see the docstring of `RolloutAdapter`."""
    rollout = opened(server, adapters.Echo)
    rollout.step(number="many")
    with pytest.raises(TypeError):
        rollout.step(count=1)
    assert rollout.rewards == [None] and "valid integer" in rollout.last_output
    rollout._close()
