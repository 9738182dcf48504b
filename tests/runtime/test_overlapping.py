"""Overlapping tool calls: everything is as with TRL's own `GRPOTrainer`, only faster."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import trl

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import UsageError
from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.runtime.vocabulary import ToolResult, tool
from orl_codegen.trl import GRPOTrainer
from orl_codegen.trl.overlapping import OverlappingToolCalls, overlapping_trainer
from tests.runtime import adapters
from tests.support.grpo import Phases, Write, call, play_echo, timed, train
from tests.support.servers import RunningServer


class Played:
    """A step of a trainer: what its rollouts and its log hold, and how long the resets and the tools took."""

    def __init__(self, trainer_class: Any, spec: Any, write: Write, folder: Path, **options: Any) -> None:
        self.completions: list[Any] = []
        phases = Phases()

        def reward(completions: list[Any], **columns: Any) -> list[float | None]:
            self.completions.extend(completions)
            return list(spec.reward_funcs(completions=completions, **columns))

        self.trainer = train(
            spec, write, folder, reward_funcs=reward, trainer_class=timed(trainer_class, phases), **options
        )
        self.resets, self.seconds = phases.resets, phases.tools
        self.rollouts = [
            (one.reward, one.rewards, one.metadata, one.finished, one.last_output, one.failure)
            for one in self.trainer.environments
        ]
        self.log = {name: value for name, value in self.trainer.state.log_history[0].items() if _is_steady(name)}
        for rollout in self.trainer.environments:
            rollout._close()


def _is_steady(name: str) -> bool:
    """Whether a metric comes out the same whenever the same thing is played."""
    return name.startswith(("tools/", "completions/", "reward", "environment/", "num_tokens"))


def spec_of(server: RunningServer, adapter: Any = adapters.Echo, **options: Any) -> OpenRewardSpec:
    return OpenRewardSpec(adapter, base_url=server.url, **({"num_tasks": 4} | options))


def both(
    server: RunningServer, write: Any, folder: Path, adapter: Any = adapters.Echo, **options: Any
) -> tuple[Played, Played]:
    """The same step with TRL's trainer and with ours, which must not differ."""
    options = {"batch": 8, "max_completion_length": 1024} | options
    plain, ours = (
        Played(trainer, spec_of(server, adapter), write, folder, **options)
        for trainer in (trl.GRPOTrainer, GRPOTrainer)
    )
    assert ours.completions == plain.completions
    assert ours.rollouts == plain.rollouts
    assert ours.log == plain.log
    assert ours.trainer._overlaps
    return plain, ours


def turns(*texts: str) -> Write:
    """Writes a text for each turn, then `Done`."""

    def write(prompt: str) -> str:
        turn = prompt.count("<|im_start|>assistant") - 1
        return texts[turn] if turn < len(texts) else "Done"

    return write


def test_calls_of_different_rollouts_overlap(server: RunningServer, tmp_path: Path) -> None:
    """Eight rollouts that wait for half a second each take less than a third of the time."""
    plain, ours = both(server, turns(call("wait", '{"seconds": 0.5}')), tmp_path)
    assert plain.seconds > 4.0
    assert ours.seconds < plain.seconds / 3


def test_calls_of_one_rollout_stay_in_order(server: RunningServer, tmp_path: Path) -> None:
    """The server runs these calls concurrently and the first ones take longest, so the notes show the order."""
    numbers = [call("step", f'{{"number": {number}}}') for number in range(6)]
    _, ours = both(server, turns("\n".join(numbers[:4]), "\n".join(numbers[4:])), tmp_path)
    assert {rollout[4] for rollout in ours.rollouts} == {"0 1 2 3 4 5"}
    assert ours.log["tools/call_frequency"] == 6.0


def test_concurrent_tools(server: RunningServer, tmp_path: Path) -> None:
    """Three waits in a row take as long as one if the spec calls the tool concurrent; the call of another tool comes
    after them, and everything is recorded in order."""
    write = turns(3 * call("wait", '{"seconds": 0.5}') + call("step", '{"number": 7}') + call("wait", '{"seconds": 0}'))
    serial, ours = (
        Played(GRPOTrainer, spec_of(server, concurrent_tools=tools), write, tmp_path, max_completion_length=1024)
        for tools in ([], ["wait"])
    )
    assert serial.seconds > 1.5
    assert ours.seconds < 1.0
    assert (ours.completions, ours.rollouts, ours.log) == (serial.completions, serial.rollouts, serial.log)
    assert [rewards for _, rewards, *_ in ours.rollouts] == 4 * [[None, None, None, 0.5, None]]


def test_concurrent_tools_and_the_end_of_an_episode(server: RunningServer, tmp_path: Path) -> None:
    """A call that was sent beside the one that ended it leaves no trace, and neither does one that is wrong."""
    wrong, late = call("step", '{"numbers": 1}'), call("wait", '{"seconds": 0.1}')
    spec = spec_of(server, concurrent_tools=["echo", "wait", "step"], num_tasks=1)
    write = turns(wrong + call("echo", '{"text": "word0"}') + late)
    ours = Played(GRPOTrainer, spec, write, tmp_path, batch=2, max_completion_length=1024)
    told = [message["content"] for message in ours.completions[0] if message["role"] == "tool"]
    assert "numbers: no such parameter" in told[0]
    assert told[1:] == ["match", "The episode has finished: this call was not carried out."]
    assert [(rewards, finished) for _, rewards, _, finished, _, _ in ours.rollouts] == 2 * [([1.0], True)]


class Overridden(adapters.Echo):
    """An adapter with a method that does something with its result."""

    @tool("wait")
    def wait(self, *, seconds: float) -> ToolResult:
        """Wait."""
        return f"{super().wait(seconds=seconds)} and rested"


@pytest.mark.parametrize(
    ("adapter", "names", "why"),
    [
        (
            adapters.Echo,
            "wait",
            "'wait' is invalid: 'wait' is not a tool.* Pass a list of names, out of echo, step, wait",
        ),
        (adapters.Echo, ["wait", "sing"], "'sing' is not a tool of the generated class"),
        (Overridden, ["wait"], "'wait' is not a tool of the generated class.* out of echo, step"),
    ],
)
def test_tools_that_cannot_be_concurrent(server: RunningServer, adapter: Any, names: Any, why: str) -> None:
    """Names that are not those of generated methods are refused, and the message lists what there is."""
    with pytest.raises(UsageError, match=why):
        spec_of(server, adapter, concurrent_tools=names)


def test_finished_episodes(server: RunningServer, tmp_path: Path) -> None:
    """The calls after the one that ends an episode, in the same turn and in the next, are answered as ever."""

    def write(prompt: str) -> str:
        if prompt.count("<tool_response>") > 2:
            return "Done"
        again = call("step", '{"number": 1}')
        return again if "<tool_response>" in prompt else play_echo(prompt) + again

    _, ours = both(server, write, tmp_path)
    assert all(finished and rewards[0] == 1.0 for _, rewards, _, finished, _, _ in ours.rollouts)
    assert server.paths().count("POST /echo/call") == 2 * 8, "the later calls were not sent"


MALFORMED = [
    call("echo", '{"word": "x"}'),
    call("echo", '{"self": 1}'),
    call("echo", '{"text": "x", "text2": "y"}'),
    call("echo", "{}"),
    call("echo", '["text"]'),
    call("echo", '"text"'),
    call("echo", "null"),
    call("nonsense", '{"text": "x"}'),
    call("reset", "{}"),
    call("_call", '{"name": "echo", "input": {}}'),
]


def test_calls_that_cannot_be_made(server: RunningServer, tmp_path: Path) -> None:
    """They fail in the same place with the same words, count as failures, and do not reach the server."""
    step = call("step", '{"number": 1}')
    write = turns(step + "".join(MALFORMED) + step)
    _, ours = both(server, write, tmp_path, batch=2, max_completion_length=4096)
    assert ours.log["tools/failure_frequency"] == pytest.approx(len(MALFORMED) / (len(MALFORMED) + 2))
    assert server.paths().count("POST /echo/call") == 2 * 2 * 2
    assert {rollout[4] for rollout in ours.rollouts} == {"1 1"}


def test_calls_that_the_server_refuses(server: RunningServer, tmp_path: Path) -> None:
    """The model gets the same explanation, and the rollout goes on."""
    _, ours = both(server, turns(call("step", '{"number": "many"}'), call("step", '{"number": 2}')), tmp_path)
    assert {rollout[4] for rollout in ours.rollouts} == {"2"}


class Trapped(adapters.Echo):
    """An adapter with a tool that raises."""

    def trap(self, number: int) -> str:
        """Raise an exception.

        Args:
            number: What to raise it with.
        """
        raise LookupError(f"number {number}")


def test_exceptions(server: RunningServer, tmp_path: Path) -> None:
    """An exception reaches TRL where it makes the call, and the calls after it are made."""
    step = call("step", '{"number": 1}')
    _, ours = both(server, turns(step + call("trap", '{"number": 12}') + step), tmp_path, adapter=Trapped)
    assert [message["content"] for message in ours.completions[0] if message["role"] == "tool"] == [
        "1",
        "{'error': 'number 12'}",
        "1 1",
    ]


def test_tools_of_others_are_called_by_trl(server: RunningServer, tmp_path: Path) -> None:
    """In the main thread and in their place: an adapter's call after one is not made before it."""
    log: list[tuple[str, bool]] = []

    class Logged(adapters.Echo):
        def note(self) -> str:
            """Take a note."""
            log.append(("note", threading.current_thread() is threading.main_thread()))
            return "noted"

    def look() -> str:
        """Look."""
        log.append(("look", threading.current_thread() is threading.main_thread()))
        return "seen"

    async def listen() -> str:
        """Listen."""
        return "heard"

    write = turns("".join(call(name, "{}") for name in ("listen", "note", "look", "note")), call("note", "{}"))
    _, ours = both(server, write, tmp_path, adapter=Logged, batch=2, tools=[look, listen])
    played = log[len(log) // 2 :]
    assert sorted(played) == sorted(2 * [("note", False), ("look", True), ("note", True), ("note", False)])
    assert [main for name, main in played if name == "note"].count(True) == 2
    told = [message["content"] for message in ours.completions[0] if message["role"] == "tool"]
    assert told == ["noted", "seen", "noted", "heard", "noted"], "TRL adds what is asynchronous at the end of a turn"


def test_results_that_are_too_long(server: RunningServer, tmp_path: Path) -> None:
    """TRL drops such a result, and the call stands last again. It is not made once more in the turns of the others."""

    class Padded(adapters.Echo):
        def pad(self, width: int) -> str:
            """Answer with a text of this length.

            Args:
                width: The length.
            """
            made.append(width)
            return "x" * width

    made: list[int] = []

    def write(prompt: str) -> str:
        number = int(prompt.partition("Echo 'word")[2][0])
        return "Done" if prompt.count("<tool_response>") >= 2 else call("pad", f'{{"width": {900 * (number % 2)}}}')

    both(server, write, tmp_path, adapter=Padded, max_completion_length=512)
    assert made.count(900) == 2 * 4 and made.count(0) == 2 * 4 * 2


class Loop:
    """Stands in for a version of TRL: a turn in which each rollout calls `note` with the numbers it is told to."""

    def __init__(self, wanted: list[int]) -> None:
        self.wanted, self.rollouts = wanted, [Noting() for _ in wanted]
        self._sync_tool_dicts: Any = [{"note": rollout.note} for rollout in self.rollouts]

    def _tool_call_loop(self, prompts: Any, completions: Any) -> list[str]:
        return [table["note"](number=number) for table, number in zip(self._sync_tool_dicts, self.wanted, strict=True)]


class Noting(RolloutAdapter):
    """Takes notes, and needs no server for it."""

    def __init__(self) -> None:
        self.noted: list[tuple[int, bool]] = []

    def note(self, number: int) -> str:
        """Note a number down."""
        self.noted.append((number, threading.current_thread() is threading.main_thread()))
        if number < 0:
            raise KeyboardInterrupt
        return f"noted {number}"


class Overlapping(OverlappingToolCalls, Loop):
    """The same, overlapping."""


class Conversations(Loop):
    """A version whose loop has no `completions`."""

    def _tool_call_loop(self, conversations: Any) -> list[str]:  # type: ignore[override]
        return super()._tool_call_loop(None, conversations)


class OverlappingConversations(OverlappingToolCalls, Conversations):
    """That version, which cannot overlap."""


def announced(*numbers: int) -> list[Any]:
    """Completions that call `note`."""
    return [
        [{"tool_calls": [{"type": "function", "function": {"name": "note", "arguments": {"number": number}}}]}]
        for number in numbers
    ]


def test_a_version_that_keeps_to_the_completions() -> None:
    """Every call is made ahead, in a thread."""
    trainer = Overlapping([1, 2])
    assert trainer._tool_call_loop(None, announced(1, 2)) == ["noted 1", "noted 2"]
    assert [rollout.noted for rollout in trainer.rollouts] == [[(1, False)], [(2, False)]]


def test_versions_without_the_seams(caplog: pytest.LogCaptureFixture) -> None:
    """They say so once, and play serially: other names of arguments, other tables."""
    trainer = OverlappingConversations([1, 2])
    tuples = Overlapping([1, 2])
    tuples._sync_tool_dicts = tuple(tuples._sync_tool_dicts)
    for _ in range(2):
        assert trainer._tool_call_loop(announced(1, 2)) == ["noted 1", "noted 2"]
        assert tuples._tool_call_loop(None, announced(1, 2)) == ["noted 1", "noted 2"]
    assert [rollout.noted for rollout in trainer.rollouts] == [[(1, True)] * 2, [(2, True)] * 2]
    assert [record.message.partition(",")[0] for record in caplog.records] == ["Tool calls do not overlap"] * 2


def test_a_version_without_the_loop(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The trainer is TRL's, and says so."""
    monkeypatch.setattr(trl, "GRPOTrainer", type("GRPOTrainer", (), {}))
    assert issubclass(overlapping_trainer.__wrapped__(), trl.GRPOTrainer)
    assert "has no _tool_call_loop" in caplog.text


def test_a_version_that_makes_other_calls(caplog: pytest.LogCaptureFixture) -> None:
    """What it asks for is what it gets, and from then on nothing is called ahead."""
    trainer = Overlapping([1, 5])
    for _ in range(2):
        assert trainer._tool_call_loop(None, announced(1, 2)) == ["noted 1", "noted 5"]
    first, second = trainer.rollouts
    assert first.noted == [(1, False), (1, True)]
    assert second.noted == [(2, False), (5, True), (5, True)]
    assert len(caplog.records) == 1 and "had not announced" in caplog.text


def test_what_ends_a_step_ends_it_here() -> None:
    """An exception that TRL does not catch is raised where TRL makes the call, and the rollout's later calls are not
    made; afterwards the tables are TRL's again."""
    trainer = Overlapping([1, -1])
    completions = announced(1, -1)
    completions[1][0]["tool_calls"] += announced(7)[0][0]["tool_calls"]
    tables = trainer._sync_tool_dicts
    with pytest.raises(KeyboardInterrupt):
        trainer._tool_call_loop(None, completions)
    assert trainer.rollouts[1].noted == [(-1, False)]
    assert trainer._sync_tool_dicts is tables


def test_a_message_that_trl_cannot_read() -> None:
    """It ends TRL's loop, so nothing that comes after it is called."""
    trainer = Overlapping([1, 2, 3])
    completions = announced(1, 2, 3)
    del completions[1][0]["tool_calls"][0]["function"]["name"]
    trainer.wanted = [1]
    with pytest.raises(ValueError, match="shorter"):
        trainer._tool_call_loop(None, completions)
    assert [rollout.noted for rollout in trainer.rollouts] == [[(1, False)], [], []]


def test_importing_the_package_costs_nothing() -> None:
    """TRL is imported when the trainer is first asked for."""
    code = "import sys, orl_codegen.trl; print({'trl', 'torch', 'inspect', 'asyncio'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
    assert GRPOTrainer.__name__ == "GRPOTrainer" and issubclass(GRPOTrainer, trl.GRPOTrainer)
