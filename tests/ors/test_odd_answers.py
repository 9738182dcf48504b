"""Answers whose fields have another type than the standard gives them: one rule, and an error that says where."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openreward.environments import Server

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import ServerError, SessionError
from orl_codegen.ors.failures import Malformed
from orl_codegen.ors.outputs import CallRefused, output_of, scores_of
from orl_codegen.ors.redaction import Mask
from tests.environments.echo import Echo
from tests.runtime import adapters
from tests.support.applications import answering
from tests.support.servers import Application, serving_application

BLOCKS: list[dict[str, Any]] = [{"type": "text", "text": "match"}]
RIGHT = {"blocks": BLOCKS, "reward": 1.0, "finished": True, "metadata": {"length": 5}}


def echo() -> Application:
    app: Application = Server([Echo]).app
    return app


def read(answer: Any) -> Any:
    return output_of(answer, Mask(()), str)


@pytest.mark.parametrize(
    "absent", [{}, {"reward": None, "finished": None, "metadata": None}, {"later": [1], "detail": {"x": None}}]
)
def test_fields_that_are_absent_null_or_unknown(absent: dict[str, Any]) -> None:
    """Servers of several versions write each of these, and mean the same."""
    output = read({"ok": True, "output": {"blocks": BLOCKS, **absent}, "version": "0.2"})
    assert output == (BLOCKS, None, None, False)


def test_what_the_standard_says_is_read_as_it_stands() -> None:
    """An integer is a number, and blocks of an unknown type are for the model."""
    blocks = [*BLOCKS, {"type": "text", "text": None}, {"type": "table", "text": 7}, {"data": "…"}]
    output = read({"ok": True, "output": RIGHT | {"blocks": blocks, "reward": 1}})
    assert output == (blocks, 1.0, {"length": 5}, True) and type(output.reward) is float


MALFORMED = [
    (None, "it is null, which is not an object"),
    ([], "it is a list, which is not an object"),
    ("ok", 'it is "ok", which is not an object'),
    ({}, "ok is null, which is not true or false"),
    ({"ok": "false", "error": "no"}, 'ok is "false", which is not true or false'),
    ({"ok": "true", "output": RIGHT}, 'ok is "true", which is not true or false'),
    ({"ok": 1, "output": RIGHT}, "ok is 1, which is not true or false"),
    ({"ok": True}, "output is null, which is not an object"),
    ({"ok": True, "output": []}, "output is a list, which is not an object"),
    ({"ok": False, "error": ["no"]}, "error is a list, which is not text"),
    ({"ok": False, "error": "no", "reason": 3}, "reason is 3, which is not text"),
]
MALFORMED_OUTPUTS = [
    ({"blocks": None}, "output.blocks is null, which is not a list"),
    ({"blocks": "match"}, 'output.blocks is "match", which is not a list'),
    ({"blocks": [*BLOCKS, "match"]}, 'output.blocks[1] is "match", which is not an object'),
    ({"blocks": [{"type": "text", "text": 7}]}, "output.blocks[0].text is 7, which is not text"),
    ({"blocks": [{"type": 1}]}, "output.blocks[0].type is 1, which is not text"),
    ({"reward": "1.0"}, 'output.reward is "1.0", which is not a finite number'),
    ({"reward": True}, "output.reward is true, which is not a finite number"),
    ({"reward": float("nan")}, "output.reward is NaN, which is not a finite number"),
    ({"reward": float("-inf")}, "output.reward is -Infinity, which is not a finite number"),
    ({"reward": {}}, "output.reward is an object, which is not a finite number"),
    ({"finished": "true"}, 'output.finished is "true", which is not true or false'),
    ({"finished": 0}, "output.finished is 0, which is not true or false"),
    ({"metadata": [1]}, "output.metadata is a list, which is not an object"),
]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [*MALFORMED, *(({"ok": True, "output": RIGHT | odd}, expected) for odd, expected in MALFORMED_OUTPUTS)],
)
def test_a_field_of_another_type_makes_the_answer_malformed(answer: Any, expected: str) -> None:
    """Nothing is guessed from it, neither a success nor a reward nor the end of an episode."""
    with pytest.raises(Malformed) as raised:
        read(answer)
    assert str(raised.value) == f"the answer to /call is malformed: {expected}"


def test_a_refused_call_has_a_reason_or_none() -> None:
    """Older servers send none."""
    for answer, expected in (({"error": "no"}, ("no", None)), ({"reason": "not_found"}, (None, "not_found"))):
        with pytest.raises(CallRefused) as raised:
            read({"ok": False, **answer})
        assert (str(raised.value), raised.value.reason) == (expected[0] or "the call was refused", expected[1])


def test_scores_of_a_group_are_read_by_the_same_rule() -> None:
    """One that is no reward makes the answer malformed; null is a candidate without a score."""
    assert scores_of({"scores": [{"reward": 1}, {"reward": None}]}, 2, str) == [1.0, None]
    with pytest.raises(Malformed, match=r"scores\[1\]\.reward is \"1\", which is not a finite number"):
        scores_of({"scores": [{"reward": 1}, {"reward": "1"}]}, 2, str)
    with pytest.raises(Malformed, match="scores is null, which is not a list"):
        scores_of({}, 2, str)


@pytest.mark.parametrize(("odd", "expected"), [({"ok": "false", "error": "no"}, "ok"), *MALFORMED_OUTPUTS[-5:]])
def test_a_call_with_such_an_answer_has_failed(odd: dict[str, Any], expected: str) -> None:
    """`failure` names the field, no reward is given, nothing is taken for finished, and the next `reset` works."""
    answer = odd if "ok" in odd else {"ok": True, "output": RIGHT | odd}
    body = f"event: end\ndata: {json.dumps(answer)}\n\n".encode()
    with serving_application(answering({"/echo/call": body}, echo())) as server:
        rollout = OpenRewardSpec(adapters.Echo, base_url=server.url).environment_factory()
        rollout.reset()
        rollout.echo(text="word0")
        assert (rollout.rewards, rollout.reward, rollout.finished, rollout.metadata) == ([], None, False, [])
        assert rollout.failure is not None and expected in rollout.failure
        assert rollout.failure.endswith("Fix the environment: the Open Reward Standard says otherwise.")
        assert "Echo" in str(rollout.reset())
        rollout._close()


ODD_OPENINGS = {
    "/create_session": (b'event: end\ndata: {"sid": 7}\n\n', "/create_session is malformed: sid is 7"),
    "/echo/prompt": (b'"Echo it."', '/prompt is malformed: it is "Echo it.", which is not a list'),
    "/echo/task_tools": (b"null", "/task_tools is malformed: it is null"),
}


@pytest.mark.parametrize("path", ODD_OPENINGS)
def test_a_session_with_such_an_answer_does_not_open(path: str) -> None:
    """Once, because another one would be answered the same; what is wrong is said."""
    body, expected = ODD_OPENINGS[path]
    with serving_application(answering({path: body}, echo())) as server:
        with pytest.raises(SessionError) as raised:
            OpenRewardSpec(adapters.Echo, base_url=server.url).environment_factory().reset()
        assert expected in str(raised.value) and "on_reset_failure" not in str(raised.value)
        assert server.paths().count("POST /create_session") == 1


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([{"role": "user", "blocks": "Go."}], '[0].blocks is "Go.", which is not a list'),
        ([{"role": None, "blocks": []}], "[0].role is null, which is not text"),
    ],
)
def test_a_conversation_with_such_an_answer_is_not_a_prompt(messages: Any, expected: str) -> None:
    """The dataset is not made of half of it."""
    with serving_application(answering({"/echo/messages": json.dumps(messages).encode()}, echo())) as server:
        spec = OpenRewardSpec(adapters.Echo, base_url=server.url, prompts="dataset", num_tasks=1)
        with pytest.raises(SessionError) as raised:
            _ = spec.train_dataset
        assert expected in str(raised.value)


ODD_TASKS = {
    "/echo/task_range": (b'{"tasks": ["word0"]}', 'tasks[0] is "word0", which is not an object'),
    "/echo/num_tasks": (b'{"num_tasks": "3"}', 'num_tasks is "3", which is not a whole number from 0'),
    "/echo/task": (b'{"task": null}', "task is null, which is not an object"),
}


@pytest.mark.parametrize("path", ODD_TASKS)
def test_tasks_with_such_an_answer_are_no_dataset(path: str) -> None:
    """Also where the server has no ranges, so that the tasks are counted and asked for singly."""
    body, expected = ODD_TASKS[path]
    without_ranges: dict[str, bytes | int] = {} if path.endswith("range") else {"/echo/task_range": 404}
    with serving_application(answering({**without_ranges, path: body}, echo())) as server:
        with pytest.raises(ServerError) as raised:
            _ = OpenRewardSpec(adapters.Echo, base_url=server.url, num_tasks=1).train_dataset
        assert expected in str(raised.value) and str(raised.value).count("\n") == 0
