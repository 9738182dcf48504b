"""One rollout after the other through an adapter: what it sends, what it says, what it keeps."""

from __future__ import annotations

import concurrent.futures
import gc
import json
import pickle
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from PIL.Image import Image

from orl_codegen import OpenRewardSpec, combine
from orl_codegen.errors import RolloutError, SessionError, ToolError, UsageError
from orl_codegen.ors import limits
from orl_codegen.ors.outputs import CallRefused
from orl_codegen.runtime import UNSET, RolloutAdapter
from orl_codegen.sessions.loop import close_sessions
from orl_codegen.trl.rewards import last_reward
from tests.runtime import adapters
from tests.support.applications import answering
from tests.support.servers import RunningServer, dead_url, running, serving_application


def adapter_of(server: RunningServer, adapter: Any = adapters.Echo, **options: Any) -> Any:
    return OpenRewardSpec(adapter, base_url=server.url, **options).environment_factory()


def rewards_of(*rollouts: Any) -> list[float | None]:
    return last_reward(completions=[""] * len(rollouts), environments=rollouts)


def test_a_rollout_from_reset_to_reward(server: RunningServer) -> None:
    """The prompt comes from the session, the call is one request at the variant's own path, and the episode's end ends
    the session."""
    rollout = adapter_of(server)
    assert rollout.reset(task_index=3, word="from the dataset") == "Echo 'word3' to win."
    server.requests.clear()
    assert rollout.echo(text="word3") == "match"
    assert server.wait_for_sessions(0) == 0
    close_sessions()  # waits for the session that is closing
    assert server.paths() == ["POST /echo/call", "POST /delete", "POST /delete_session"]
    assert (rollout.reward, rollout.rewards, rollout.finished) == (1.0, [1.0], True)
    assert (rollout.metadata, rollout.last_output, rollout.failure) == ([{"length": 5}], "match", None)
    assert rewards_of(rollout) == [1.0]


def test_after_the_end_calls_are_answered_locally(server: RunningServer) -> None:
    """No request is made, and the reward stands."""
    rollout = adapter_of(server)
    rollout.reset()
    rollout.echo(text="wrong")
    server.wait_for_sessions(0)
    server.requests.clear()
    assert "finished" in rollout.echo(text="word0")
    assert (rollout.reward, rollout.rewards, server.requests) == (0.0, [0.0], [])
    assert rewards_of(rollout) == [0.0]


def test_reset_starts_afresh(server: RunningServer) -> None:
    """A second episode knows nothing of the first, whose session is closed in the background."""
    rollout = adapter_of(server)
    rollout.reset(task_index=0)
    rollout.step(number=1)
    rollout.reset(task_index=1)
    assert (rollout.reward, rollout.rewards, rollout.metadata, rollout.last_output) == (None, [], [], "")
    assert rollout.step(number=2) == "2"
    assert server.wait_for_sessions(1) == 1
    rollout._close()


def test_a_task_may_be_given_instead_of_its_index(server: RunningServer) -> None:
    """`task_spec` opens a session for a task that no split has."""
    rollout = adapter_of(server)
    assert rollout.reset(task_spec={"word": "custom"}) == "Echo 'custom' to win."
    rollout._close()


def test_a_call_before_reset_says_so(server: RunningServer) -> None:
    """It is a mistake of the program, not of the model."""
    with pytest.raises(RolloutError, match=r"Call reset\(\)"):
        adapter_of(server).echo(text="word0")


def test_what_is_left_out_is_left_out_of_the_input(server: RunningServer) -> None:
    """An unset argument is not sent; an explicit null is, and is refused here in the words of the model."""
    rollout = adapter_of(server, adapters.Riddle)
    rollout.reset()
    assert rollout.guess(number=1) == "noted"
    assert rollout.guess(number=1, why_so=UNSET) == "noted"
    refused = rollout.guess(number="many", why_so=None)
    assert refused == (
        "Error: guess was not called, its arguments are not valid: number: Input should be a valid integer, unable to "
        "parse string as an integer; why_so: Input should be a valid string."
    )
    assert (rollout.failure, rollout.finished, len(rollout.rewards)) == (None, False, 3)
    rollout._close()


def test_an_unknown_tool_and_an_odd_refusal_go_to_the_model_as_they_are() -> None:
    """Whatever the server's text looks like, it is passed on, and cut where it gets long."""
    from orl_codegen.runtime.refusals import explained

    assert (
        explained(adapters.Echo, "fly", CallRefused("'fly' is not a valid tool")) == "Error: 'fly' is not a valid tool"
    )
    nasty = "Tool input validation error: [" + "[" * 5000
    assert explained(adapters.Echo, "echo", CallRefused(nasty)).startswith("Error: Tool input validation error: [[[")
    assert len(explained(adapters.Echo, "echo", CallRefused(nasty))) < 2100


def test_a_score_without_completions(server: RunningServer) -> None:
    """As TRL's own tests ask for it. There is no last message, so a terminal tool is not called until there is one."""
    rollout = adapter_of(server)
    rollout.reset()
    rollout.echo(text="word0")
    quiz = adapter_of(server, adapters.Quiz)
    quiz.reset()
    server.requests.clear()
    assert last_reward(environments=[rollout, quiz]) == [1.0, None]
    assert "POST /quiz/call" not in server.paths()
    assert last_reward(environments=[quiz], completions=["nonsense"]) == [quiz.reward]
    assert "POST /quiz/call" in server.paths()


def test_a_later_call_without_a_reward_does_not_take_one_away(server: RunningServer) -> None:
    """Neither one that is unscored, nor one that is refused."""
    rollout = adapter_of(server)
    rollout.reset()
    rollout.step(number=1)
    rollout.wait(seconds=0)
    rollout.step(number="x")
    assert (rollout.reward, rollout.rewards) == (0.5, [0.5, None, None])
    assert rewards_of(rollout) == [0.5]
    rollout._close()


def test_a_negative_reward_is_a_score_and_no_reward_is_none(server: RunningServer) -> None:
    """None, never 0.0, stands for a rollout that nobody scored."""
    minus, unscored = adapter_of(server, adapters.MoodyEcho), adapter_of(server)
    minus.reset(task_index=6)
    minus.echo(text="hello")
    unscored.reset()
    unscored.wait(seconds=0)
    assert rewards_of(minus, unscored, object()) == [-1.0, None, None]
    minus._close(), unscored._close()


def test_a_reward_that_is_no_number_ends_the_rollout_unscored(server: RunningServer) -> None:
    """NaN would spread through the loss, and a rollout without the reward that it earned is told as failed."""
    rollout = adapter_of(server, adapters.MoodyEcho)
    rollout.reset(task_index=4)
    rollout.echo(text="hello")
    assert (rollout.reward, rollout.rewards) == (None, [])
    assert "output.reward is NaN, which is not a finite number" in rollout.failure
    logged: dict[str, float] = {}
    assert last_reward(environments=[rollout], log_metric=logged.__setitem__) == [None]
    assert (logged["environment/failed"], logged["environment/scored"]) == (1.0, 0.0)


def test_a_lost_session_ends_the_rollout_unscored(server: RunningServer) -> None:
    """The model is told; further calls are answered locally and leave no trace; nothing is left on the server."""
    rollout = adapter_of(server)
    rollout.reset()
    lose_sessions(server)
    assert "failed" in rollout.echo(text="hello")
    assert "HTTP 410" in rollout.failure
    server.requests.clear()
    assert "failed" in rollout.echo(text="hello")
    assert (server.requests, rollout.rewards, rewards_of(rollout)) == ([], [], [None])


def lose_sessions(server: RunningServer) -> None:
    """Have the server forget its sessions, as when it was started anew."""
    server.server._active_envs.clear()


@pytest.mark.parametrize(("drop", "reward"), [(False, 0.5), (True, None)])
def test_a_reward_from_before_a_failure(server: RunningServer, drop: bool, reward: float | None) -> None:
    """It counts, unless failed rollouts are to be dropped."""
    rollout = adapter_of(server, drop_failed_rollouts=drop)
    rollout.reset()
    rollout.step(number=1)
    lose_sessions(server)
    rollout.echo(text="hello")
    assert rollout.failure is not None
    assert rewards_of(rollout) == [reward]


def test_a_session_that_opens_at_the_second_attempt(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox that failed to come up once does not end the training."""
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.1)
    from tests.environments.echo import MoodyEcho

    MoodyEcho.opened = 0
    rollout = adapter_of(server, adapters.MoodyEcho)
    assert rollout.reset(task_index=2) == "Echo 'hello' to win."
    assert server.wait_for_sessions(1) == 1
    rollout._close()


def test_a_session_that_never_opens(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """After three attempts `reset` raises, and leaves nothing open."""
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.1)
    rollout = adapter_of(server, adapters.MoodyEcho)
    with pytest.raises(
        SessionError, match=r"moodyecho at .*could be opened: HTTP 500: .*no sandbox for you.*on_reset_failure"
    ):
        rollout.reset(task_index=1)
    assert server.paths().count("POST /create") == 3
    assert server.wait_for_sessions(0) == 0
    assert rollout.reset(task_index=0) == "Echo 'hello' to win."
    rollout._close()


def test_one_broken_sandbox_does_not_end_a_long_run(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `on_reset_failure="unscored"`, the rollout goes on without a session."""
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.1)
    rollout = adapter_of(server, adapters.MoodyEcho, on_reset_failure="unscored")
    assert "not available" in rollout.reset(task_index=1)
    assert "failed" in rollout.echo(text="hello")
    assert "on_reset_failure" not in rollout.failure, "no advice to do what has been done"
    assert rewards_of(rollout) == [None]
    assert rollout.reset(task_index=0) == "Echo 'hello' to win."
    rollout._close()


def test_a_task_that_does_not_exist_is_not_tried_again(server: RunningServer) -> None:
    """Asking again would not help, and the message says what the server said."""
    with pytest.raises(SessionError, match="Invalid index"):
        adapter_of(server).reset(task_index=10_000)
    assert server.paths().count("POST /create") == 1


def test_a_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the address, and what happened in place of how often it was tried."""
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.1)
    url = dead_url()
    with pytest.raises(SessionError, match=url.removeprefix("http://") + ".*cannot connect") as raised:
        OpenRewardSpec(adapters.Echo, base_url=url).environment_factory().reset()
    assert "retries" not in str(raised.value)


def test_a_server_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call fails, and `failure` says so."""
    from tests.environments.echo import Echo

    with running(Echo) as server:
        rollout = adapter_of(server)
        rollout.reset()
    assert "failed" in rollout.echo(text="word0")
    assert rollout.failure


def test_a_session_that_the_server_has_ended() -> None:
    """`failure` says what the server said, and not what the SDK makes of it."""
    from openreward.environments import Server

    from tests.environments.echo import Echo

    with serving_application(answering({"/echo/call": 410}, Server([Echo]).app)) as server:
        rollout = adapter_of(server)
        rollout.reset()
        rollout.echo(text="word0")
        rollout._close()
    assert rollout.failure.startswith("HTTP 410") and "None" not in rollout.failure


def test_a_session_outlives_the_reaper(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server forgets sessions that it has not heard of for a while; neither a thinking model nor a tool that takes
    longer than that loses its session."""
    from tests.environments.echo import Echo

    monkeypatch.setattr(limits, "PING_EVERY", 0.2)
    with running(Echo) as server:
        reap_after(server, 1.5)
        rollout = adapter_of(server)
        rollout.reset()
        assert rollout.wait(seconds=2.5) == "waited"
        time.sleep(2)
        assert rollout.echo(text="word0") == "match"
        silent = adapter_of(server)
        monkeypatch.setattr(limits, "PING_EVERY", 60)
        silent.reset()
        assert server.wait_for_sessions(0) == 0, "without pings, the reaper takes the session"
        silent.echo(text="word0")
        assert "HTTP 404" in silent.failure


def reap_after(server: RunningServer, seconds: float) -> None:
    """Delete what has not been heard of for so long, as the server's own reaper does after 900 s."""
    import asyncio
    import threading

    from openreward.environments.server import _delete_session

    app = server.server

    def reap() -> None:
        while True:
            time.sleep(0.1)
            for sid, heard in list(app._last_ping.items()):
                if time.monotonic() - heard > seconds:
                    state = (app._active_envs, app._active_toolsets, app._last_ping)
                    setup = (app._setup_tasks, app._ready, app._setup_errors)
                    asyncio.run(_delete_session(sid, *state, *setup))

    threading.Thread(target=reap, daemon=True).start()


def test_calls_on_one_session_stay_in_order(server: RunningServer) -> None:
    """From several threads, though the tool itself would let them overtake each other."""
    rollout = adapter_of(server)
    rollout.reset()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for number in range(8):
            pool.submit(rollout.step, number=number)
            while len(rollout.rewards) + len(rollout._turns._waiting) <= number:
                time.sleep(0.001)
    assert rollout.last_output == "0 1 2 3 4 5 6 7"
    assert rollout.rewards == [0.5] * 8
    rollout._close()


def test_many_rollouts_in_a_thread_pool(server: RunningServer) -> None:
    """As in `AsyncGRPOTrainer`: reset, calls and rewards of many rollouts at once."""
    factory = OpenRewardSpec(adapters.Echo, base_url=server.url).environment_factory

    def play(index: int) -> float | None:
        rollout = factory()
        rollout.reset(task_index=index)
        rollout.step(number=index)
        rollout.echo(text=f"word{index}")
        return rollout.reward

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert list(pool.map(play, range(48))) == [1.0] * 48


def test_closing_while_a_call_is_under_way(server: RunningServer) -> None:
    """`_close` ends the session at once; the call in the other thread comes back as failed."""
    rollout = adapter_of(server)
    rollout.reset()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        call = pool.submit(rollout.wait, seconds=3)
        time.sleep(0.3)
        began = time.monotonic()
        rollout._close()
        assert "failed" in call.result(2)
        assert time.monotonic() - began < 1


def test_an_adapter_that_nobody_holds_closes_its_session(server: RunningServer) -> None:
    """A trainer that is thrown away takes its sessions with it."""
    adapter_of(server).reset()
    gc.collect()
    assert server.wait_for_sessions(0) == 0


def test_images_for_vision_models(server: RunningServer) -> None:
    """`"pil"`: blocks with PIL images, the broken one as text; what passes through `str()` is text."""
    rollout = adapter_of(server, adapters.Gallery, images="pil")
    prompt = rollout.reset(task_index=1)
    assert [part["type"] for part in prompt] == ["text", "image", "text"]
    assert prompt[1]["image"].getpixel((0, 0)) == (255, 0, 0)
    result = rollout.look()
    assert isinstance(result, list) and isinstance(result[1]["image"], Image)
    assert str(result) == "green\n[image]\n[an image that cannot be shown: UnidentifiedImageError]"
    assert rollout.reset(task_index=0) == "Look:\nWhat do you see?"
    rollout._close()


@pytest.mark.parametrize(
    ("images", "prompt", "result"),
    [
        (
            "placeholder",
            "Look:\n[image: image/png]\nWhat do you see?",
            r"green\n[image: image/png]\n[image: image/png\x1b[31m]",
        ),
        ("drop", "Look:\nWhat do you see?", "green"),
    ],
)
def test_images_for_text_models(server: RunningServer, images: str, prompt: str, result: str) -> None:
    """A line of text that cannot reach a terminal as an escape, or nothing; never base64."""
    rollout = adapter_of(server, adapters.Gallery, images=images)
    assert rollout.reset(task_index=1) == prompt
    assert rollout.look() == result.replace(r"\n", "\n")
    assert rollout.nothing() == "(no output)"
    rollout._close()


def test_the_factory_pickles_and_shows_no_secret(server: RunningServer) -> None:
    """What comes out opens sessions with the same secrets; no repr shows them."""
    spec = OpenRewardSpec(adapters.Vault, base_url=server.url, secrets={"TOKEN": "hush-hush"}, api_key="top-secret")
    factory = pickle.loads(pickle.dumps(spec.environment_factory))
    rollout = factory()
    assert rollout.reset() == "Keys: ['OPENREWARD_API_KEY', 'TOKEN', 'api_key']"
    assert "('TOKEN', '***')" in rollout.tell()
    for shown in map(repr, (spec, spec._plan, factory, rollout, rollout._session, spec.reward_funcs)):
        assert "hush" not in shown and "top-secret" not in shown
    rollout._close()
    assert "hunter2" not in repr(OpenRewardSpec(adapters.Echo, base_url="http://ada:hunter2@127.0.0.1:1")._plan)


def test_no_error_quotes_a_secret(
    server: RunningServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An environment that repeats its secrets in an exception does not get them into our messages."""
    import traceback

    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.1)
    caplog.set_level("DEBUG")
    spec = OpenRewardSpec(adapters.Vault, base_url=server.url, secrets={"TOKEN": "hush-hush"})
    rollout = spec.environment_factory()
    rollout.reset()
    with pytest.raises(ToolError) as told:
        rollout.trip()
    rollout._close()
    assert "***" in str(told.value) and "hush" not in str(told.value)
    failing = OpenRewardSpec(adapters.Vault, base_url=server.url, secrets={"fail": "hush-hush"}, api_key="top-secret")
    with pytest.raises(SessionError) as caught:
        failing.environment_factory().reset()
    error: BaseException | None = caught.value
    ours = [record for record in caplog.records if record.name.startswith(("orl_codegen", "openreward-", "asyncio"))]
    shown = "".join(traceback.format_exception(caught.value)) + "".join(record.getMessage() for record in ours)
    while error is not None:
        shown += repr(error)
        error = error.__cause__ or error.__context__
    assert "***" in shown and "hush" not in shown and "top-secret" not in shown


@pytest.mark.parametrize("secret", ['p\u00e4ss"w\u00f6rd', "it's\\so\n", '"a\'b"', "\U0001f511/+ ="])
@pytest.mark.parametrize("quoted", [str, repr, json.dumps, partial(json.dumps, ensure_ascii=False), quote, quote_plus])
def test_a_secret_is_found_however_it_is_quoted(secret: str, quoted: Callable[[str], str]) -> None:
    """As it is, as Python, JSON or a URL spells it, and in text that was quoted once more."""
    there = OpenRewardSpec(adapters.Vault, base_url="http://127.0.0.1:1", secrets={"TOKEN": secret})._plan.endpoint
    for text in (quoted(secret), repr({"key": quoted(secret)}), json.dumps(repr(quoted(secret)))):
        assert not set(there.redacted(text)) - set("*\"'\\ {key:}")


def test_an_exception_shows_no_secret_with_quotes_in_it(server: RunningServer) -> None:
    """The environment's own message holds its repr."""
    secret = 'p\u00e4ss"w\u00f6rd\\\n'
    rollout = adapter_of(server, adapters.Vault, secrets={"TOKEN": secret})
    rollout.reset()
    with pytest.raises(ToolError, match=re.escape("{'TOKEN': '***'}")):
        rollout.trip()
    rollout._close()


def test_a_built_in_toolset(server: RunningServer) -> None:
    """The session is opened with it, and its tools answer beside those of the environment."""
    rollout = adapter_of(server, toolset="codex")
    rollout.reset()
    assert rollout._call("bash", {"command": "echo hi"}) == "ran echo hi\n\n(exit 0)"
    assert rollout.reward == 0.0
    rollout._close()


def test_arguments_that_are_not_understood() -> None:
    """Each with what to pass instead."""
    url = "http://127.0.0.1:1"
    with pytest.raises(UsageError, match="takes a generated class, not 'Owner/Name'"):
        OpenRewardSpec("Owner/Name")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"takes a generated class, not .*RolloutAdapter"):
        OpenRewardSpec(RolloutAdapter, base_url=url)
    with pytest.raises(UsageError, match=r"takes specs, not .*Echo.*combine\({'a': OpenRewardSpec"):
        combine({"a": adapters.Echo})  # type: ignore[dict-item]
    for options, expected in [
        ({"num_tasks": 3, "indices": [1]}, "num_tasks or indices, not both"),
        ({"num_tasks": 0}, "1 or more"),
        ({"indices": []}, "one at least"),
        ({"indices": [3, -1]}, "none below 0"),
        ({"prompts": "databse"}, '"session" or "dataset"'),
        ({"images": "png"}, '"pil" or "placeholder" or "drop"'),
        ({"on_reset_failure": "ignore"}, '"raise" or "unscored"'),
        ({"base_url": "localhost:8080"}, "localhost:8080 is not the URL of a server. Write scheme"),
        ({"base_url": "ftp://u:hush@x"}, "^x is not the URL"),
        ({"base_url": "http://"}, "is not the URL"),
        ({"base_url": "http://u:hush@x:port"}, "^x:port is not the URL"),
        ({"base_url": "http://x?token=hush"}, "is not the URL"),
        ({"secrets": {"TOKEN": 123}}, "secret TOKEN is not text"),
        ({"secrets": {"TOKEN": None}}, "secret TOKEN is not text"),
        ({"secrets": {"TOKEN": ("hush",)}}, "secret TOKEN is not text"),
        ({"secrets": {"TOKEN": ("hush", "example.org")}}, "secret TOKEN is not text"),
        ({"secrets": [("TOKEN", "hush")]}, "not a mapping"),
    ]:
        with pytest.raises(UsageError, match=expected) as raised:
            OpenRewardSpec(adapters.Echo, **{"base_url": url, **options})  # type: ignore[arg-type]
        assert "hush" not in str(raised.value) and "123" not in str(raised.value)
