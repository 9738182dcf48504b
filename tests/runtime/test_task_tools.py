"""A task offers its own tools: calls to others are answered here, whatever the server would make of them."""

from __future__ import annotations

import pickle
import time
from pathlib import Path
from typing import Any

import pytest
from openreward.environments import Server, ToolOutput
from openreward.environments import tool as ors_tool

from generated.kitchen import Kitchen
from orl_codegen import OpenRewardSpec
from orl_codegen.environments.kitchen import Kitchen as KitchenEnvironment
from orl_codegen.errors import SessionError
from orl_codegen.ors import limits
from orl_codegen.runtime import Environment, ToolResult, tool
from orl_codegen.runtime import agreement as agreements
from orl_codegen.sessions.loop import close_sessions
from tests.environments.echo import Echo as EchoEnvironment
from tests.environments.echo import reply
from tests.runtime import adapters
from tests.runtime.test_overlapping import turns
from tests.support.applications import answering
from tests.support.environments import environment, spec
from tests.support.grpo import call, logged, train
from tests.support.servers import RunningServer, running, serving_application

QUESTION = "GET /kitchen/task_tools"
OVEN = {"celsius": 200}
REFUSED = (
    "Error: preheat_oven was not called: this task does not offer it. "
    "The task offers convert, read_recipe, search-recipes, serve_dish."
)


def adapter_of(server: RunningServer, adapter: Any = Kitchen, **options: Any) -> Any:
    return OpenRewardSpec(adapter, base_url=server.url, **options).environment_factory()


def played(rollout: Any, **task: Any) -> Any:
    """What preheating the oven answers in a task."""
    rollout.reset(**task)
    try:
        return rollout.preheat_oven(**OVEN)
    finally:
        rollout._close()


def test_a_tool_that_the_task_does_not_offer() -> None:
    """The model hears which ones it does offer, the server does not hear of it, and it leaves no trace."""
    with running(KitchenEnvironment) as server:
        rollout = adapter_of(server)
        rollout.reset(task_index=2)
        assert rollout.preheat_oven(celsius=200) == "The oven is at 200 °C."
        rollout.reset(task_index=0)
        rollout.convert(amount=1, unit="cup")
        server.requests.clear()
        assert rollout.preheat_oven(celsius=200) == REFUSED
        assert (server.requests, rollout.rewards, rollout.metadata) == ([], [None], [None])
        assert (rollout.last_output, rollout.failure, rollout.finished) == ("240 ml", None, False)
        assert rollout.convert(amount=2, unit="cup") == "480 ml"
        rollout._close()


def test_the_sdks_server_would_have_carried_it_out() -> None:
    """With `verify=False` nothing is learned, and the call is the server's to answer."""
    with running(KitchenEnvironment) as server:
        assert played(adapter_of(server, verify=False), task_index=0) == "The oven is at 200 °C."
        assert QUESTION not in server.paths()


def test_each_task_is_asked_about_once() -> None:
    """A group plays its task many times. The question belongs to a task of a split, or to the task itself."""
    with running(KitchenEnvironment) as server:
        factory = OpenRewardSpec(Kitchen, base_url=server.url).environment_factory
        for _ in range(4):
            assert played(factory(), task_index=0) == REFUSED
            assert played(factory(), task_index=2) == "The oven is at 200 °C."
        assert server.paths().count(QUESTION) == 2
        assert played(factory(), task_index=0, split="test") == REFUSED
        assert server.paths().count(QUESTION) == 3
        own = {"id": "own", "dish": "risotto", "cuisine": "italian", "minutes": 60}
        for oven in (True, False, True, False):
            assert (played(factory(), task_spec={**own, "oven": oven}) == REFUSED) is not oven
        assert server.paths().count(QUESTION) == 5


def test_sessions_that_open_at_the_same_time_wait_for_one_answer() -> None:
    """As those of a group do, whose prompts stand in the dataset. No session is open before its tools are known."""
    with running(KitchenEnvironment, latency=0.02) as server:
        plan = OpenRewardSpec(Kitchen, base_url=server.url)._plan
        group = [plan.open(plan.task(0)) for _ in range(8)]
        for session in group:
            session.prompt()
            assert session._offered is not None and "preheat_oven" not in session._offered
            session.close_soon()
        assert server.paths().count(QUESTION) == 1
        close_sessions()


def test_a_session_that_breaks_off_leaves_the_question_to_the_next() -> None:
    """Those that waited for its answer ask themselves."""
    with running(KitchenEnvironment, latency=0.05) as server:
        plan = OpenRewardSpec(Kitchen, base_url=server.url)._plan
        first, second = (plan.open(plan.task(0)) for _ in range(2))
        while QUESTION not in server.paths():
            time.sleep(0.005)
        first.close_soon()
        second.prompt()
        assert second._offered == {"convert", "read_recipe", "search-recipes", "serve_dish"}
        second.close_soon()
        close_sessions()


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that was forgotten is asked about again."""
    monkeypatch.setattr(agreements, "REMEMBERED", 2)
    with running(KitchenEnvironment) as server:
        rollout = adapter_of(server)
        for index in (0, 1, 2, 0):
            played(rollout, task_index=index)
        assert server.paths().count(QUESTION) == 4
        assert len(rollout._plan.agreement._offered) == 2


def test_an_agreement_goes_to_other_processes_without_what_it_learned() -> None:
    """There it learns anew: its locks belong to this process."""
    with running(KitchenEnvironment) as server:
        factory = OpenRewardSpec(Kitchen, base_url=server.url).environment_factory
        played(factory(), task_index=0)
        there = pickle.loads(pickle.dumps(factory))
        assert played(there(), task_index=0) == REFUSED
        assert server.paths().count(QUESTION) == 2


def test_the_question_costs_no_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked together with the prompt."""
    monkeypatch.setattr(limits, "PING_EVERY", 60)
    with running(KitchenEnvironment, latency=0.2) as server:
        taken = []
        for verify in (False, True):
            rollout = adapter_of(server, verify=verify)
            began = time.perf_counter()
            rollout.reset()
            taken.append(time.perf_counter() - began)
            rollout._close()
        assert taken[1] < taken[0] + 0.15
        close_sessions()


@pytest.mark.parametrize("status", [404, 403])
def test_a_server_that_does_not_answer_the_question(status: int, caplog: pytest.LogCaptureFixture) -> None:
    """Calls go to it as they are, and one warning says so."""
    app = Server([KitchenEnvironment]).app
    with serving_application(answering({"/kitchen/task_tools": status}, app)) as server:
        rollout = adapter_of(server)
        for index in (0, 1, 0):
            assert played(rollout, task_index=index) == "The oven is at 200 °C."
        assert server.paths().count(QUESTION) == 2
        close_sessions()
    assert caplog.text.count("The tools were not verified") == 1


MALFORMED_LISTINGS = {
    b"null": "it is null, which is not an object",
    b"3": "it is 3, which is not an object",
    b'{"tools": null}': "tools is null, which is not a list",
    b'{"tools": {"oven": {}}}': "tools is an object, which is not a list",
    b'{"tools": [{"name": "oven"}, null]}': "tools[1] is null, which is not an object",
    b'{"tools": [{"name": 7}]}': "tools[0].name is 7, which is not text",
}


@pytest.mark.parametrize("listing", MALFORMED_LISTINGS)
def test_an_answer_that_lists_nothing_is_not_a_list_of_no_tools(listing: bytes) -> None:
    """No tool is gone: the answer is malformed, and the error says where. Nothing stays open."""
    with serving_application(answering({"/kitchen/task_tools": listing}, Server([KitchenEnvironment]).app)) as server:
        with pytest.raises(SessionError) as raised:
            adapter_of(server).reset()
        assert f"the answer to /task_tools is malformed: {MALFORMED_LISTINGS[listing]}. " in str(raised.value)
        assert server.paths().count("POST /create") == server.paths().count("POST /delete") == 1


def test_what_a_session_takes_calls_to() -> None:
    """What it lists, and the terminal tool, which may stand nowhere."""
    assert agreements.offered_tools(adapters.Echo, []) == set()
    assert agreements.offered_tools(adapters.Quiz, []) == {"submit"}


def test_a_bare_list_of_tools_is_understood() -> None:
    """As in generation: some servers answer without the object around it."""
    listing = b'[{"name": "echo"}]'
    with serving_application(answering({"/echo/task_tools": listing}, Server([EchoEnvironment]).app)) as server:
        rollout = adapter_of(server, adapters.Echo)
        rollout.reset()
        assert "does not offer it" in rollout.wait(seconds=0)
        assert rollout.echo(text="word0") == "match"


def test_the_terminal_tool_is_never_refused(server: RunningServer) -> None:
    """It is not listed among the tools; older servers do not list it anywhere."""
    rollout = adapter_of(server, adapters.Quiz)
    rollout.reset(task_index=2)
    rollout._take_message("4")
    assert rollout.reward == 1.0


def test_a_task_that_offers_nothing_that_the_model_knows() -> None:
    """There is nothing to name: a tool that the adapter lacks is none that the model could call."""
    with running(environment([spec("fly")], name="Echo")) as server:
        rollout = adapter_of(server, adapters.Echo)
        rollout.reset()
        assert rollout.echo(text="x") == (
            "Error: echo was not called: this task does not offer it. The task offers none of your tools."
        )
        rollout._close()


class Prize(EchoEnvironment):
    """One more tool, which no task of these tests lists, and which is rewarded."""

    @ors_tool(shared=False)
    async def cheat(self) -> ToolOutput:
        """Win without playing."""
        return reply("won", 1.0, finished=True)


class PrizeAdapter(adapters.Echo):
    """What was generated where another task offered `cheat`."""

    _environment = Environment(target="x:Prize", variant="prize")

    @tool
    def cheat(self) -> ToolResult:
        """Win without playing."""
        return self._call("cheat", {})


def test_no_reward_for_what_was_not_offered(tmp_path: Path) -> None:
    """In `GRPOTrainer`: the model hears no for an answer, and the episode goes on to the tool that is offered."""
    with running(Prize) as server:
        fair = OpenRewardSpec(PrizeAdapter, base_url=server.url, num_tasks=2)
        trainer = train(fair, turns(call("cheat", "{}"), call("echo", '{"text": "no"}')), tmp_path / "fair")
        assert logged(trainer, "reward") == 0.0
        assert [rollout.rewards for rollout in trainer.environments] == [[0.0]] * 4
        unfair = OpenRewardSpec(PrizeAdapter, base_url=server.url, num_tasks=2, verify=False)
        assert logged(train(unfair, turns(call("cheat", "{}")), tmp_path / "unfair"), "reward") == 1.0


def test_a_tool_of_the_built_in_toolset_is_offered(server: RunningServer) -> None:
    """Sessions list the tools of their toolset beside those of the environment."""
    rollout = adapter_of(server, adapters.Echo, toolset="codex")
    rollout.reset()
    assert rollout._call("bash", {"command": "echo hi"}).startswith("ran echo hi")
    assert "does not offer it" in rollout._call("fly", {})
    rollout._close()
