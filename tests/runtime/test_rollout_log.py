"""`log_rollouts=`: what reaches the platform is what the SDK would send, and no rollout suffers for it."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from openreward import OpenReward
from openreward.api.rollouts.serializers.base import AssistantMessage, ToolCall, ToolResult, UserMessage
from openreward.environments import Server
from openreward.models import RolloutInfo, RunInfo

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import SessionError, UsageError
from orl_codegen.ors import limits
from orl_codegen.ors.rollout_events import RUN_INFO, storable
from orl_codegen.ors.transport import Pool
from orl_codegen.sessions.loop import close_sessions
from tests.environments.answers import Contest, Quiz
from tests.environments.echo import Echo, MoodyEcho
from tests.environments.pictures import Dialogue
from tests.environments.vault import Vault
from tests.runtime import adapters
from tests.support.applications import answering
from tests.support.platform import KEY, Platform, platform
from tests.support.servers import dead_url, serving_application

ROOT = Path(__file__).parents[2]
HOME = "/v1/environments/Owner/Name"
KNOWN = {
    "/v1/rollouts": {},
    HOME: {"id": "environment-7"},
    f"{HOME}/variants": [{"name": "other", "id": "v0"}, {"name": "echo", "id": "v1"}],
}
WIRE = {"environment": "Owner/Name", "variant": "echo", "split": "train"}


def of_catalog(adapter: type[Any], variant: str) -> type[Any]:
    facts = adapter._environment._replace(target="Owner/Name", variant=variant)
    return type(adapter.__name__, (adapter,), {"_environment": facts})


@pytest.fixture
def there() -> Iterator[Platform]:
    """The platform, with several environments behind `Owner/Name`; nothing is open there when a test ends."""
    with platform(Echo, MoodyEcho, Quiz, Contest, Dialogue, Vault, answers=KNOWN) as there:
        yield there
        close_sessions()
        assert there.server.wait_for_sessions(0) == 0


def logged(there: Platform, kind: str | None = None) -> list[Any]:
    """The events that were uploaded, once all of them are."""
    close_sessions()
    return [event for event in there.events() if kind in (None, event["eventType"])]


def said(there: Platform) -> list[tuple[str, str]]:
    return [(event["type"], event["content"]) for event in logged(there, "message")]


def play(spec: OpenRewardSpec[Any], index: int = 1, word: str = "word1") -> Any:
    rollout = spec.environment_factory()
    rollout.reset(task_index=index)
    rollout.step(number=3)
    rollout.echo(text=word)
    return rollout


def normal(events: list[Any]) -> list[Any]:
    """Events whose ids and times, which differ each time, are replaced by their types; ids by their order."""
    ids: dict[str, int] = {}
    shown = []
    for event in events:
        named = {
            key: ids.setdefault(event[key], len(ids)) for key in ("eventId", "rolloutEventId", "callId") if key in event
        }
        shown.append(event | named | {"timestamp": type(event["timestamp"]).__name__})
    return shown


def test_the_requests_are_those_of_the_sdk(there: Platform) -> None:
    """Its client logs the same rollout: the same routes, key, events, fields and values, and the rollout begins in a
    request before its messages."""
    info = RunInfo(model_name="m", training_stage="rl", lr=1e-6)
    with OpenReward(run_info=info) as client:
        metadata = {"contract": "sha256:0"}
        theirs = client.rollout.create(run_name="run", metadata=metadata, **WIRE)  # type: ignore[arg-type]
        theirs.log(UserMessage("Echo 'word1' to win."), rollout_info=RolloutInfo(task_index=1))
        theirs.log(ToolCall("step", '{"number": 3}', call_id="a"))
        theirs.log(ToolResult("3", call_id="a"), reward=0.5)
        theirs.log(ToolCall("echo", '{"text": "word1"}', call_id="b"))
        theirs.log(ToolResult("match", call_id="b"), reward=1.0, is_finished=True, metadata={"length": 5})
        client.rollout.close()
    sdk, there.sent = there.sent, []
    run = {"run_name": "run", "model_name": "m", "training_stage": "rl", "lr": 1e-6}
    play(OpenRewardSpec(of_catalog(adapters.Echo, "echo"), log_rollouts=run))
    logged(there)
    ours = [sent for sent in there.sent if sent.path != "/create_session"]
    assert [(sent.method, sent.path, sent.query) for sent in ours[:3]] == [
        (sent.method, sent.path, sent.query) for sent in sdk[:3]
    ]
    assert {sent.headers["x-api-key"] for sent in (*ours, *sdk) if sent.path == "/v1/rollouts"} == {KEY}
    expected, found = ([event for sent in sent if sent.body for event in sent.body["events"]] for sent in (sdk, ours))
    assert normal(found) == normal(expected) and len(found) == 7
    assert [[event["eventType"] for event in sent.body["events"]] for sent in ours[2:3]] == [["rollout"]]


def test_what_may_be_said_of_a_run_is_what_the_sdk_takes() -> None:
    """Names, types and values."""
    hints = get_type_hints(RunInfo)
    assert [*RUN_INFO] == [field.name for field in fields(RunInfo)]
    for name, wanted in RUN_INFO.items():
        literals = [value for one in get_args(hints[name]) for value in get_args(one)]
        assert literals == [*wanted] if isinstance(wanted, tuple) else wanted in (hints[name], *get_args(hints[name]))


def test_nothing_is_uploaded_unless_asked_for(there: Platform) -> None:
    """The default."""
    play(OpenRewardSpec(of_catalog(adapters.Echo, "echo")))
    assert not logged(there) and {sent.path for sent in there.sent} == {"/create_session"}


def test_the_last_message_for_a_terminal_tool(there: Platform) -> None:
    """It is logged as a message of the model, with the reward that it earned and what the environment said to it."""
    spec = OpenRewardSpec(of_catalog(adapters.Quiz, "quiz"), log_rollouts="run")
    rollout = spec.environment_factory()
    rollout.reset(task_index=4)
    answer = [{"role": "assistant", "content": "8"}]
    assert spec.reward_funcs(completions=[answer], environments=[rollout]) == [1.0]
    prompt, message = logged(there, "message")
    assert (prompt["type"], prompt["content"]) == ("user_message", "What is 4 + 4?")
    assert (message["type"], message["content"]) == (AssistantMessage("8").type, "8")
    assert (message["reward"], message["isFinished"]) == (1.0, True)
    assert message["metadata"] == {"terminal_tool": "submit", "output": "right", "metadata": {}}


def test_refusals_exceptions_and_conversations(there: Platform) -> None:
    """Calls without a result say why; a prompt of several messages is logged as such."""
    rollout = OpenRewardSpec(of_catalog(adapters.MoodyEcho, "moodyecho"), log_rollouts="run").environment_factory()
    rollout.reset(task_index=3)
    rollout._call("echo", {"text": 7})
    with pytest.raises(Exception, match="the sandbox is gone"):
        rollout.echo(text="hello")
    (_, _), call, refused, _, raised = said(there)
    assert call == ("tool_call", '{"text": 7}') and "valid string" in refused[1]
    assert raised == ("tool_result", "the sandbox is gone")
    there.sent.clear()
    dialogue = OpenRewardSpec(
        of_catalog(adapters.Dialogue, "dialogue"), prompts="dataset", log_rollouts="run", num_tasks=1
    )
    (row,) = dialogue.train_dataset
    assert not logged(there)  # the session that fetched the prompt is not a rollout
    adapter = dialogue.environment_factory()
    adapter.reset(**row)
    adapter._session.prompt()
    assert [kind for kind, _ in said(there)] == ["system_message", "user_message", "assistant_message", "user_message"]


def test_a_rollout_that_fails(there: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that does not open, and one that is lost: the log ends with the reason."""
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.01)
    spec = OpenRewardSpec(of_catalog(adapters.MoodyEcho, "moodyecho"), log_rollouts="run")
    with pytest.raises(SessionError):
        spec.environment_factory().reset(task_index=1)
    lost = spec.environment_factory()
    lost.reset(task_index=4)
    lost.echo(text="hello")  # whose reward is not a number
    assert lost.failure is not None
    ends = [event for event in logged(there, "message") if event["type"] == "system_message"]
    assert ["no sandbox for you" in ends[0]["content"], "reward" in ends[1]["content"]] == [True, True]
    assert [(end["isFinished"], end["metadata"]) for end in ends] == [(True, {"failure": True})] * 2


def test_secrets_are_masked(there: Platform) -> None:
    """Those that the environment tells, those that a model writes, and the key of the platform."""
    secret = "hush-hush-hush"
    vault = of_catalog(adapters.Vault, "vault")
    spec = OpenRewardSpec(vault, secrets={"OPENAI_API_KEY": secret}, log_rollouts="run")
    rollout = spec.environment_factory()
    rollout.reset(task_spec={"id": 1, "note": secret, "nothing": None})
    rollout.tell()
    rollout._call("tell", {"key": f"{secret} {KEY}"})
    text = json.dumps(logged(there))
    assert "***" in text and "OPENAI_API_KEY" in text
    encoded = base64.b64encode(secret.encode()).decode()
    assert not [value for value in (secret, KEY, encoded) if value in text]
    (begun,) = logged(there, "rollout")
    assert begun["task_spec"] == {"id": 1, "note": "***"} and not logged(there, "rollout_update")


def test_an_environment_of_ones_own_is_logged_with_the_key_of_the_platform(there: Platform) -> None:
    """And neither key goes to the other's server, nor into a text."""
    mine = "key-of-my-own-server"
    with serving_application(Server([Vault]).app) as server:
        spec = OpenRewardSpec(adapters.Vault, base_url=server.url, api_key=mine, log_rollouts="run")
        rollout = spec.environment_factory()
        rollout.reset(task_index=0)
        rollout._call("tell", {"keys": f"{mine} {KEY}"})
        rollout._close()
        (begun,) = logged(there, "rollout")
        assert KEY not in str(server.requests)
    assert mine not in str(there.sent) and {sent.path for sent in there.sent} == {"/v1/rollouts"}
    assert {sent.headers["x-api-key"] for sent in there.sent} == {KEY} and KEY not in json.dumps(there.events())
    assert begun["environment"] == "vault" and "127.0.0.1" not in json.dumps(there.events())


@pytest.mark.parametrize(
    ("answer", "told", "requests"),
    [(401, "HTTP 401: the key that was sent was refused", 1), (500, "HTTP 500", 9), (400, "HTTP 400", 3)],
)
def test_a_platform_that_refuses(
    there: Platform,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    answer: int,
    told: str,
    requests: int,
) -> None:
    """Rollouts go on, one warning says why, and messages of rollouts that could not begin are not sent. After a refused
    key, or several failures in a row, nothing is tried any more."""
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(limits, "LOG_FAILURES", 3)
    there.answers["/v1/rollouts"] = answer
    spec = OpenRewardSpec(of_catalog(adapters.Echo, "echo"), log_rollouts="run")
    for _ in range(4):
        assert play(spec).reward == 1.0
        close_sessions()
    (warning,) = [record.getMessage() for record in caplog.records if "log of the platform" in record.getMessage()]
    assert f"Rollouts in Owner/Name are missing from the log of the platform: {told}" in warning and KEY not in warning
    assert {event["eventType"] for event in there.events()} == {"rollout"}
    assert len(there.to("/v1/rollouts")) == requests


def test_a_platform_that_is_slow_slows_nothing(there: Platform, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the rollouts nor the end of the process, which says how much is missing."""
    there.answers["/v1/rollouts"] = 30.0
    spec = OpenRewardSpec(of_catalog(adapters.Echo, "echo"), log_rollouts="run")
    began = time.monotonic()
    for _ in range(3):
        assert play(spec).reward == 1.0
    assert time.monotonic() - began < 1.0
    close_sessions()
    assert time.monotonic() - began < limits.EXIT_WITHIN + 1.5
    assert "events of rollouts in Owner/Name could not be uploaded in time" in caplog.text
    assert "may still be open" not in caplog.text


def test_the_queue_has_a_limit(
    there: Platform, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A rollout of which an event finds no room is left out as a whole; a later one is logged again."""
    spec = OpenRewardSpec(of_catalog(adapters.Echo, "echo"), log_rollouts="run")
    monkeypatch.setattr(limits, "LOG_QUEUE_BYTES", 3000)
    play(spec, word="x" * 3000)
    logged(there)
    play(spec)
    assert [content for kind, content in said(there) if kind == "tool_result"] == ["3", "match"]
    assert len(logged(there, "rollout")) == 1
    assert caplog.text.count("wait to be uploaded") == 1


def test_many_events_go_in_batches(there: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    """By number and by size; each rollout begins before its messages, which stay in order."""
    monkeypatch.setattr(limits, "LOG_EVENTS", 4)
    spec = OpenRewardSpec(of_catalog(adapters.Echo, "echo"), log_rollouts="run")
    for _ in range(3):
        play(spec)
    events = logged(there)
    assert max(len(sent.body["events"]) for sent in there.to("/v1/rollouts")) == 4
    for begun in (event["eventId"] for event in events if event["eventType"] == "rollout"):
        mine = [event for event in events if begun in (event["eventId"], event.get("rolloutEventId"))]
        assert mine[0]["eventType"] == "rollout" and [event["index"] for event in mine[2:]] == [0, 1, 2, 3, 4]
    monkeypatch.setattr(limits, "LOG_BYTES", 10)
    there.sent.clear()
    play(spec)
    assert len(logged(there)) == len(there.to("/v1/rollouts")) == 7


def test_events_that_come_while_the_connections_are_closed(there: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are uploaded like all others, over new connections."""
    closing, close = threading.Event(), Pool.close

    async def slowly(pool: Pool) -> None:
        closing.set()
        await asyncio.sleep(0.3)
        await close(pool)

    monkeypatch.setattr(limits, "LOG_EVERY", 0.01)
    monkeypatch.setattr(Pool, "close", slowly)
    spec = OpenRewardSpec(of_catalog(adapters.Echo, "echo"), log_rollouts="run")
    play(spec)
    assert closing.wait(5)
    play(spec)
    monkeypatch.setattr(Pool, "close", close)
    assert len(logged(there)) == 14


@pytest.fixture
def usual_recursion() -> Iterator[None]:
    """Python's own limit, which other tests may have raised."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize(
    "metadata", ['{"score": NaN}', '{"a":' * 700 + "1" + "}" * 700], ids=["not a number", "nested"]
)
def test_metadata_that_json_does_not_hold(there: Platform, usual_recursion: None, metadata: str) -> None:
    """It is left out, and the message stays."""
    output = f'{{"blocks": [{{"type": "text", "text": "a\\u0000b"}}], "metadata": {metadata}, "reward": 0.5}}'
    body = f'event: end\ndata: {{"ok": true, "output": {output}}}\n\n'.encode()
    with serving_application(answering({"/echo/call": body}, Server([Echo]).app)) as server:
        rollout = OpenRewardSpec(adapters.Echo, base_url=server.url, log_rollouts="run").environment_factory()
        rollout.reset(task_index=0)
        rollout.echo(text="a")
        rollout._close()
        assert rollout.reward == 0.5
        *_, result = logged(there, "message")
    assert (result["content"], result["reward"], result.get("metadata", {})) == ("ab", 0.5, {})
    assert storable("a\0\ud800") == "a\\ud800"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_upload_their_own(there: Platform, method: str) -> None:
    """A forked and a spawned child, and their parent, which has rollouts on their way at that time: each event arrives
    once, at the latest when its process ends."""
    program = f"""
        import multiprocessing
        from orl_codegen import OpenRewardSpec
        from tests.runtime.adapters import Echo
        from tests.runtime.children import roll_out

        if __name__ == "__main__":
            spec = OpenRewardSpec(Echo, base_url={there.server.url!r}, log_rollouts="run")
            rollout = spec.environment_factory()
            rollout.reset(task_index=1)
            child = multiprocessing.get_context({method!r}).Process(target=roll_out, args=(spec.environment_factory,))
            child.start()
            child.join()
            rollout.echo(text="word1")
            assert child.exitcode == 0
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    events = there.events()
    assert len({event["eventId"] for event in events if event["eventType"] != "rollout_update"}) == 3 + 3 + 3 + 1
    assert sorted(event["rollout_info"]["task_index"] for event in events if "rollout_info" in event) == [1, 5, 6]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", "names no run"),
        (True, "names no run"),
        ({"model_name": "m"}, "names no run"),
        ({"run_name": "r", "lr": 0.1}, "not its model_name"),
        ({"run_name": "r", "model_name": 7}, "has to be of type str"),
        ({"run_name": "r", "model_name": "m", "run_type": "test"}, "has to be 'train' or 'eval' or 'adhoc'"),
        ({"run_name": "r", "model": "m"}, "which the platform does not know. It takes run_name, model_name"),
    ],
)
def test_bad_runs(given: Any, told: str) -> None:
    """One paragraph, before anything is opened."""
    with pytest.raises(UsageError, match=told):
        OpenRewardSpec(adapters.Echo, base_url=dead_url(), log_rollouts=given)


def test_a_log_needs_the_key_of_the_platform() -> None:
    """The key of another server is not one."""
    with pytest.raises(UsageError, match="Set OPENREWARD_API_KEY, or leave log_rollouts out"):
        OpenRewardSpec(adapters.Echo, base_url=dead_url(), api_key="mine", log_rollouts="run")
