"""Real sessions are recorded and replayed: what a rollout sees is the same, and no key or secret is in the file."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from openreward.environments import Environment, TextBlock, ToolOutput, tool

from generated.kitchen import Kitchen as Adapter
from orl_codegen import OpenRewardSpec
from orl_codegen.environments.kitchen import Kitchen
from orl_codegen.errors import (
    OutputError,
    ServerError,
    SessionError,
    SnapshotError,
    UsageError,
)
from orl_codegen.ors import limits
from orl_codegen.sessions.loop import close_sessions
from orl_codegen.standin import StandIn, mock, record
from orl_codegen.standin.cassette import cassette_of, cassette_text
from tests.environments.answers import Contest
from tests.standin.test_against_the_sdk_server import CALLS, PATHS, SESSIONS, TASKS, Asked, answers
from tests.support.applications import respond
from tests.support.cli import orl_codegen
from tests.support.servers import dead_url, running, serving_application

ROOT = Path(__file__).parents[2]

pytest_plugins = ["orl_codegen.standin.plugin"]


def episodes(url: str) -> list[Any]:
    """What four rollouts of the kitchen see: refused calls, a task tool, a bad and a good dish, a call too many."""
    spec = OpenRewardSpec(Adapter, base_url=url, num_tasks=3)
    seen: list[Any] = [spec.rows]
    for index, dish, degrees in [
        (2, "risotto", 200),
        (0, "carbonara", None),
        (0, "pad thai", None),
        (2, "risotto", 99),
    ]:
        kitchen = spec.environment_factory()
        said = [kitchen.reset(task_index=index), kitchen.search_recipes(filters={"cuisine": "italian"})]
        said += [kitchen.convert(amount=0, unit="cup"), kitchen.read_recipe(dish=dish)]
        said += [kitchen.preheat_oven(celsius=degrees)] if degrees else []
        said += [kitchen.serve_dish(dish=dish, ingredients=["rice", "stock"]), kitchen.read_recipe(dish=dish)]
        seen.append((said, kitchen.rewards, kitchen.metadata, kitchen.finished, kitchen.failure))
    close_sessions()
    return seen


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """A cassette of the kitchen, and what the rollouts in it saw."""
    path = tmp_path_factory.mktemp("recorded") / "kitchen.cassette.json"
    with running(Kitchen) as server, record(server.url, path) as proxy:
        seen = episodes(proxy.url)
        assert server.wait_for_sessions(0) == 0
    return path, seen


def test_a_replay_is_like_the_environment(recorded: tuple[Path, list[Any]], orl_mock: Callable[..., StandIn]) -> None:
    """Tasks, prompts, observations, rewards, metadata and ends are the same, without the environment."""
    path, seen = recorded
    with running(Kitchen) as server:
        assert episodes(server.url) == seen  # the proxy changes nothing
    replay = orl_mock(path)
    assert episodes(replay.url) == seen
    assert [reward for _, rewards, *_ in seen[1:] for reward in rewards if reward is not None] == [0.67, 0.0, 0.0, 0.67]
    assert not [call for call in replay.calls if call.reason == "not_recorded"]


@pytest.mark.parametrize("asked", [TASKS, PATHS, [*SESSIONS, *CALLS]], ids=["tasks", "paths", "sessions"])
def test_the_proxy_changes_no_answer(tmp_path: Path, asked: list[Asked]) -> None:
    """Statuses, bodies, redirects and streams are those of the server, whatever is asked."""
    with running(Kitchen) as plain, running(Kitchen) as other, record(other.url, tmp_path / "x.json") as proxy:
        for direct, passed in zip(*(asyncio.run(answers(url, asked)) for url in (plain.url, proxy.url)), strict=True):
            assert passed == direct


def test_what_was_not_recorded_is_said(recorded: tuple[Path, list[Any]]) -> None:
    """A call that is new is an error of the tool, and the session goes on; a task that is new is one that says so."""
    with mock(recorded[0]) as replay:
        kitchen = OpenRewardSpec(Adapter, base_url=replay.url).environment_factory()
        kitchen.reset(task_index=0)
        assert "was not called like this, as call 1 of this task, while it was recorded" in str(
            kitchen.convert(amount=7, unit="cup")
        )
        assert "carbonara" in str(kitchen.search_recipes(filters={"cuisine": "italian"}))
        assert [(call.name, call.reason) for call in replay.calls] == [
            ("convert", "not_recorded"),
            ("search-recipes", None),
        ]
        with pytest.raises(SessionError, match=r"Task 3 of the split 'train' was not recorded.*orl-codegen record"):
            kitchen.reset(task_index=3)
        with pytest.raises(ServerError, match="was not recorded"):
            print(OpenRewardSpec(Adapter, base_url=replay.url).rows)
        close_sessions()


class Dice(Environment):
    """Roll a die that is loaded by how often it was rolled before, in all sessions; and say what it was told."""

    rolled = 0

    def __init__(self, task_spec: Any = {}, secrets: dict[str, str] = {}) -> None:  # noqa: B006 - as the base class
        super().__init__(task_spec, secrets)
        self.told = secrets

    @classmethod
    def list_splits(cls) -> Sequence[str]:
        """One split."""
        return ["train"]

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[Any]:
        """One task."""
        return [{"id": 0}]

    def get_prompt(self) -> list[TextBlock]:
        """What it was told, twice."""
        return [TextBlock(text=f"{self.told} {base64.b64encode(json.dumps(self.told).encode()).decode()}")]

    @tool
    async def roll(self) -> ToolOutput:
        """Roll."""
        Dice.rolled += 1
        text, told = f"{Dice.rolled} {self.told}", dict(self.told)
        return ToolOutput(blocks=[TextBlock(text=text)], metadata={"told": told, **dict.fromkeys(told.values(), 1)})

    @tool
    async def drop(self) -> ToolOutput:
        """Drop it."""
        raise RuntimeError(f"{self.told} is gone")


def test_sessions_of_a_task_are_replayed_in_their_order(tmp_path: Path) -> None:
    """The n-th session gets the n-th recording, an unlike one the recording that goes on like it, the next ones begin
    anew; and an exception of the environment is recorded, too."""

    def rolls(url: str, *sessions: Sequence[str]) -> list[list[Any]]:
        return asyncio.run(_rolls(url, sessions))

    with running(Dice) as server, record(server.url, tmp_path / "dice.json") as proxy:
        first = rolls(proxy.url, ["roll"], ["roll", "roll"], ["drop", "roll"])
    assert first == [["1 {}"], ["2 {}", "3 {}"], ["! {} is gone", "4 {}"]]
    with mock(tmp_path / "dice.json") as replay:
        assert rolls(replay.url, ["roll"], ["roll", "roll"], ["drop", "roll"]) == first
        # The fourth begins like the first recording and goes on like the second; no recording but the third drops it.
        again = rolls(replay.url, ["roll", "roll"], ["drop"], ["roll"])
        assert again == [["1 {}", "3 {}"], ["! {} is gone"], ["1 {}"]]


async def _rolls(
    url: str, sessions: Sequence[Sequence[str]], key: str | None = None, **secrets: str
) -> list[list[Any]]:
    """The texts that calls in some sessions are answered with."""
    from orl_codegen.ors.endpoint import Endpoint
    from orl_codegen.ors.failures import ToolRaised
    from orl_codegen.ors.session import Session
    from orl_codegen.ors.transport import Pool

    async def text(session: Session, name: str) -> str:
        try:
            return str((await session.call(name, {})).blocks[0]["text"])
        except ToolRaised as raised:
            return f"! {raised}"

    texts = []
    async with Pool() as pool:
        for names in sessions:
            where = Endpoint(url, "dice", "dice", key, secrets)
            session = Session(where, pool, {"split": "train", "index": 0}, open_within=10, call_within=10)
            await session.open()
            await session.prompt()
            texts.append([await text(session, name) for name in names])
            await session.close(5)
    return texts


KEY, TOKEN, QUOTED = "key-4711-of-the-platform", 'tökèn/"of"+somebody', "s3cr3t-pass"


def test_no_key_and_no_secret_is_in_the_file(tmp_path: Path) -> None:
    """What a client sends in confidence is masked wherever the environment repeats it; the server gets it, as it is."""
    path = tmp_path / "dice.json"
    with running(Dice) as server:
        url = server.url.replace("//", f"//user:{QUOTED}@")
        with record(url, path) as proxy:
            asyncio.run(_rolls(proxy.url, [["roll", "drop"]], KEY, OPENAI_API_KEY=TOKEN))
        assert {request.headers.get("x-api-key") for request in server.requests if request.path == "/create"} == {KEY}
    text = path.read_text("utf-8")
    header = base64.b64encode(json.dumps({"OPENAI_API_KEY": TOKEN}).encode()).decode()
    spelled = [
        KEY,
        TOKEN,
        json.dumps(TOKEN)[1:-1],
        QUOTED,
        "user:",
        header[8:40],
        base64.b64encode(KEY.encode()).decode()[:20],
    ]
    assert [value for value in spelled if value in text] == []
    assert text.count("***") > 5 and "X-" not in text and "OPENAI_API_KEY" in text
    cassette_of(text, "dice")


def test_a_key_for_the_server_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes from a variable, goes with each request, also of clients that have none, and is not in the file; and a
    test that is a coroutine may record, too."""
    monkeypatch.setenv("DICE_KEY", KEY)

    async def rolls(url: str) -> list[list[Any]]:
        with record(url, tmp_path / "dice.json", api_key_env="DICE_KEY") as proxy:
            return await _rolls(proxy.url, [["roll"]])

    async def telling(scope: Any, receive: Any, send: Any) -> None:
        """The prompt is what the request is authorized with."""
        if scope.get("path") == "/dice/prompt":
            sent = dict(scope["headers"])
            told = [sent[name].decode() for name in (b"x-api-key", b"authorization")]
            await respond(send, 200, json.dumps([{"type": "text", "text": f"{told} {QUOTED}"}]).encode())
        else:
            await real.server.app(scope, receive, send)

    with running(Dice) as real, serving_application(telling) as server:
        assert asyncio.run(rolls(server.url.replace("//", f"//user:{QUOTED}@")))
        assert {request.headers.get("x-api-key") for request in server.requests} == {KEY}
    text = (tmp_path / "dice.json").read_text()
    basic = base64.b64encode(f"user:{QUOTED}".encode()).decode()
    assert "['***', 'Basic ***'] ***" in text and not [value for value in (KEY, QUOTED, basic) if value in text]


def test_group_scores_and_large_results(tmp_path: Path) -> None:
    """Scores of a group are replayed; a group that is new is an exception; streams of many events pass whole."""
    with running(Contest) as server, record(server.url, tmp_path / "contest.json", variant="contest") as proxy:
        first = _scored(proxy.url, "4")
    with mock(tmp_path / "contest.json") as replay:
        assert _scored(replay.url, "4") == first
        assert "was not scored while it was recorded" in str(_scored(replay.url, "5"))


def _scored(url: str, text: str) -> Any:
    """What the stream of a group's scores says."""

    def post(route: str, body: Any) -> str:
        headers = {"Content-Type": "application/json", "X-Session-ID": "one"}
        with urllib.request.urlopen(urllib.request.Request(url + route, json.dumps(body).encode(), headers)) as answer:
            return str(answer.read().decode())

    post("/create", {"split": "train", "index": 1})
    try:
        group = [{"messages": [{"role": "assistant", "blocks": [{"type": "text", "text": text * 9000}]}]}]
        stream = post("/contest/score_group", {"candidates": group})
        return [line for line in stream.splitlines() if line.startswith("data:")][1:]
    finally:
        post("/delete", {})


def test_the_proxy_leads_nowhere_else(tmp_path: Path) -> None:
    """Only routes of the standard are passed on, without cookies; a redirect of the server is not handed on."""
    seen: list[dict[bytes, bytes]] = []

    with running(Kitchen) as real:

        async def application(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http" and scope["path"] == "/kitchen/prompt":
                seen.append(dict(scope["headers"]))
                headers = [(b"location", b"http://elsewhere.example/"), (b"set-cookie", b"a=b")]
                await send({"type": "http.response.start", "status": 307, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
            elif scope["type"] == "http":
                await real.server.app(scope, receive, send)

        with serving_application(application) as odd, record(odd.url, tmp_path / "odd.json") as proxy:
            before = len(odd.requests)
            assert _status(proxy.url + "/kitchen/prompt", Cookie="a=b", Authorization="Bearer x") == (307, None)
            assert _status(proxy.url + "/docs")[0] == 308 and _status(proxy.url + "/kitchen/../docs")[0] in (308, 404)
            assert _status(proxy.url + "/kitchen/nosuch")[0] == 404
            assert len(odd.requests) == before + 1
        assert not {b"cookie", b"authorization"} & seen[0].keys()
    assert not (tmp_path / "odd.json").exists()  # nothing passed that belongs into it


def _status(url: str, **headers: str) -> tuple[int, str | None]:
    class Unfollowed(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    try:
        with urllib.request.build_opener(Unfollowed).open(urllib.request.Request(url, headers=headers)) as answer:
            return answer.status, None
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("Location")


def test_a_secret_that_is_a_name_of_the_environment_is_refused(tmp_path: Path) -> None:
    """The file could not do without the name, so the request is answered with an error, and nothing is recorded."""
    with running(Dice) as server, record(server.url, tmp_path / "dice.json") as proxy:
        for _ in range(2):
            assert _status(proxy.url + "/dice/tools", **{"X-API-Key": "train"})[0] == 400
    assert not (tmp_path / "dice.json").exists()


def test_the_command_records_until_a_signal(tmp_path: Path) -> None:
    """Its first line is the URL of the proxy; SIGTERM ends it, and the file is there, and is replayed by the command,
    which lists what it does not hold."""
    path = tmp_path / "kitchen.cassette.json"
    with running(Kitchen) as server, _command("record", server.url, "--cassette", path, "--port", "0") as process:
        _play(process, ["carbonara", "risotto"])
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (143, "") and "recording kitchen" in err
    assert err.endswith(f"orl-codegen: interrupted; {path} was written (sessions: 1, calls: 2).\n")
    assert [*tmp_path.iterdir()] == [path]
    with _command("mock", path, "--port", "0") as process:
        _play(process, ["carbonara", "\x1b[31mtofu"])
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert "2 calls were answered." in err and "\x1b" not in err
    assert 'not recorded: read_recipe with {"dish": "' in err and '31mtofu"}, in the task {"id": "train-0"' in err


def _command(*args: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "orl_codegen", *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def _play(process: subprocess.Popen[str], dishes: Sequence[str]) -> None:
    """Read recipes from the server that a command names."""
    assert process.stdout is not None
    kitchen = OpenRewardSpec(Adapter, base_url=process.stdout.readline().strip()).environment_factory()
    kitchen.reset(task_index=0)
    for dish in dishes:
        kitchen.read_recipe(dish=dish)
    close_sessions()


def test_the_file_is_written_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends the process, most of it is there, and whole; a folder that has gone is an error at the end."""
    from orl_codegen.standin import recording

    monkeypatch.setattr(recording, "WRITE_EVERY", 0.02)
    path = tmp_path / "later" / "dice.json"
    path.parent.mkdir()
    with (
        running(Dice) as server,
        pytest.raises(OutputError, match="cannot be written"),
        record(server.url, path) as proxy,
    ):
        asyncio.run(_rolls(proxy.url, [["roll"]]))
        deadline = time.monotonic() + 5
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert cassette_of(path.read_text("utf-8"), "dice").snapshot.variant == "dice"
        path.parent.rename(tmp_path / "elsewhere")
        asyncio.run(_rolls(proxy.url, [["roll"]]))


def test_a_stream_that_breaks_off_is_recorded_once(tmp_path: Path) -> None:
    """It passes as it comes: the client has the id of the task by then, asks for the rest of it, and the call counts
    once."""
    asked: list[Any] = []

    with running(Dice) as real:

        async def application(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http" or scope["path"] != "/dice/call":
                await real.server.app(scope, receive, send)
                return
            asked.append(json.loads((await receive())["body"]))
            head = [(b"content-type", b"text/event-stream")]
            await send({"type": "http.response.start", "status": 200, "headers": head})
            pieces = [b"event: task_id\r\ndata: seven\r\n\r\n", b'event: chunk\r\ndata: {"ok": true, "output"\r\n\r\n']
            pieces += [b'event: end\r\ndata: : {"blocks": [{"type": "text", "text": "a"}]}}\r\n\r\n'] * (
                len(asked) == 2
            )
            for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            if len(asked) == 1:
                raise ConnectionError("cut off")
            await send({"type": "http.response.body", "body": b""})

        with serving_application(application) as odd, record(odd.url, tmp_path / "dice.json") as proxy:
            assert asyncio.run(_rolls(proxy.url, [["roll"]])) == [["a"]]
    assert [body.get("task_id") for body in asked] == [None, "seven"]
    with mock(tmp_path / "dice.json") as replay:
        assert asyncio.run(_rolls(replay.url, [["roll"]])) == [["a"]]
    assert len(cassette_of((tmp_path / "dice.json").read_text(), "dice").sessions[0].exchanges) == 1


def test_what_is_too_large_passes_and_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client gets it all the same, and the file stays small."""
    monkeypatch.setattr(limits, "CASSETTE_BYTES", 1000)
    with running(Contest) as server, record(server.url, tmp_path / "contest.json", variant="contest") as proxy:
        assert "scores" in str(_scored(proxy.url, "4"))
    assert cassette_of((tmp_path / "contest.json").read_text(), "contest").sessions[0].exchanges == ()


def test_what_cannot_be_recorded_is_said_before_anything_is(tmp_path: Path) -> None:
    """A file that is something else stays; a server that is not there, a target that is no URL: a line and status 2."""
    notes, path = tmp_path / "notes.json", tmp_path / "new.json"
    notes.write_text("{}")
    dead = dead_url()
    with running(Kitchen) as server:
        for url, file, said in [
            (server.url, notes, "is not a cassette"),
            (server.url, ROOT / "generated/kitchen.json", "is an adapter or a snapshot"),
            (server.url, tmp_path / "none" / "x.json", "cannot be written"),
            (dead, path, "could not be reached"),
            ("Eigent/SETA", path, "is not the URL of a server"),
        ]:
            outcome = orl_codegen("record", url, "--cassette", file, "--port", "0")
            assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1) and said in outcome.err
    assert notes.read_text() == "{}" and [*tmp_path.iterdir()] == [notes]


def test_a_cassette_has_its_own_rewards(recorded: tuple[Path, list[Any]]) -> None:
    """Others cannot be set."""
    with pytest.raises(UsageError, match="Leave the seed and the rewards out"), mock(recorded[0], rewards=[1.0]):
        pass
    assert orl_codegen("mock", recorded[0], "--seed", "3").status == 2


def test_a_file_is_read_as_it_was_written(recorded: tuple[Path, list[Any]]) -> None:
    """Byte for byte, with sessions of one task in their order."""
    text = recorded[0].read_text("utf-8")
    assert cassette_text(cassette_of(text, "kitchen")) == text
    assert str(recorded[0].parent) not in text and "session_id" not in text


PATHS: list[tuple[tuple[str | int, ...], Any]] = [
    ((), []),
    (("cassette",), 2),
    (("cassette",), True),
    (("snapshot",), None),
    (("snapshot", "digest"), "sha256:0"),
    (("snapshot", "variant"), "other"),
    (("tasks",), {}),
    (("tasks", 0), 5),
    (("tasks", 0, "split"), None),
    (("tasks", 0, "index"), True),
    (("tasks", 0, "task"), "x"),
    (("sessions",), None),
    (("sessions", 0), []),
    (("sessions", 0, "task"), []),
    (("sessions", 0, "answers"), []),
    (("sessions", 0, "answers"), {"\x1b[2J": 1}),
    (("sessions", 0, "exchanges"), "x"),
    (("sessions", 0, "exchanges", 0, "route"), "delete"),
    (("sessions", 0, "exchanges", 0, "name"), 5),
    (("sessions", 0, "exchanges", 0, "input"), []),
    (("sessions", 0, "exchanges", 0, "raised"), {}),
    (("sessions", 0, "exchanges", 0, "result"), {"ok": True}),
    (("sessions", 0, "exchanges", 0, "result"), {"ok": True, "output": "x"}),
    (("sessions", 0, "exchanges", 0, "result"), {"ok": 1}),
    (("sessions", 0, "exchanges", 0, "result"), "deep"),
]


@pytest.mark.parametrize(("place", "value"), PATHS)
def test_broken_files_are_refused(
    recorded: tuple[Path, list[Any]], tmp_path: Path, place: tuple[str | int, ...], value: Any
) -> None:
    """One paragraph that names the file, from the command as from code, and status 2."""
    whole: Any = {"cassette": json.loads(recorded[0].read_text("utf-8"))}
    part, *keys = whole, "cassette", *place
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = json.loads('{"ok": false, "a": ' + "[" * 200 + "]" * 200 + "}") if value == "deep" else value
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(whole["cassette"]))
    with pytest.raises(SnapshotError, match=r"broken\.json"), mock(broken):
        pass
    outcome = orl_codegen("mock", broken, "--port", "0")
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1) and "\x1b" not in outcome.err


CUT_OFF = [b'{"cassette": 1', b'{"cassette": ' + b"[" * 100_000, b'{"cassette": 1e', b"\xed\xa0\x80"]


@pytest.mark.parametrize("content", CUT_OFF, ids=["cut", "deep", "odd", "half"])
def test_files_that_are_cut_off_are_refused(tmp_path: Path, content: bytes) -> None:
    """What is not JSON is neither a snapshot nor a cassette."""
    broken = tmp_path / "broken.json"
    broken.write_bytes(content)
    with pytest.raises(SnapshotError, match=r"broken\.json is not a snapshot"), mock(broken):
        pass
