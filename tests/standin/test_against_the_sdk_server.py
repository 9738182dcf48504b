"""The SDK's server and the stand-in for the same environment are asked the same; what they answer is compared."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from openreward.api.environments.client import AsyncEnvironmentsAPI
from openreward.api.environments.types import GroupCandidate, Message, TextBlock
from openreward.api.errors import ToolCallError

from orl_codegen.environments.kitchen import Kitchen
from orl_codegen.generator.options import Options
from orl_codegen.generator.snapshot import dump, load
from orl_codegen.generator.target import ServerURL
from orl_codegen.standin import mock
from tests.environments.answers import Contest
from tests.generator import golden
from tests.support.cli import orl_codegen
from tests.support.discovery import take_snapshot
from tests.support.servers import running

ROOT = Path(__file__).parents[2]

Asked = tuple[str, str, Any, str | None]
"""Method, path, body (bytes as they are, all else as JSON) and session."""

TASKS: list[Asked] = [
    *(("POST", "/kitchen/num_tasks", body, None) for body in [{"split": "test"}, {"split": "no"}, {}, {"split": 5}]),
    *(
        ("POST", "/kitchen/num_tasks", body, None)
        for body in [{"split": "train", "x": 1}, [1], "x", None, b"{bad", b""]
    ),
    *(("POST", "/kitchen/task", {"split": "train", "index": index}, None) for index in (0, -1, "1", 2.0, True)),
    *(("POST", "/kitchen/task", {"split": "train", "index": index}, None) for index in (9, -9, 10**30, 1.5, "a", None)),
    ("POST", "/kitchen/task_range", {"split": "train", "start": 1, "stop": 3}, None),
    ("POST", "/kitchen/task_range", {"split": "train", "start": -2}, None),
    ("POST", "/kitchen/task_range", {"split": "train", "start": 9}, None),
    ("POST", "/kitchen/task_range", {"split": "train", "start": "x"}, None),
    ("POST", "/kitchen/tasks", {"split": "test"}, None),
]

PATHS: list[Asked] = [
    *(("GET", path, None, None) for path in ["/", "/tools?x=1", "/nosuch/tools", "/kitchen", "/kitchen/nosuch"]),
    *(("GET", path, None, None) for path in ["/health", "/create", "/list_environments", "/kitchen/splits"]),
    ("GET", "/KITCHEN/tools", None, None),
    ("POST", "/kitchen/tools", {}, None),
    ("POST", "/prompt", None, None),
]

SESSIONS: list[Asked] = [
    ("POST", "/create", {"split": "train", "index": 0}, "open"),
    ("POST", "/create", {"split": "train", "index": 0}, None),
    *(("POST", "/create", body, "new") for body in [{}, {"split": "train"}, {"split": "no", "index": 0}]),
    *(("POST", "/create", body, "new") for body in [{"split": "train", "index": 99}, {"task_spec": "x"}]),
    ("POST", "/create", {"split": "train", "index": 0, "env_name": "Nope"}, "new"),
    ("POST", "/create", {"split": "train", "index": 0, "task_spec": {}}, "new"),
    ("POST", "/create", {"split": 5, "index": "x"}, "new"),
    *(
        (method, path, None, sid)
        for method, path in [("GET", "/kitchen/prompt"), ("POST", "/ping")]
        for sid in ("no", None)
    ),
    *(("POST", path, None, sid) for path in ("/delete", "/delete_session") for sid in ("no", None)),
    ("GET", "/kitchen/task_tools", None, "no"),
    ("GET", "/kitchen/task_tools", None, "open"),
]

CALLS: list[Asked] = [
    *(("POST", "/kitchen/call", {"name": "x", "input": {}}, sid) for sid in ("no", None)),
    ("POST", "/kitchen/call", {"name": 5}, "no"),
    *(("POST", "/kitchen/call", {"name": "convert", "input": input}, "open") for input in ([], "s", None)),
    ("POST", "/kitchen/call", {"name": "convert"}, "open"),
    ("POST", "/kitchen/call", {"name": 5, "input": {}}, "open"),
    ("POST", "/kitchen/call", {"name": "convert", "input": {}, "x": 1}, "open"),
    ("POST", "/kitchen/call", {"name": "convert", "input": {}, "task_id": "gone"}, "open"),
    ("POST", "/kitchen/call", {"name": "convert", "input": {}, "task_id": 5}, "open"),
    ("POST", "/kitchen/call", {"name": "fly", "input": {}}, "open"),
    ("POST", "/kitchen/call", {"name": "convert", "input": {"amount": 0, "unit": "pint"}}, "open"),
    ("POST", "/kitchen/call", {"name": "convert", "input": {"amount": 1}}, "open"),
    ("POST", "/kitchen/call", {"name": "convert", "input": {"amount": 1, "unit": "cup"}}, "open"),
    # A tool that the task does not list is carried out, as the SDK's server does it.
    ("POST", "/kitchen/call", {"name": "preheat_oven", "input": {"celsius": 200}}, "open"),
    ("POST", "/kitchen/call", {"name": "serve_dish", "input": {"dish": "x", "ingredients": ["y"]}}, "open"),
    ("POST", "/kitchen/call", {"name": "serve_dish", "input": {}}, "open"),
    ("POST", "/kitchen/score_group", {"candidates": []}, "open"),
    ("POST", "/kitchen/score_group", {"candidates": "x"}, "open"),
    ("POST", "/create_session", {}, None),
]


@pytest.fixture(scope="module")
def urls() -> Iterator[tuple[str, str]]:
    """The SDK's server, and the stand-in; a session `open` is open on both."""
    # What the third call of serve_dish ends in the real kitchen, the script ends here.
    with running(Kitchen) as real, mock(ROOT / "generated/kitchen.json", rewards=[None, None, 0.0]) as stand_in:
        yield real.url, stand_in.url


@pytest.mark.parametrize("asked", [TASKS, PATHS, [*SESSIONS, *CALLS]], ids=["tasks", "paths", "sessions"])
def test_the_same_questions(urls: tuple[str, str], asked: list[Asked]) -> None:
    """Statuses, bodies, redirects and streams are alike, but for what a snapshot does not hold."""
    for real, stand_in in zip(*(asyncio.run(answers(url, asked)) for url in urls), strict=True):
        assert stand_in == real


async def answers(url: str, asked: list[Asked]) -> list[Any]:
    """What a server answers to each question, in the order in which they are asked."""
    async with aiohttp.ClientSession(url) as session:
        return [await answer(session, *question) for question in asked]


async def answer(session: aiohttp.ClientSession, method: str, path: str, body: Any, sid: str | None) -> Any:
    """The question, and what the answer to it says that can be compared."""
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **({"X-Session-ID": sid} if sid else {})}
    async with session.request(method, path, data=data, headers=headers, allow_redirects=False) as response:
        text = await response.text()
    said = {name: response.headers.get(name) for name in ("Location", "Allow")}
    kind = response.content_type if text else ""
    parsed = events(text) if kind == "text/event-stream" else json.loads(text) if text else None
    return (method, path, body, sid), response.status, said, kind, comparable(parsed)


def events(text: str) -> Any:
    """The events of a stream; ids of tasks are as good as each other."""
    blocks = text.replace("\r\n", "\n").split("\n\n")
    found = [tuple(re.findall(r"^(?:event|data): (.*)$", block, re.MULTILINE)) for block in blocks]
    named = [(name, data.strip()) for name, data in (event for event in found if event)]
    return [
        (name, "some id" if name == "task_id" else json.loads(data) if data.startswith("{") else data)
        for name, data in named
    ]


def comparable(value: Any) -> Any:
    """JSON without what a stand-in makes up: the fields of tasks, texts of answers, what is wrong with an input."""
    if isinstance(value, dict):
        if "id" in value:
            return {"id": value["id"]}
        if str(value.get("error")).startswith("Tool input validation error: ["):
            value = value | {"error": "…"}
        if value.get("type") == "text":
            value = value | {"text": "…"}
        if "tools" in value:  # a snapshot sorts them
            value = value | {"tools": sorted(value["tools"], key=lambda tool: str(tool["name"]))}
        return {key: comparable(part) for key, part in value.items()}
    return [*map(comparable, value)] if isinstance(value, (list, tuple)) else value


def test_what_the_client_of_the_sdk_makes_of_it() -> None:
    """Every question that the SDK's client has is answered, the terminal tool is called, and a group is scored."""
    with running(Contest) as real:
        taken = take_snapshot(ServerURL(real.url, real.url), Options())

    async def ask(url: str) -> Any:
        async with AsyncEnvironmentsAPI(url, None) as api:  # type: ignore[arg-type]
            contest = api.get("contest", variant="contest")
            async with contest.session(split="train", index=1) as session:
                texts = [TextBlock(text=text) for text in ("four", "4")]
                group = [GroupCandidate(messages=[Message(role="assistant", blocks=[text])]) for text in texts]
                scores = [score.reward for score in await session.score_group(group)]
                prompt, messages = await session.get_prompt(), await session.get_messages()
                output = await session.call_tool("submit", {"answer": "4"})
                with pytest.raises(ToolCallError) as over:
                    await session.call_tool("submit", {"answer": "4"})
                assert messages[0].blocks == prompt and over.value.reason == "episode_finished"
                tasks = await contest.get_task_range("train", 0, 3)
                counted = await contest.num_tasks("train"), [task.task_spec for task in tasks]
                return counted, await contest.list_splits(), scores, output.reward, output.finished

    async def twice() -> Any:
        with stand_in(taken) as url:
            return await ask(url), await ask(url)

    first, second = asyncio.run(twice())
    assert first == second  # the seed decides
    (count, tasks), splits, scores, reward, finished = first
    assert (count, tasks[2], splits) == (20, {"id": "train-2"}, ["train"])
    assert finished and 0 <= reward <= 1 and len(scores) == 2 and scores[0] != scores[1]


def stand_in(taken: Any) -> Any:
    """A stand-in for a snapshot that is in no file; its URL."""
    from orl_codegen.standin.application import Desk, application
    from orl_codegen.standin.inventing import Invented
    from orl_codegen.standin.listening import listening_in_a_thread
    from orl_codegen.standin.scoring import scoring_of

    world = Invented(taken, scoring_of(0, None))
    return listening_in_a_thread(application(Desk(world, lambda called: None)), 0)


ACCEPTED = [case for case in golden.CASES if "refused" not in case]


@pytest.mark.parametrize("path", sorted((ROOT / "generated").glob("*.json")), ids=lambda path: path.stem)
def test_a_snapshot_of_the_stand_in_is_the_snapshot_that_it_was_made_from(path: Path) -> None:
    """Byte for byte, but for the target; and `check` finds nothing else."""
    committed = load(path.read_text("utf-8"))
    with mock(path) as kitchen:
        options = Options(probe=committed.probed)
        taken = take_snapshot(ServerURL(committed.target, kitchen.url), options)
        assert dump(taken) == path.read_text("utf-8")
        probe = ",".join(map(str, committed.probed))
        outcome = orl_codegen(
            "check", kitchen.url, "-o", path.parent, "--name", path.stem, "--probe", probe, "--format", "json"
        )
    assert [finding["rule"] for finding in json.loads(outcome.out)["findings"]] == ["target-changed"]


@pytest.mark.parametrize("case", ACCEPTED[::4])
def test_golden_snapshots_come_back_too(case: str) -> None:
    """Whatever the tools are like: schemas of every kind, texts that are attacks, tools of single tasks."""
    made = golden.snapshot(golden.read(case))
    counts = {"train": max(made.probed, default=0) + 1}
    known = replace(made, splits=({"name": "train", "type": "train"},), num_tasks=counts)
    options = Options(probe=known.probed or "first", task_tools=bool(known.probed))
    with stand_in(known) as url:
        taken = take_snapshot(ServerURL(known.target, url), options)
    assert dump(taken) == dump(known)
