"""Where our client differs from the SDK's on purpose, and what becomes of servers that misbehave."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from openreward.environments import Server, TextBlock, ToolOutput, tool
from pydantic import BaseModel

from orl_codegen.ors import limits
from orl_codegen.ors.client import Client
from orl_codegen.ors.endpoint import endpoint
from orl_codegen.ors.failures import Failure, Late, Malformed, Refused, ToolRaised, Unreachable
from orl_codegen.ors.session import Session
from orl_codegen.ors.transport import Pool, proxy_for
from tests.environments.echo import Echo
from tests.support.applications import hanging
from tests.support.servers import Application, RunningServer, dead_url, running, serving_application

BLANKS = "a" * 4000 + " " * 300 + "END"


class Length(BaseModel):
    """Input of `write`."""

    text: str


class Scribe(Echo):
    """An environment whose tool answers with a given text, and counts how often it ran."""

    ran: ClassVar[Counter[str]] = Counter()

    @tool
    async def write(self, params: Length) -> ToolOutput:
        """Write a text."""
        Scribe.ran[params.text] += 1
        return ToolOutput(blocks=[TextBlock(text=params.text)])


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between attempts are short."""
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(limits, "LONGEST_PAUSE", 0.02)


@pytest.fixture(autouse=True)
def fresh_counts() -> Iterator[None]:
    Scribe.ran.clear()
    yield


def app_of(environment: type = Scribe) -> Application:
    app: Application = Server([environment]).app
    return app


def in_session(server: RunningServer, work: Callable[[Session], Awaitable[Any]], **waits: float) -> Any:
    """Open a session of the first task, do something in it, close it."""

    async def run() -> Any:
        async with Pool() as pool:
            task = {"split": "train", "index": 0}
            within = {"open_within": 5.0, "call_within": 5.0} | waits
            session = Session(endpoint(server.url, "scribe"), pool, task, **within)  # type: ignore[arg-type]
            try:
                await session.open()
                return await work(session)
            finally:
                await session.close(1.0)

    return asyncio.run(run())


def asked(server: RunningServer, work: Callable[[Client], Awaitable[Any]]) -> Any:
    """Ask something outside of a session."""

    async def run() -> Any:
        async with Pool() as pool:
            return await work(Client(endpoint(server.url, "scribe"), pool))

    return asyncio.run(run())


def write(text: str) -> Callable[[Session], Awaitable[Any]]:
    return lambda session: session.call("write", {"text": text})


def answering_calls(answer: Callable[[Any, int], Awaitable[None]], path: str = "/scribe/call") -> Application:
    """A real server, except for one path: `answer` is given `send` and the number of the request."""
    app, count = app_of(), 0

    async def application(scope: Any, receive: Any, send: Any) -> None:
        nonlocal count
        if scope.get("path") != path:
            await app(scope, receive, send)
            return
        count += 1
        await answer(send, count)

    return application


async def begin(send: Any, status: int = 200, *headers: tuple[bytes, bytes]) -> None:
    """Send the head of an answer."""
    first = [] if any(name == b"content-type" for name, _ in headers) else [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": status, "headers": [*first, *headers]})


async def body(send: Any, text: str | bytes, more: bool = False) -> None:
    """Send a part of the body."""
    data = text if isinstance(text, bytes) else text.encode()
    await send({"type": "http.response.body", "body": data, "more_body": more})


async def breaking_off(send: Any, message: Any) -> None:
    """Send the head of an answer, and close the connection in place of its body."""
    if message["type"] != "http.response.start":
        raise ConnectionError
    await send(message)


def failing(work: Callable[[], Any], kind: type[Failure]) -> str:
    """What is raised, as text."""
    with pytest.raises(kind) as raised:
        work()
    return str(raised.value)


@pytest.mark.parametrize(
    "text", [BLANKS, " \n  leading", "tail   ", "\u2028\r\n\ttab", "x" * 300_000, "\u00e9" * 5000 + " " * 5000]
)
def test_the_text_of_a_tool_arrives_byte_for_byte(text: str) -> None:
    """The server cuts the answer every 4,096 characters; the SDK's client strips blanks where a piece begins."""
    with running(Scribe) as server:
        assert in_session(server, write(text)).blocks[0]["text"] == text


def test_an_answer_that_is_not_an_event_stream_is_asked_for_once() -> None:
    """Nobody knows what became of the call, so it is not made again. The SDK's client asks without end."""

    async def page(send: Any, count: int) -> None:
        await begin(send, 200, (b"content-type", b"text/html"))
        await body(send, "<html>Welcome</html>")

    with serving_application(answering_calls(page)) as server:
        message = failing(lambda: in_session(server, write("x")), Malformed)
        assert message == "the server answered with something that is not an event stream"
        assert server.paths().count("POST /scribe/call") == 1


def test_a_stream_that_is_cut_right_after_its_task_is_taken_up_a_few_times() -> None:
    """Each time with the task, so that nothing runs twice, and not without end."""

    async def cut(send: Any, count: int) -> None:
        await begin(send)
        await body(send, "event: task_id\ndata: t1\n\n")

    with serving_application(answering_calls(cut)) as server:
        assert "broke off" in failing(lambda: in_session(server, write("x")), Unreachable)
        assert server.paths().count("POST /scribe/call") == limits.RESUMES


def test_a_stream_that_is_cut_once_is_taken_up_and_the_tool_runs_once() -> None:
    """The real server keeps the result of the task; only the connection is another one."""
    app, cuts = app_of(), 0

    async def cutting(scope: Any, receive: Any, send: Any) -> None:
        async def cut(message: Any) -> None:
            nonlocal cuts
            if scope.get("path") == "/scribe/call" and b"event: end" in message.get("body", b"") and cuts < 2:
                cuts += 1
                raise ConnectionError("the cable was pulled")
            await send(message)

        await app(scope, receive, cut)

    with serving_application(cutting) as server:
        assert in_session(server, write("once")).blocks[0]["text"] == "once"
    assert (Scribe.ran["once"], cuts) == (1, 2)


def test_a_call_that_may_have_run_is_not_sent_again() -> None:
    """The connection breaks off before the stream has said a word."""

    async def vanish(send: Any, count: int) -> None:
        await begin(send)
        raise ConnectionError

    async def cut(send: Any, count: int) -> None:
        await begin(send)
        await body(send, ": nothing yet\n\n")

    for answer, kind in ((vanish, Unreachable), (cut, Malformed)):
        with serving_application(answering_calls(answer)) as server:
            failing(lambda server=server: in_session(server, write("x")), kind)  # type: ignore[misc]
            assert server.paths().count("POST /scribe/call") == 1


@pytest.mark.parametrize(
    ("status", "headers"),
    [(429, []), (429, [(b"retry-after", b"0")]), (503, [(b"x-backend-state", b"starting"), (b"retry-after", b"0")])],
)
@pytest.mark.parametrize("path", ["/create_session", "/create", "/scribe/prompt", "/scribe/call"])
def test_a_server_that_asks_to_wait_is_waited_for(status: int, headers: list[tuple[bytes, bytes]], path: str) -> None:
    """On every route, more often than any other failure is tried again, because nothing ran."""
    app, count = app_of(), 0

    async def busy(scope: Any, receive: Any, send: Any) -> None:
        nonlocal count
        count += scope.get("path") == path
        if scope.get("path") == path and count <= 7:
            await begin(send, status, *headers)
            await body(send, '{"detail": "later"}')
        else:
            await app(scope, receive, send)

    async def play(session: Session) -> Any:
        return await session.prompt(), (await session.call("write", {"text": "x"})).blocks

    with serving_application(busy) as server:
        prompt, blocks = in_session(server, play)
    assert "Echo" in prompt[0]["text"] and blocks[0]["text"] == "x"
    assert (count, Scribe.ran["x"]) == (8, 1)


def test_waiting_has_an_end() -> None:
    """Where the pause that the server asks for does not fit into the time, it is not waited for at all."""

    async def busy(send: Any, count: int) -> None:
        await begin(send, 429, (b"retry-after", b"3600"))
        await body(send, '{"detail": "much later"}')

    with serving_application(answering_calls(busy)) as server:
        began = time.monotonic()
        assert failing(lambda: in_session(server, write("x")), Refused) == "HTTP 429: much later"
        assert time.monotonic() - began < 4


class Limited:
    """A server whose first answer to a question is 429; it notes when each request of a path came, in seconds after
    that.

    Args:
        retry_after: What it asks for, if anything.
    """

    def __init__(self, retry_after: bytes | None = None) -> None:
        self.came: dict[str, list[float]] = {}
        self._headers = [] if retry_after is None else [(b"retry-after", retry_after)]
        self._began = 0.0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer as an ASGI application."""
        if scope["type"] != "http":
            return
        first = not self.came
        self._began = time.monotonic() if first else self._began
        self.came.setdefault(scope["path"], []).append(time.monotonic() - self._began)
        await begin(send, 429 if first else 200, *(self._headers if first else []))
        await body(send, '{"detail": "slow down"}')


def after_a_429(url: str, work: Callable[[Callable[[], Client]], Awaitable[Any]], within: float = 5.0) -> Any:
    """Have a request answered with 429, and then do something with other clients of the same pool."""

    async def run() -> Any:
        async with Pool() as pool:
            clients = lambda to=url: Client(endpoint(to, "scribe"), pool)  # noqa: E731
            refused = asyncio.ensure_future(clients().get("/first", within=within))
            await asyncio.wait([refused], timeout=0.3)
            try:
                return await work(clients)
            finally:
                await asyncio.gather(refused, return_exceptions=True)

    return asyncio.run(run())


def test_a_429_keeps_all_requests_to_its_host_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not find out one by one, and do not come back all at once; other hosts are asked as before."""
    monkeypatch.setattr(limits, "SPREAD", 0.5)
    limited, other = Limited(b"1"), Limited()
    with serving_application(limited) as server, serving_application(other) as elsewhere:
        other.came["/"] = []  # so that it answers the first question, too

        async def ask(clients: Any) -> Any:
            began = time.monotonic()
            await clients(elsewhere.url).get("/other", within=5)
            assert time.monotonic() - began < 0.3
            return await asyncio.gather(*(clients().get("/later", within=5) for _ in range(20)))

        assert len(after_a_429(server.url, ask)) == 20
    assert len(limited.came["/first"]) == 2
    assert len(limited.came["/later"]) == 20 and min(limited.came["/later"]) > 0.9
    assert max(limited.came["/later"]) - min(limited.came["/later"]) > 0.05


def test_a_429_without_a_time_keeps_requests_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the first pause that a request makes."""
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.8)
    monkeypatch.setattr(limits, "LONGEST_PAUSE", 0.8)
    limited = Limited()
    with serving_application(limited) as server:
        after_a_429(server.url, lambda clients: clients().get("/later", within=5))
    assert limited.came["/later"][0] > 0.7


def test_pings_and_the_end_of_sessions_are_not_kept_back() -> None:
    """Otherwise the server would give the sessions up, and the sandboxes would not be given back."""
    limited = Limited(b"1")
    with serving_application(limited) as server:

        async def ping_and_delete(clients: Any) -> None:
            client = clients()
            client.sid, client.created = "s1", True
            await client.ping()
            await client.delete(1.0)

        after_a_429(server.url, ping_and_delete)
    assert max(limited.came[path][0] for path in ("/ping", "/delete", "/delete_session")) < 0.9


def test_a_hostile_pause_stops_nobody_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has no time for it fails at once, with the reason; who has asks again after `LONGEST_BACK_OFF`."""
    monkeypatch.setattr(limits, "LONGEST_BACK_OFF", 1.5)
    limited = Limited(b"3600")
    with serving_application(limited) as server:

        async def ask(clients: Any) -> Any:
            began = time.monotonic()
            with pytest.raises(Refused, match="HTTP 429: slow down"):
                await clients().get("/hasty", within=0.5)
            assert time.monotonic() - began < 0.3
            return await clients().get("/patient", within=5)

        assert after_a_429(server.url, ask) == {"detail": "slow down"}
    assert "/hasty" not in limited.came
    assert 1.4 < limited.came["/patient"][0] < 3.0


def test_a_server_that_is_busy_to_the_end_is_not_a_silent_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has answered 429 all the time, so that is what the error says, wherever the time runs out."""

    async def busy(send: Any, count: int) -> None:
        await asyncio.sleep(0.05)
        await begin(send, 429)
        await body(send, '{"detail": "slow down"}')

    monkeypatch.setattr(limits, "LONGEST_PAUSE", 0.001)
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.001)
    with serving_application(answering_calls(busy, "/scribe/tools")) as server:
        for _ in range(4):
            assert (
                failing(lambda: asked(server, asked_for("/scribe/tools", within=0.5)), Refused) == "HTTP 429: slow down"
            )


async def trickle(send: Any, count: int) -> None:
    """Never silent, and never done."""
    await begin(send)
    for _ in range(1000):
        await body(send, ":", more=True)
        await asyncio.sleep(0.02)


async def comments(send: Any, count: int) -> None:
    """A task, and comments without end."""
    await begin(send)
    await body(send, "event: task_id\ndata: t1\n\n", more=True)
    for _ in range(1000):
        await body(send, ": ping\n\n", more=True)
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("answer", [trickle, comments])
@pytest.mark.parametrize(
    "path", ["/create_session", "/create", "/scribe/prompt", "/scribe/task_tools", "/scribe/call", "/delete"]
)
def test_every_wait_has_a_deadline(answer: Callable[[Any, int], Awaitable[None]], path: str) -> None:
    """Bytes that trickle in and comments that never end keep no request alive beyond its time."""

    async def play(session: Session) -> Any:
        await session.prompt()
        await session.ask("task_tools")
        return await session.call("write", {"text": "x"})

    with serving_application(answering_calls(answer, path)) as server:
        began = time.monotonic()
        try:
            in_session(server, play, open_within=0.5, call_within=0.5)
            assert path == "/delete"
        except Late as late:
            assert str(late) == "the server did not answer within 0.5 seconds"
        assert time.monotonic() - began < 5


def test_a_call_may_take_its_time_while_pings_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that says nothing at all, not even its task, is waited for until the call's own deadline."""
    monkeypatch.setattr(limits, "SILENT_FOR", 0.1)
    monkeypatch.setattr(limits, "PING_EVERY", 0.1)

    async def slow(send: Any, count: int) -> None:
        await begin(send)
        await asyncio.sleep(1.0)
        output = {"ok": True, "output": {"blocks": [{"type": "text", "text": "done"}]}}
        await body(send, f"event: end\ndata: {json.dumps(output)}\n\n")

    with serving_application(answering_calls(slow)) as server:
        assert in_session(server, write("x")).blocks[0]["text"] == "done"
        assert server.paths().count("POST /ping") >= 5
        assert server.paths().count("POST /scribe/call") == 1


def test_a_stream_that_falls_silent_is_taken_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once its task is known: a connection that died without a word is replaced, and the tool runs once."""
    monkeypatch.setattr(limits, "SILENT_FOR", 0.3)
    app, count = app_of(), 0

    async def dying(scope: Any, receive: Any, send: Any) -> None:
        nonlocal count

        async def first_events_only(message: Any) -> None:
            if count == 1 and b"event: end" in message.get("body", b""):
                await asyncio.sleep(60)
            await send(message)

        count += scope.get("path") == "/scribe/call"
        await app(scope, receive, first_events_only if scope.get("path") == "/scribe/call" else send)

    with serving_application(dying) as server:
        assert in_session(server, write("once")).blocks[0]["text"] == "once"
    assert (Scribe.ran["once"], count) == (1, 2)


def test_a_call_that_the_server_has_forgotten_is_lost() -> None:
    """It was started anew in between, say. No tool has raised this, so the model is not told that one did."""
    from openreward.environments import reconnect

    app, count = app_of(), 0

    async def forgetting(scope: Any, receive: Any, send: Any) -> None:
        nonlocal count

        async def first_events_only(message: Any) -> None:
            if count == 1 and b"event: end" in message.get("body", b""):
                reconnect.tasks.clear()
                raise ConnectionError
            await send(message)

        count += scope.get("path") == "/scribe/call"
        await app(scope, receive, first_events_only if scope.get("path") == "/scribe/call" else send)

    with serving_application(forgetting) as server:
        assert "has forgotten the call" in failing(lambda: in_session(server, write("once")), Malformed)
    assert (Scribe.ran["once"], count) == (1, 2)


def test_a_task_whose_creation_was_answered_into_the_void_is_open() -> None:
    """The server created it and the answer was lost: it is there, so nothing is created twice."""
    app, lost = app_of(), 0

    async def losing(scope: Any, receive: Any, send: Any) -> None:
        async def lose(message: Any) -> None:
            nonlocal lost
            await breaking_off(send, message)
            lost += 1

        await app(scope, receive, lose if scope.get("path") == "/create" and not lost else send)

    with serving_application(losing) as server:
        assert in_session(server, write("x")).blocks[0]["text"] == "x"
        assert server.paths().count("POST /create") == 1 and lost == 1


@pytest.mark.parametrize("odd", [b"null", b"", b"[]", b'{"sid": "s', b"<html>"])
def test_a_task_whose_creation_was_answered_oddly_is_open_if_it_is_there(odd: bytes) -> None:
    """What stands in the way may answer in the server's place: then the task is not there, and the answer is told."""
    app = app_of()

    async def answering_oddly(scope: Any, receive: Any, send: Any) -> None:
        async def instead(message: Any) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body"):
                await begin(send, 200, (b"content-type", b"application/json"))
                await body(send, odd)

        await app(scope, receive, instead if scope.get("path") == "/create" else send)

    with serving_application(answering_oddly) as server:
        assert in_session(server, write("x")).blocks[0]["text"] == "x"

    async def alone(send: Any, count: int) -> None:
        await begin(send, 200, (b"content-type", b"application/json"))
        await body(send, odd)

    with serving_application(answering_calls(alone, "/create")) as server:
        assert "404" not in failing(lambda: in_session(server, write("x")), Malformed)
        assert server.paths().count("POST /create") == 1


def test_a_task_that_already_exists_is_open() -> None:
    """The same where the server is too busy for the ping that asks whether it is there."""
    app = app_of()
    lost: list[int] = []

    async def losing(scope: Any, receive: Any, send: Any) -> None:
        async def lose(message: Any) -> None:
            lost.append(1)
            await breaking_off(send, message)

        if scope.get("path") == "/ping":
            await begin(send, 500)
            await body(send, "")
            return
        await app(scope, receive, lose if scope.get("path") == "/create" and not lost else send)

    with serving_application(losing) as server:
        assert in_session(server, write("x")).blocks[0]["text"] == "x"
        assert server.paths().count("POST /create") == 2


def test_answers_have_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of bytes that are sent, of bytes that unpack, and of streams; the bomb is not unpacked whole."""
    monkeypatch.setattr(limits, "ANSWER_BYTES", 1 << 20)
    bomb = gzip.compress(b" " * (64 << 20))

    async def packed(send: Any, count: int) -> None:
        await begin(send, 200, (b"content-encoding", b"gzip"))
        await body(send, bomb)

    async def endless(send: Any, count: int) -> None:
        await begin(send)
        for _ in range(64):
            await body(send, "data: " + "x" * 65536 + "\n", more=True)

    for answer in (packed, endless):
        with serving_application(answering_calls(answer)) as server:
            assert "longer than 1 MiB" in failing(lambda server=server: in_session(server, write("x")), Malformed)  # type: ignore[misc]
    with serving_application(answering_calls(packed, "/scribe/tools")) as server:
        question = asked_for("/scribe/tools", size=1 << 20)
        assert "larger than 1 MiB" in failing(lambda: asked(server, question), Malformed)


def asked_for(path: str, **options: Any) -> Callable[[Client], Awaitable[Any]]:
    return lambda client: client.send("GET", path, **({"within": 5} | options))


def test_connections_are_used_again() -> None:
    """The stream is read to its end, so fifty calls need one connection, and one more for pings and the like."""
    connections = set()
    app = app_of()

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            connections.add(scope["client"])
        await app(scope, receive, send)

    async def play(session: Session) -> None:
        for number in range(50):
            await session.call("step", {"number": number})

    with serving_application(watched) as server:
        in_session(server, play)
    assert len(connections) <= 2


def test_a_proxy_never_stands_before_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTP_PROXY is for other hosts; NO_PROXY takes some of them out."""
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    proxy_for.cache_clear()
    found = {
        host: proxy_for(f"http://{host}:80/") for host in ("127.0.0.1", "localhost", "[::1]", "inside.example", "x.org")
    }
    assert found == dict.fromkeys(("127.0.0.1", "localhost", "[::1]", "inside.example")) | {
        "x.org": "http://proxy.example:3128"
    }
    assert proxy_for("https://x.org/") is None
    proxy_for.cache_clear()


def test_a_request_to_another_host_goes_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an absolute URL, which is how a proxy is asked; here one that runs on loopback."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await begin(send)
            await body(send, '{"status": "ok"}')

    with serving_application(answer) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        proxy_for.cache_clear()

        async def ask() -> Any:
            async with Pool() as pool:
                return await Client(endpoint("http://elsewhere.example", "scribe"), pool).get("/health", within=5)

        assert asyncio.run(ask()) == {"status": "ok"}
        assert proxy.requests[0].headers["host"] == "elsewhere.example"
    proxy_for.cache_clear()


def test_netrc_is_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Credentials come from the URL or as a key, and from nowhere else."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login ada password hush\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with running(Scribe) as server:
        asked(server, asked_for("/scribe/tools"))
        assert "authorization" not in server.requests[0].headers


def test_a_server_that_is_not_there_is_tried_a_few_times() -> None:
    """Nothing was sent, so even a call may be; the message says what happened, without the library's own words."""
    server = RunningServer(dead_url())
    message = failing(lambda: asked(server, asked_for("/health")), Unreachable)
    assert message == f"cannot connect to {server.url.removeprefix('http://')}: Connection refused"


def test_an_answer_that_is_not_http() -> None:
    """It is not an HTTP 400, which is what the library makes of it."""

    async def run() -> str:
        async def nonsense(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
            await writer.drain()
            writer.close()

        listener = await asyncio.start_server(nonsense, "127.0.0.1", 0)
        async with listener, Pool() as pool:
            port = listener.sockets[0].getsockname()[1]
            try:
                await Client(endpoint(f"http://127.0.0.1:{port}", "x"), pool, sends=1).get("/health", within=5)
            except Failure as failure:
                return str(failure)
        return ""

    assert asyncio.run(run()) == "the server answered with something that is not HTTP"


def test_an_exception_of_the_environment_is_not_a_lost_connection() -> None:
    """The stream says so, with the message of the exception."""

    async def raising(send: Any, count: int) -> None:
        await begin(send)
        await body(send, "event: task_id\ndata: t\n\nevent: error\ndata: no\x1b[31m disk\n\n")

    with serving_application(answering_calls(raising)) as server:
        assert failing(lambda: in_session(server, write("x")), ToolRaised) == r"no\x1b[31m disk"
        assert server.paths().count("POST /scribe/call") == 1


def test_neither_generating_nor_training_imports_the_sdk() -> None:
    """It costs seconds, and brings the SDKs of two model vendors along."""
    import subprocess
    import sys

    program = """
import sys
from pathlib import Path
from orl_codegen import OpenRewardSpec
from orl_codegen.cli import _status
from tests.runtime.adapters import Echo
assert _status([sys.argv[1], "-o", sys.argv[2], "-q", "--no-type-check"]) == 0
rollout = OpenRewardSpec(Echo, base_url=sys.argv[1], num_tasks=2).environment_factory()
rollout.reset(task_index=0)
assert rollout.echo(text="word0") == "match", rollout.failure
print(sorted({name.split(".")[0] for name in sys.modules} & {"openreward", "openai", "anthropic", "fastapi"}))
"""
    import tempfile

    with running(Echo) as server, tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", program, server.url, folder]
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
        assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


def test_a_hung_server_is_noticed_while_it_is_asked_for_an_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to ping yet, and no comment comes: half a minute of silence is enough."""
    monkeypatch.setattr(limits, "SILENT_FOR", 0.2)

    async def silent(send: Any, count: int) -> None:
        await begin(send)
        await body(send, ": hello\n\n", more=True)
        await asyncio.sleep(30)

    with serving_application(answering_calls(silent, "/create_session")) as server:
        began = time.monotonic()
        assert "said nothing" in failing(lambda: in_session(server, write("x")), Unreachable)
        assert time.monotonic() - began < 4
    with serving_application(hanging(("/create_session",), app_of())) as server:
        assert "did not answer" in failing(lambda: in_session(server, write("x"), open_within=0.5), Late)
