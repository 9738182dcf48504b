"""Rollouts in loops that are not TRL's."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orl_codegen import Episode, OpenRewardSpec
from orl_codegen.errors import SessionError
from orl_codegen.runtime import ToolResult, tool
from tests.runtime.adapters import Echo, Gallery, MoodyEcho, Quiz, Riddle
from tests.support.servers import RunningServer

UNKNOWN = "{'error': 'Tool shout not found.'}"
WRONG = "{'error': 'echo was not called, its arguments are not valid: text: missing. Required: text.'}"
NO_OBJECT = "{'error': 'The arguments of a call have to be a JSON object.'}"


def test_a_rollout_from_its_prompt_to_its_reward(server: RunningServer) -> None:
    """Calls are made by wire name, with an object or its JSON, and stand in `calls` in order."""
    with Episode(OpenRewardSpec(Echo, base_url=server.url)) as episode:
        prompt = episode.reset(task_index=0)
        word = str(prompt).split("'")[1]
        assert episode.call("step", {"number": 3}) == "3"
        assert episode.call("echo", json.dumps({"text": word})) == "match"
        assert episode.score("done") == 1.0
    assert [(call.name, call.result, call.problem) for call in episode.calls] == [
        ("step", "3", None),
        ("echo", "match", None),
    ]
    assert (episode.adapter.rewards, episode.adapter.finished) == ([0.5, 1.0], True)


async def _played(spec: OpenRewardSpec[Any], index: int) -> list[Any]:
    async with Episode(spec) as episode:
        prompt = await episode.areset(task_index=index)
        results = [await episode.acall("step", {"number": index}), await episode.acall("echo", {"text": "x"})]
        return [prompt, *results, await episode.ascore(), episode.calls]


def test_both_forms_tell_the_same(server: RunningServer) -> None:
    """Prompt, results, reward and calls of the asynchronous form are those of the synchronous one."""
    spec = OpenRewardSpec(Echo, base_url=server.url)
    with Episode(spec) as episode:
        prompt = episode.reset(task_index=5)
        told = [prompt, episode.call("step", {"number": 5}), episode.call("echo", {"text": "x"}), episode.score()]
    assert asyncio.run(_played(spec, 5)) == [*told, episode.calls]


def test_many_episodes_share_a_loop(server: RunningServer) -> None:
    """Those that wait for the server let the others go on, also where only some of them may have a session."""
    spec = OpenRewardSpec(Echo, base_url=server.url, max_sessions=8)

    async def one(index: int) -> ToolResult:
        async with Episode(spec) as episode:
            await episode.areset(task_index=index)
            return await episode.acall("wait", {"seconds": 0.2})

    async def all_of_them() -> list[ToolResult]:
        return await asyncio.gather(*map(one, range(16)))

    began = time.monotonic()
    assert asyncio.run(all_of_them()) == ["waited"] * 16
    assert time.monotonic() - began < 16 * 0.2


@pytest.mark.parametrize(
    ("name", "arguments", "told", "problem"),
    [
        ("shout", {}, UNKNOWN, "unknown_tool"),
        ("echo", {}, WRONG, "wrong_arguments"),
        ("echo", "not json", NO_OBJECT, "wrong_arguments"),
        ("echo", "[1]", NO_OBJECT, "wrong_arguments"),
        ("echo", "[" * 100_000, NO_OBJECT, "wrong_arguments"),
        ("step", {"number": "many"}, None, "input_validation"),
    ],
)
def test_calls_that_cannot_be_made_are_told(
    server: RunningServer, name: str, arguments: Any, told: str | None, problem: str
) -> None:
    """In the words of TRL's trainers, in both forms, and with the reason."""
    spec = OpenRewardSpec(Echo, base_url=server.url)
    with Episode(spec) as episode:
        episode.reset(task_index=0)
        results = [episode.call(name, arguments), asyncio.run(episode.acall(name, arguments))]
        assert results[0] == results[1] == episode.calls[0].result
        assert told is None or results[0] == told
        assert [call.problem for call in episode.calls] == [problem, problem]


def test_after_the_end_nothing_is_carried_out(server: RunningServer) -> None:
    """The model is told so, and the reward stands."""
    with Episode(OpenRewardSpec(Echo, base_url=server.url)) as episode:
        episode.reset(task_index=0)
        episode.call("echo", {"text": "x"})
        assert "has finished" in str(episode.call("step", {"number": 1}))
        assert episode.score() == 0.0
        assert [call.problem for call in episode.calls] == [None, "episode_finished"]


def test_an_exception_in_a_tool_is_told(server: RunningServer) -> None:
    """The episode goes on."""
    with Episode(OpenRewardSpec(MoodyEcho, base_url=server.url)) as episode:
        episode.reset(task_index=3)
        told = str(episode.call("echo", {"text": "x"}))
        assert told.startswith("{'error': 'echo failed") and episode.calls[0].problem == "tool_raised"
        assert episode.call("step", {"number": 1}) == "1"


def test_the_last_message_goes_to_the_terminal_tool(server: RunningServer) -> None:
    """In both forms; without it, an environment with a terminal tool has no reward to give."""
    spec = OpenRewardSpec(Quiz, base_url=server.url)
    task = spec.tasks[0][1]

    async def answered() -> float | None:
        async with Episode(spec) as episode:
            await episode.areset(task_index=0)
            return await episode.ascore(task["answer"])

    with Episode(spec) as episode:
        episode.reset(task_index=0)
        assert episode.score("I do not know") == 0.0
    assert asyncio.run(answered()) == 1.0


def test_wire_keys_and_python_names_are_taken(server: RunningServer) -> None:
    """The model is shown the Python name where the key is not an identifier; either reaches the tool."""
    with Episode(OpenRewardSpec(Riddle, base_url=server.url)) as episode:
        episode.reset(task_index=0)
        assert episode.call("guess", {"number": 1, "why-so": "a"}) == "noted"
        assert episode.call("guess", {"number": 2, "why_so": "b"}) == "noted"
        assert episode.score() == 3.0


def test_pictures_come_as_blocks(server: RunningServer) -> None:
    """As TRL takes them."""
    with Episode(OpenRewardSpec(Gallery, base_url=server.url, images="pil")) as episode:
        episode.reset(task_index=1)
        result = episode.call("look", {})
        assert isinstance(result, list) and [block["type"] for block in result] == ["text", "image", "text"]


class Loud(Echo):
    """A tool that works on the result of the one that was generated."""

    @tool("echo")
    def echo(self, *, text: str) -> ToolResult:
        """Submit a string, loudly.

        Args:
            text: The string.
        """
        return str(super().echo(text=text)).upper()


def test_a_method_that_overrides_a_tool_waits_for_its_result(server: RunningServer) -> None:
    """It is given what the environment answered, in both forms, and its own result is told."""
    for play in (Episode.call, lambda *call: asyncio.run(Episode.acall(*call))):
        with Episode(OpenRewardSpec(Loud, base_url=server.url)) as episode:
            episode.reset(task_index=0)
            assert play(episode, "echo", {"text": "x"}) == "NO MATCH"


def test_an_episode_that_is_cancelled_leaves_nothing(server: RunningServer, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither a session nor a complaint, wherever it is cancelled; and the next rollout begins as usual."""
    spec = OpenRewardSpec(Echo, base_url=server.url)
    episode = Episode(spec)

    async def cut_off() -> None:
        await episode.areset(task_index=0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await episode.acall("wait", {"seconds": 30})
        assert server.wait_for_sessions(0) == 0
        opening = asyncio.ensure_future(episode.areset(task_index=1))
        await asyncio.sleep(0)
        opening.cancel()
        await asyncio.wait([opening])
        await episode.areset(task_index=2)
        assert await episode.acall("step", {"number": 7}) == "7"

    asyncio.run(cut_off())
    episode.close()
    assert server.wait_for_sessions(0) == 0
    assert capfd.readouterr().err == ""


def test_a_session_that_does_not_open_raises(server: RunningServer) -> None:
    """With the environment's reason; this is not for the model."""
    with pytest.raises(SessionError, match="no sandbox for you"):
        asyncio.run(_played(OpenRewardSpec(MoodyEcho, base_url=server.url), 1))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.text() | st.sampled_from(["echo", "step"]), arguments=st.text() | st.dictionaries(st.text(), st.none()))
def test_whatever_a_model_writes_is_answered(server: RunningServer, name: str, arguments: Any) -> None:
    """Any name and any arguments come to a text for the model, and to an entry of `calls`."""
    episode = _one_episode(server)
    assert isinstance(episode.call(name, arguments), str)
    assert (episode.calls[-1].name, episode.calls[-1].arguments) == (name, arguments)
    episode.close()


def _one_episode(server: RunningServer) -> Episode[Echo]:
    episode = Episode(OpenRewardSpec(Echo, base_url=server.url, verify=False))
    episode.reset(task_index=0)
    return episode
