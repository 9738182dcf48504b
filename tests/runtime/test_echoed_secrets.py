"""A server that echoes everything it was told gets none of it to the model, to a reward function or to a log."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openreward.environments import Server

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import SessionError, ToolError, UsageError
from tests.environments.echo import Echo
from tests.runtime import adapters
from tests.support.applications import answering, respond
from tests.support.servers import Application, RunningServer, serving_application

KEY, SECRET, PASSWORD = "sk-live-0123456789", "hush-hush-hush", "hunter2-hunter2"

PICTURE = {"type": "image", "data": base64.b64encode(SECRET.encode()).decode(), "mimeType": "image/png"}


def echoing(told: list[dict[str, str]], answer_of: Callable[[Any], tuple[bytes, bytes]]) -> Application:
    """An environment that answers calls, and the prompt, with the headers of all requests so far, in some form."""
    otherwise = Server([Echo]).app

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            told.append({name.decode(): value.decode("latin-1") for name, value in scope["headers"]})
        if scope.get("path") not in ("/echo/call", "/echo/prompt"):
            await otherwise(scope, receive, send)
            return
        call, prompt = answer_of(told)
        if scope["path"] == "/echo/call":
            await respond(send, 200, b"event: end\ndata: " + call + b"\n\n", b"text/event-stream")
        else:
            await respond(send, 200, prompt)

    return application


def blocks_with(told: Any) -> list[Any]:
    """The headers as text, as JSON, as keys and in a block that nobody knows, with what is in them decoded."""
    decoded = [base64.b64decode(headers["x-secrets"]).decode() for headers in told if "x-secrets" in headers]
    known = [{"type": "text", "text": f"{told} {json.dumps(told)} {decoded}"}, PICTURE]
    return [*known, {"type": "thing", "headers": told, **dict.fromkeys(decoded, 7)}]


def answered(told: Any) -> tuple[bytes, bytes]:
    """A result with the headers everywhere, and a prompt."""
    blocks = blocks_with(told)
    output = {"blocks": blocks, "metadata": {"told": told, SECRET: 0.5}, "reward": 0.25, "finished": False}
    return json.dumps({"ok": True, "output": output}).encode(), json.dumps(blocks).encode()


def refused(told: Any) -> tuple[bytes, bytes]:
    """A call that was not carried out."""
    return json.dumps({"ok": False, "error": f"no: {blocks_with(told)}"}).encode(), b"[]"


@pytest.fixture
def rollout_at() -> Iterator[Callable[[RunningServer], Any]]:
    """Opens adapters that know a key, a secret and a password."""
    opened: list[Any] = []

    def rollout_at(server: RunningServer) -> Any:
        url = server.url.replace("://", f"://ada:{PASSWORD}@")
        spec = OpenRewardSpec(adapters.Echo, base_url=url, api_key=KEY, secrets={"TOKEN": SECRET})
        opened.append(spec.environment_factory())
        return opened[-1]

    yield rollout_at
    for rollout in opened:
        rollout._close()


def check_nothing_is_told(shown: str, told: list[dict[str, str]]) -> None:
    """Neither the values nor the headers that hold them; but the text around them is there."""
    sent = {headers[name] for headers in told for name in ("x-secrets", "authorization") if name in headers}
    for secret in (KEY, SECRET, PASSWORD, *(text.removeprefix("Basic ").rstrip("=") for text in sent)):
        assert secret not in shown
    assert len(sent) == 2 and "***" in shown


def test_results_and_prompts(rollout_at: Callable[[RunningServer], Any], caplog: pytest.LogCaptureFixture) -> None:
    """Masked in text, in unknown blocks, in keys and in metadata; pictures, numbers and rewards stay."""
    told: list[dict[str, str]] = []
    caplog.set_level("DEBUG")
    with serving_application(echoing(told, answered)) as server:
        rollout = rollout_at(server)
        prompt = rollout.reset(task_index=0)
        result = rollout.echo(text="hello")
        for shown in (prompt, result, rollout.last_output, repr(rollout.metadata), caplog.text):
            assert not [word for word in (KEY, SECRET, PASSWORD) if word in shown]
        check_nothing_is_told(f"{prompt} {result} {rollout.metadata}", told)
        assert '"user-agent"' in result and "'host'" in prompt and "TOKEN" in result
        assert (rollout.reward, rollout.metadata[0]["***"]) == (0.25, 0.5)
        (output,) = [rollout._session.call("echo", {"text": "hello"})()]
        assert output.blocks[1] == PICTURE


def test_refusals(rollout_at: Callable[[RunningServer], Any]) -> None:
    """The model is told why a call was refused, without what the server quotes."""
    told: list[dict[str, str]] = []
    with serving_application(echoing(told, refused)) as server:
        rollout = rollout_at(server)
        rollout.reset(task_index=0)
        result = rollout.echo(text="hello")
        assert result.startswith("Error: no: ") and not [word for word in (KEY, SECRET, PASSWORD) if word in result]


def test_exceptions(rollout_at: Callable[[RunningServer], Any]) -> None:
    """Likewise where the stream ends with an exception."""
    told: list[dict[str, str]] = []

    async def raising(scope: Any, receive: Any, send: Any) -> None:
        if scope.get("path") == "/echo/call":
            body = b"event: error\ndata: failed with " + repr(told[-1]).encode() + b"\n\n"
            await respond(send, 200, body, b"text/event-stream")
        else:
            await echoing(told, answered)(scope, receive, send)

    with serving_application(raising) as server:
        rollout = rollout_at(server)
        rollout.reset(task_index=0)
        with pytest.raises(ToolError, match="echo failed: failed with ") as raised:
            rollout.echo(text="hello")
        assert not [word for word in (KEY, SECRET, PASSWORD) if word in str(raised.value)]


def test_tasks_and_names_in_errors() -> None:
    """The fields of tasks become columns of the dataset; the names of splits are listed where there is none like it."""
    tasks = json.dumps({"tasks": [{"word": f"say {SECRET}", SECRET: 1}]}).encode()
    answers = {"/echo/task_range": tasks, "/echo/splits": json.dumps([{"name": f"not {KEY}"}]).encode()}
    options: Any = {"api_key": KEY, "secrets": {"TOKEN": SECRET}}
    with serving_application(answering(answers)) as server:
        dataset = OpenRewardSpec(adapters.Echo, base_url=server.url, **options).train_dataset
        assert (dataset[0]["word"], dataset[0]["***"]) == ("say ***", 1)
    answers = {**answers, "/echo/task_range": 400, "/list_environments": b'["echo"]'}
    with serving_application(answering(answers)) as server, pytest.raises(UsageError, match=r"It has: not \*\*\*\."):
        _ = OpenRewardSpec(adapters.Echo, base_url=server.url, **options).train_dataset


def test_half_a_key_is_not_shown_either(rollout_at: Callable[[RunningServer], Any]) -> None:
    """What is no JSON is quoted up to its sixtieth character, which may be in the middle of a key."""
    page = b"<!doctype html><title>401</title> wrong key given: " + KEY.encode()
    with serving_application(echoing([], lambda told: (b"", page))) as server, pytest.raises(SessionError) as raised:
        rollout_at(server).reset(task_index=0)
    assert "it begins `<!doctype" in str(raised.value) and KEY[:4] not in str(raised.value)
