"""Sessions with servers that redirect, fall silent or answer oddly, and sessions that are over."""

from __future__ import annotations

import _thread
import asyncio
import gc
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from openreward.environments import Server

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import ServerError, SessionError
from orl_codegen.generator.options import Options
from orl_codegen.generator.target import parse_target
from orl_codegen.ors import limits
from orl_codegen.sessions import loop
from orl_codegen.sessions.turns import Turns
from tests.environments.echo import Echo
from tests.runtime import adapters
from tests.support.applications import answering, hanging
from tests.support.discovery import take_snapshot
from tests.support.servers import Application, RunningServer, serving_application


def spec_of(server: RunningServer, **options: Any) -> OpenRewardSpec:
    return OpenRewardSpec(adapters.Echo, base_url=server.url, **options)


def opened(server: RunningServer, **options: Any) -> Any:
    """An adapter with an open session."""
    rollout = spec_of(server, **options).environment_factory()
    rollout.reset(task_index=0)
    return rollout


def echo_server() -> Application:
    app: Application = Server([Echo]).app
    return app


def redirecting(path: str, to: str, otherwise: Application) -> Application:
    """Send requests for a path to another host."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope.get("path") != path:
            await otherwise(scope, receive, send)
            return
        headers = [(b"location", (to + path).encode())]
        await send({"type": "http.response.start", "status": 307, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    return application


def ending_with(**answer: Any) -> bytes:
    """An event stream that ends with an answer to a call."""
    return f"event: end\ndata: {json.dumps({'ok': True, 'output': {'blocks': [], **answer}})}\n\n".encode()


@pytest.fixture
def short_of_patience(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An event loop of its own, where everything that waits for an answer waits for less than a second."""
    for name in ("ANSWER_WITHIN", "CLOSE_WITHIN"):
        monkeypatch.setattr(limits, name, 0.2)
    monkeypatch.setattr(limits, "PING_EVERY", 0.1)
    monkeypatch.setattr(loop._process, "loop", None)
    yield
    loop.close_sessions(for_good=True)


@pytest.mark.parametrize("path", ["/echo/task_range", "/create_session", "/create", "/echo/call"])
def test_no_request_follows_a_redirect(path: str) -> None:
    """It would take the key and the secrets to another host; the error says where it leads."""
    with (
        serving_application(answering({})) as elsewhere,
        serving_application(redirecting(path, elsewhere.url, echo_server())) as server,
    ):
        spec = spec_of(server, api_key="key-of-mine", secrets={"TOKEN": "hush"})
        rollout: Any = spec.environment_factory()
        try:
            assert len(spec.train_dataset) == 100
            rollout.reset(task_index=0)
            rollout.echo(text="word0")
            message = rollout.failure
        except (ServerError, SessionError) as error:
            message = str(error)
        assert f"HTTP 307: a redirect to {elsewhere.url}{path}, which is not followed" in message
        assert elsewhere.requests == []
        rollout._close()


def test_the_sessions_of_discovery_follow_no_redirect() -> None:
    """The SDK's own client opens them."""
    with (
        serving_application(answering({})) as elsewhere,
        serving_application(redirecting("/create_session", elsewhere.url, echo_server())) as server,
    ):
        with pytest.raises(ServerError, match=r"redirect to .* which is not followed"):
            take_snapshot(parse_target(server.url), Options())
        assert elsewhere.requests == []


@pytest.mark.parametrize("path", ["/create", "/echo/prompt", "/echo/call"])
def test_a_server_that_falls_silent_while_the_environment_works(short_of_patience: None, path: str) -> None:
    """Such a request may take minutes, but not where pings have no answer either."""
    with serving_application(hanging((path, "/ping"), echo_server())) as server:
        began = time.monotonic()
        try:
            rollout = opened(server)
            rollout.echo(text="word0")
            message = rollout.failure
        except SessionError as error:
            message = str(error)
        assert time.monotonic() - began < 5
        assert "did not answer 5 pings in a row. The last one: the server did not answer within 0.1 seconds" in message


def test_a_session_that_is_still_being_created_is_not_lost(short_of_patience: None) -> None:
    """The server does not know it yet, and says so: that is an answer."""
    app = echo_server()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        if scope.get("path") == "/create":
            await asyncio.sleep(1.5)  # longer than five pings
        await app(scope, receive, send)

    with serving_application(slow) as server:
        rollout = opened(server)
        assert rollout.echo(text="word0") == "match"
        assert server.paths().count("POST /ping") >= 5


def test_a_silent_server_is_not_waited_for(short_of_patience: None) -> None:
    """Neither for the tasks, nor when a session closes."""
    with (
        serving_application(hanging()) as server,
        pytest.raises(ServerError, match="the server did not answer within"),
    ):
        _ = spec_of(server).train_dataset
    with serving_application(hanging(("/delete", "/delete_session"), echo_server())) as server:
        opened(server)._close()
        began = time.monotonic()
        loop.close_sessions()
        assert time.monotonic() - began < 1
        assert not loop.event_loop().opened


def test_a_call_on_a_closed_session(server: RunningServer) -> None:
    """After a SIGTERM that the process survives, say: the rollout has failed, and the server is not asked."""
    rollout = opened(server)
    loop.close_sessions()
    asked = len(server.requests)
    assert rollout.echo(text="word0") == "The environment has failed and takes no more calls."
    assert rollout.failure.startswith("The session was closed")
    assert len(server.requests) == asked
    rollout.reset(task_index=1)
    assert rollout.echo(text="word1") == "match"


def test_only_what_the_model_wrote_is_its_mistake(server: RunningServer) -> None:
    """The server refuses a body with 422. A 400 is about something that is not the model's: the session has failed."""
    rollout = opened(server, verify=False)  # otherwise a tool of this name is not even asked for
    assert "HTTP 422" in rollout._call(None, {})
    assert rollout.failure is None
    rollout._close()
    with serving_application(answering({"/echo/call": 400}, echo_server())) as odd:
        rollout = opened(odd)
        rollout.echo(text="word0")
        assert "HTTP 400" in rollout.failure


@pytest.mark.parametrize("reward", [10**400, -(10**400), "hush", "1.0", float("inf"), True, [1.0]])
def test_a_reward_that_is_no_finite_number(reward: Any) -> None:
    """The call has failed, which `failure` says; nobody guesses a reward."""
    with serving_application(answering({"/echo/call": ending_with(reward=reward)}, echo_server())) as server:
        rollout = opened(server, secrets={"TOKEN": "hush"})
        assert "failed" in rollout.echo(text="word0")
        assert (rollout.rewards, rollout.reward) == ([], None)
        assert "output.reward is " in rollout.failure and "is not a finite number" in rollout.failure
        assert "hush" not in rollout.failure and len(rollout.failure) < 300
        rollout._close()


@pytest.mark.parametrize("answer", ["hush", {"ok": True, "output": {"key": "hush"}}])
def test_an_odd_answer_is_quoted_without_the_secret_in_it(answer: Any) -> None:
    """What the server sent in place of an output."""
    body = f"event: end\ndata: {json.dumps(answer)}\n\n".encode()
    with serving_application(answering({"/echo/call": body}, echo_server())) as server:
        rollout = opened(server, secrets={"TOKEN": "hush"})
        rollout.echo(text="word0")
        assert rollout.failure.startswith("the answer to /call is malformed: ") and "hush" not in rollout.failure


def test_an_interrupted_thread_gives_up_its_turn() -> None:
    """Ctrl-C while the main thread waits: whoever comes later still gets the turn."""
    turns, order = Turns(), []

    def hold(seconds: float) -> None:
        with turns:
            time.sleep(seconds)
            order.append(seconds)

    first, last = (threading.Thread(target=hold, args=(seconds,), daemon=True) for seconds in (0.6, 0.0))
    first.start()
    time.sleep(0.1)
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt), turns:
        order.append(-1)
    last.start()
    last.join(5)
    assert order == [0.6, 0.0]


def test_openings_that_are_given_up_leave_no_complaint_of_asyncio(caplog: pytest.LogCaptureFixture) -> None:
    """After the first error the others are broken off; nobody waits for how they end, and nothing is logged of it."""
    app, created = echo_server(), 0

    async def refusing_one(scope: Any, receive: Any, send: Any) -> None:
        nonlocal created
        if scope.get("path") == "/create":
            created += 1
            if created == 4:
                await send({"type": "http.response.start", "status": 400, "headers": []})
                await send({"type": "http.response.body", "body": b"no"})
                return
        if scope.get("path") == "/echo/messages":
            await asyncio.sleep(0.5)
        await app(scope, receive, send)

    with serving_application(refusing_one) as server:
        with pytest.raises(SessionError, match="HTTP 400"):
            _ = spec_of(server, prompts="dataset", num_tasks=4).train_dataset
        time.sleep(0.7)
    gc.collect()
    assert "never retrieved" not in caplog.text
