"""Discovery on servers that behave: which requests are made, and what ends up in the snapshot."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import signal
import time
from dataclasses import replace
from typing import Any

import pytest
from openreward.environments import Server

from orl_codegen.errors import ServerError, SnapshotError
from orl_codegen.generator.discovery.answers import Answers
from orl_codegen.generator.discovery.discovery import Silent
from orl_codegen.generator.options import Options, parse_probe
from orl_codegen.generator.snapshot import Snapshot, dump, load
from orl_codegen.generator.target import parse_target
from tests.support.applications import answering
from tests.support.discovery import take_snapshot
from tests.support.environments import environment, spec
from tests.support.servers import Application, RunningServer, running, serving_application

SHARED = [spec("zeta", q={"type": "string"}), spec("alpha")]
OVEN = spec("oven", heat={"type": "integer"})
GRILL = spec("grill")


def snapshot(server: RunningServer, **options: object) -> Snapshot:
    return take_snapshot(parse_target(server.url), replace(Options(), **options))  # type: ignore[arg-type]


def test_shared_tools_need_no_session() -> None:
    """Without task tools nothing is opened: four requests, and the specs verbatim, sorted by name."""
    with running(environment(SHARED)) as server:
        taken = snapshot(server, task_tools=False)
        asked = ["GET /list_environments", "GET /made/splits", "GET /made/tools", "POST /made/num_tasks"]
        assert sorted(server.paths()) == asked
    assert [dict(tool) for tool in taken.tools] == [SHARED[1], SHARED[0]]
    assert (taken.target, taken.variant, taken.split, taken.probed) == (server.url, "made", "train", ())
    assert taken.splits == ({"name": "train", "type": "train"},)
    assert load(dump(taken)) == taken


def test_the_tasks_of_every_split_are_counted() -> None:
    """The snapshot says how many tasks each split has, for one request a split; they are no part of the digest."""
    tasks = {"train": [{"index": index} for index in range(5)], "test": [{"index": 0}], "empty": []}
    with running(environment(SHARED, tasks=tasks)) as server:
        taken = snapshot(server)
        assert server.paths().count("POST /made/num_tasks") == 3
    assert taken.num_tasks == {"train": 5, "test": 1, "empty": 0}
    assert load(dump(taken)) == taken
    assert replace(taken, num_tasks={}).digest == taken.digest


@pytest.mark.parametrize("answer", [500, b'{"num_tasks": 1e9}', b'{"num_tasks": 9007199254740992}', b"[]", b"!"])
def test_a_number_of_tasks_that_is_not_known_is_left_out(answer: bytes | int) -> None:
    """A server that fails on the route, has no such number or one beyond counting gives a snapshot like any other."""
    made = Server([environment(SHARED)]).app
    with serving_application(answering({"/made/num_tasks": answer}, made)) as server:
        taken = snapshot(server, task_tools=False)
    assert not taken.num_tasks and "num_tasks" not in dump(taken)
    assert load(dump(taken)) == taken


@pytest.mark.parametrize("counts", ['["train"]', '{"train": "5"}', '{"train": true}'])
def test_a_snapshot_whose_counts_are_not_numbers_is_refused(counts: str) -> None:
    """No digest covers the number of tasks, so what stands there is checked."""
    with running(environment(SHARED)) as server:
        text = dump(snapshot(server))
    broken = re.sub(r'"num_tasks": \{[^}]*\}', f'"num_tasks": {counts}', text)
    with pytest.raises(SnapshotError, match="is not a snapshot"):
        load(broken)


@pytest.mark.parametrize(
    ("probe", "probed", "found"),
    [
        ("first", (0,), {"oven": (0,)}),
        ("all", (0, 1, 2), {"grill": (2,), "oven": (0, 2)}),
        ("2", (2,), {"grill": (2,), "oven": (2,)}),
        ("1-2, 1", (1, 2), {"grill": (2,), "oven": (2,)}),
        ("0,2-2", (0, 2), {"grill": (2,), "oven": (0, 2)}),
    ],
)
def test_task_tools_are_merged_by_spec(probe: str, probed: tuple[int, ...], found: dict[str, tuple[int, ...]]) -> None:
    """Each form of --probe opens exactly those tasks, says which of them offer which tool, and leaves none open."""
    with running(environment(SHARED, task_tools={0: [OVEN], 2: [OVEN, GRILL]})) as server:
        taken = snapshot(server, probe=parse_probe(probe))
        assert server.wait_for_sessions(0) == 0
        assert server.paths().count("POST /create") == len(probed)
        assert server.paths().count("POST /delete_session") == len(probed)
    assert taken.probed == probed
    assert {str(tool.spec["name"]): tool.tasks for tool in taken.task_tools} == found


def test_one_name_with_two_specs_is_kept_twice() -> None:
    """Where tasks disagree about a tool, the snapshot holds both specs and who offers which."""
    other = spec("oven", heat={"type": "string"})
    with running(environment(SHARED, task_tools={0: [OVEN], 1: [other], 2: [OVEN]})) as server:
        taken = snapshot(server, probe="all")
    assert [(tool.spec["input_schema"]["properties"], tool.tasks) for tool in taken.task_tools] == [
        ({"heat": {"type": "integer"}}, (0, 2)),
        ({"heat": {"type": "string"}}, (1,)),
    ]


def test_the_variant_is_the_name_in_the_paths() -> None:
    """--variant finds an environment whatever its case; without it the server's first is taken, with a message."""
    messages: list[str] = []

    class Listening:
        def probed(self, done: int, total: int) -> None: ...

        def say(self, message: str) -> None:
            messages.append(message)

    with running(environment(SHARED, name="First"), environment([GRILL], name="Second")) as server:
        assert snapshot(server, variant="SECOND").variant == "second"
        taken = take_snapshot(parse_target(server.url), Options(), Listening())
    assert taken.variant == "first"
    assert messages == ["The server has several environments (first, second); took first, its first. See --variant."]


def test_the_progress_counts_the_tasks() -> None:
    """Whoever watches is told how many of how many tasks have been asked."""
    steps: list[tuple[int, int]] = []

    class Counting:
        def probed(self, done: int, total: int) -> None:
            steps.append((done, total))

        def say(self, message: str) -> None: ...

    with running(environment(SHARED)) as server:
        take_snapshot(parse_target(server.url), Options(probe="all"), Counting())
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("concurrency", [1, 8])
def test_many_probes_overlap_but_not_all_of_them(concurrency: int) -> None:
    """Forty tasks at 20 ms a request: as many sessions as --concurrency says are open at a time, and no more."""
    tasks = {"train": [{"index": index} for index in range(40)]}
    with running(environment(SHARED, tasks=tasks), latency=0.02) as server:
        snapshot(server, probe="all", concurrency=concurrency)
    assert min(2, concurrency) <= most_sessions(server) <= concurrency


def most_sessions(server: RunningServer) -> int:
    """How many sessions were open at a time."""
    steps = [{"POST /create": 1, "POST /delete": -1}.get(path, 0) for path in server.paths()]
    return max(itertools.accumulate(steps))


def test_a_snapshot_is_the_same_in_whatever_order_its_tasks_answer() -> None:
    """One task after the other, or all at once with later tasks answering first: the same bytes, and the same error."""

    class Uneven(environment(SHARED, tasks=SIX, task_tools=OFFERED)):  # type: ignore[misc]
        def __init__(self, task_spec: dict[str, int], secrets: dict[str, str]) -> None:
            time.sleep(0.05 * (6 - task_spec["index"]))
            if task_spec["index"] in (3, 5):
                raise RuntimeError("no GPU")
            super().__init__(task_spec, secrets)

    with running(Uneven) as server:
        taken = [snapshot(server, probe="all", allow_partial=True, concurrency=number) for number in (1, 2, 6)]
        for number in (1, 2, 6):
            with pytest.raises(ServerError, match=r"^Task 3 of the split train could not be opened.*no GPU"):
                snapshot(server, probe="all", concurrency=number)
        assert server.wait_for_sessions(0) == 0
    assert len({dump(one) for one in taken}) == 1
    assert {tool.spec["name"]: tool.tasks for tool in taken[0].task_tools} == {"grill": (4,), "oven": (0, 1, 2, 4)}


SIX = {"train": [{"index": index} for index in range(6)]}
OFFERED = {0: [OVEN], 1: [OVEN], 2: [OVEN], 3: [GRILL], 4: [GRILL, OVEN]}


class Interrupted(Exception):
    """What a display fails with."""


@pytest.mark.parametrize("when", [3, 8])
@pytest.mark.parametrize("how", ["error", "cancelled"])
def test_no_session_outlives_a_discovery_that_is_broken_off(how: str, when: int) -> None:
    """Ctrl-C cancels the discovery, and a bug breaks it off: what is open, or being closed, is deleted."""
    open_then: list[int] = []

    class Staggered(environment(SHARED, tasks={"train": [{"index": index} for index in range(10)]})):  # type: ignore[misc]
        def __init__(self, task_spec: dict[str, int], secrets: dict[str, str]) -> None:
            time.sleep(0.1 * task_spec["index"])
            super().__init__(task_spec, secrets)

    class Breaking(Silent):
        def probed(self, done: int, total: int) -> None:
            if done == when:
                open_then.append(len(server.live_sessions))
                if how == "error":
                    raise Interrupted
                os.kill(os.getpid(), signal.SIGINT)

    application = Server([Staggered])
    with serving_application(slow_to_delete(application.app), latency=0.02) as server:
        server.server = application
        with pytest.raises(Interrupted if how == "error" else KeyboardInterrupt):
            take_snapshot(parse_target(server.url), Options(probe="all", concurrency=10), Breaking())
        assert open_then[0] > 0 and server.live_sessions == []


def slow_to_delete(otherwise: Application) -> Application:
    """An application that takes its time before it ends a session, so that some are just being closed at any time."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope.get("path") == "/delete":
            await asyncio.sleep(0.3)
        await otherwise(scope, receive, send)

    return application


ABOUT = ("/made/tools", "/made/splits", "/made/num_tasks")


@pytest.mark.parametrize(
    ("variant", "at_once"), [(None, ABOUT), ("MADE", ABOUT), ("made", ("/list_environments", *ABOUT))]
)
def test_what_concerns_no_task_is_asked_at_once(variant: str | None, at_once: tuple[str, ...]) -> None:
    """The server names its environment, then three questions go out together; all four, if --variant has that name."""
    with serving_application(answering_together(at_once, Server([environment(SHARED)]).app)) as server:
        assert snapshot(server, variant=variant, timeout=5.0).probed == (0,)


def answering_together(paths: tuple[str, ...], otherwise: Application) -> Application:
    """An application that answers none of the paths before all of them have been asked for."""
    missing, complete = set(paths), asyncio.Event()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        missing.discard(scope.get("path", ""))
        if not missing:
            complete.set()
        if scope.get("path") in paths:
            await complete.wait()
        await otherwise(scope, receive, send)

    return application


def test_tools_that_tasks_share_are_read_once() -> None:
    """Answers in the same bytes cost the time and the memory of one, however many tasks give them."""
    seen = Answers("The answer")
    same, other = (json.dumps({"tools": [tool]}).encode() for tool in (OVEN, GRILL))
    assert seen.parse(same) is seen.parse(same)
    assert [list(seen.parse(body).specs.values()) for body in (same, other)] == [[OVEN], [GRILL]]


def test_a_task_that_cannot_be_opened_is_an_error_unless_partial_is_allowed() -> None:
    """A broken task fails the whole run with the reason; --allow-partial leaves it out and records that."""

    class Broken(environment(SHARED, task_tools={2: [OVEN]})):  # type: ignore[misc]
        def __init__(self, task_spec: dict[str, int], secrets: dict[str, str]) -> None:
            if task_spec["index"] == 1:
                raise RuntimeError("no GPU \x1b[31m")
            super().__init__(task_spec, secrets)

    with running(Broken) as server:
        with pytest.raises(ServerError) as raised:
            snapshot(server, probe="all")
        assert server.wait_for_sessions(0) == 0
        assert "Task 1 of the split train could not be opened" in str(raised.value)
        assert r"no GPU \x1b[31m. If it needs a secret, pass --secret" in str(raised.value)
        taken = snapshot(server, probe="all", allow_partial=True)
        assert server.wait_for_sessions(0) == 0
    assert (taken.probed, taken.unprobed) == ((0, 2), (1,))
    assert [tool.tasks for tool in taken.task_tools] == [(2,)]


def test_keys_that_are_missing_on_the_wire_are_no_trouble() -> None:
    """Servers of other implementations leave keys out or add some; the snapshot keeps each spec as it came."""
    bare = {"tools": [{"name": "bare"}, {"name": "rich", "output_schema": {}, "input_schema": None}, {"name": "bare"}]}
    app = answering(
        {"/made/tools": json.dumps(bare).encode(), "/made/splits": b'["train"]', "/made/task_tools": 404},
        Server([environment(SHARED)]).app,
    )
    with serving_application(app) as server:
        taken = snapshot(server)
    assert [dict(tool) for tool in taken.tools] == bare["tools"][:2]
    assert (taken.terminal_tool, taken.supports_score_group, taken.splits) == (None, False, ({"name": "train"},))


def test_a_secret_reaches_the_session_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """--secret takes the value from the environment; the platform's key is not sent to a URL."""
    monkeypatch.setenv("MY_KEY", "hunter2-hunter2")
    monkeypatch.setenv("OPENREWARD_API_KEY", "platform-key")
    seen: list[dict[str, str]] = []

    class Secretive(environment(SHARED)):  # type: ignore[misc]
        def __init__(self, task_spec: dict[str, int], secrets: dict[str, str]) -> None:
            seen.append(dict(secrets))
            super().__init__(task_spec, secrets)

    with running(Secretive) as server:
        taken = snapshot(server, secrets={"SOME_KEY": "MY_KEY"})
        assert not [request for request in server.requests if "platform-key" in str(request)]
        assert seen == [{"SOME_KEY": "hunter2-hunter2"}]
        snapshot(server, api_key_env="OPENREWARD_API_KEY")
        assert server.requests[-1].headers["x-api-key"] == "platform-key"
    assert "hunter2" not in dump(taken)


@pytest.mark.parametrize("secret", ["hunter2-hunter2", 'p\u00e4ss"w\u00f6rd\\\n', "20261129"])
@pytest.mark.parametrize("place", ["description", "key", "default", "repr"])
def test_a_server_that_repeats_a_secret_is_refused(monkeypatch: pytest.MonkeyPatch, secret: str, place: str) -> None:
    """What the server was told in confidence must not be committed with any part of a spec, nor shown in an error."""
    monkeypatch.setenv("MY_KEY", secret)
    default = int(secret) if secret.isdecimal() else secret
    leaky = {
        "description": spec("leaky", f"Uses the key {secret}."),
        "key": spec("leaky", **{secret: {"type": "string"}}),
        "default": spec("leaky", key={"default": default}),
        "repr": spec("leaky", f"Uses the key {secret!r}."),
    }
    with running(environment([leaky[place]])) as server:
        with pytest.raises(ServerError, match="puts the value of a secret or a key") as raised:
            snapshot(server, secrets={"SOME_KEY": "MY_KEY"})
        assert secret[:3] not in str(raised.value).replace(server.url, "")


def test_user_info_is_used_but_never_recorded() -> None:
    """A URL may carry a user and a password: the requests do, the snapshot does not."""
    with running(environment(SHARED)) as server:
        url = server.url.replace("://", "://ada:s3cret@")
        taken = take_snapshot(parse_target(url), Options())
        assert {request.headers.get("authorization", "")[:6] for request in server.requests} == {"Basic "}
    assert taken.target == server.url
    assert "s3cret" not in dump(taken) + repr(parse_target(url))


def test_a_catalog_name_goes_to_the_platform_with_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog name is asked at the session host that the SDK uses, with the key and the deployment's name."""
    with running(environment(SHARED, task_tools={0: [OVEN]})) as server:
        monkeypatch.setenv("OPENREWARD_API_URL", server.url)
        monkeypatch.setenv("OPENREWARD_SESSION_URL", server.url)
        monkeypatch.setenv("OPENREWARD_API_KEY", "platform-key")
        taken = take_snapshot(parse_target("Owner/Name"), Options())
        assert server.wait_for_sessions(0) == 0
        asked = [request for request in server.requests if request.method == "GET"]
        assert {request.headers["x-api-key"] for request in server.requests} == {"platform-key"}
        assert {request.headers["x-deployment"] for request in asked} == {"Owner/Name"}
        assert all("x-session-id" in request.headers for request in asked)
    assert (taken.target, taken.variant, len(taken.task_tools)) == ("Owner/Name", "made", 1)
    assert "platform-key" not in dump(taken)


def test_a_toolset_brings_its_tools_into_the_sessions() -> None:
    """--toolset opens the sessions with a built-in toolset: its tools are seen there, and the snapshot names it."""

    class Boxed(environment(SHARED)):  # type: ignore[misc]
        sandbox = object()  # asked for when the toolset is made, used only when a tool is called

    with running(Boxed) as server:
        taken = snapshot(server, toolset="codex")
        with pytest.raises(ServerError, match=r"could not be opened to see its tools: HTTP 400: .*codx"):
            snapshot(server, toolset="codx")
        assert server.wait_for_sessions(0) == 0
    assert taken.toolset == "codex" and len(taken.tools) == 2
    assert taken.task_tools and all(tool.tasks == (0,) for tool in taken.task_tools)
