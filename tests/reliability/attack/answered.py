"""What is said of answers in which every text is hostile: by the command line, and while a model is trained."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import random
import socketserver
import threading
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, get_args

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import OrlCodegenError
from orl_codegen.ors import limits
from orl_codegen.runtime import Environment, RolloutAdapter, TerminalTool, ToolResult, tool
from orl_codegen.runtime.plan import OnResetFailure, Prompts
from tests.reliability.attack import judges
from tests.reliability.attack.payloads import PAYLOADS, disguised
from tests.reliability.attack.written import Trial, failed, folder
from tests.support.cli import orl_codegen

Answer = bytes


def http(body: bytes, status: str = "200 OK", kind: str = "application/json", headers: str = "") -> Answer:
    """A whole answer, with whatever a header or a reason phrase holds."""
    ours = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    return f"HTTP/1.1 {status}\r\n{ours}{headers}\r\n".encode("latin-1", "replace") + body


def ok(content: Any) -> Answer:
    return http(json.dumps(content).encode())


def stream(*events: tuple[str, str]) -> Answer:
    """An event stream; text of several lines has a `data:` for each."""
    lines = [f"event: {kind}\n" + "".join(f"data: {line}\n" for line in text.split("\n")) for kind, text in events]
    return http("\n".join([*lines, ""]).encode("utf-8", "replace"), kind="text/event-stream")


TOOL = {
    "name": "go",
    "description": "Go.",
    "input_schema": {"type": "object", "properties": {"way": {"type": "string"}}},
}
BLOCK = {"type": "text", "text": "Well done."}

GOOD: Mapping[str, Answer] = {
    "list_environments": ok(["made"]),
    "splits": ok([{"name": "train", "type": "train"}]),
    "tools": ok({"tools": [TOOL], "terminal_tool": None, "supports_score_group": True}),
    "num_tasks": ok({"num_tasks": 1}),
    "task_range": ok({"tasks": [{"question": "?"}]}),
    "create_session": stream(("task_id", "s1"), ("end", json.dumps({"sid": "s1"}))),
    "create": ok({"sid": "s1"}),
    "task_tools": ok({"tools": [TOOL]}),
    "prompt": ok([BLOCK]),
    "messages": ok([{"role": "user", "blocks": [BLOCK]}]),
    "call": stream(("task_id", "t1"), ("end", json.dumps({"ok": True, "output": {"blocks": [BLOCK], "reward": 1.0}}))),
    "score_group": stream(("task_id", "t2"), ("end", json.dumps({"scores": [{"reward": 1.0}]}))),
    "ping": ok({}),
    "delete": ok({}),
    "delete_session": ok({}),
}
"""A server on which everything goes well, by the last part of the path."""

GENERATION = ("list_environments", "splits", "tools", "num_tasks", "create_session", "create", "task_tools")
TRAINING = ("task_range", "create_session", "create", "task_tools", "prompt", "messages", "call", "score_group")


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")[:4000]


STATUSES = (
    "400 Bad Request",
    "401 Unauthorized",
    "404 Not Found",
    "422 Unprocessable",
    "429 Slow",
    "500 Error",
    "503 No",
)

WAYS: Mapping[str, Callable[[str, str], Answer]] = {
    "a detail": lambda text, status: http(json.dumps({"detail": text}).encode(), status),
    "a list of details": lambda text, status: http(
        json.dumps({"detail": [{"loc": ["body", text], "msg": text, "type": text}]}).encode(), status
    ),
    "the text of an error": lambda text, status: http(text.encode("utf-8", "replace"), status, "text/plain"),
    "a reason phrase": lambda text, status: http(b"", f"{status[:3]} {_one_line(text)}"),
    "a redirect": lambda text, _: http(b"", "302 Found", headers=f"Location: {_one_line(text)}\r\n"),
    "headers": lambda text, status: http(
        b"{}", status, headers="".join(f"{name}: {_one_line(text)}\r\n" for name in HEADERS)
    ),
    "a cookie": lambda text, status: http(
        b"{}", status, headers=f"Set-Cookie: {_one_line(text)}=1; Path={text[:9]!r}\r\n"
    ),
    "a type of content": lambda text, status: http(b"{}", "200 OK", kind=_one_line(text)),
    "no JSON": lambda text, _: http(text.encode("utf-8", "replace")),
    "JSON of another kind": lambda text, _: ok({text: text, "tools": [{"name": [text]}], "tasks": text}),
    "a list of names": lambda text, _: ok([text, f"{text}2"]),
    "a list": lambda text, _: ok([text, {"name": text}]),
    "a bare text": lambda text, _: ok(text),
    "a tool without a name": lambda text, _: ok({"tools": [{text: text}], "sid": text, "num_tasks": text}),
    "other tools": lambda text, _: ok({"tools": [TOOL | {"description": text}, TOOL | {"name": text}, TOOL]}),
    "a required parameter": lambda text, _: ok({"tools": [_requiring(text)]}),
    "an event of an error": lambda text, _: stream(("task_id", "t"), ("error", text)),
    "an end that is no JSON": lambda text, _: stream(("task_id", "t"), ("end", text)),
    "an odd event": lambda text, _: stream((_one_line(text), text), ("task_id", text)),
    "no HTTP": lambda text, _: text.encode("utf-8", "replace") + b"\r\n\r\n",
    "a refusal": lambda text, _: _called(ok=False, error=text, reason=text),
    "a refusal that quotes": lambda text, _: _called(
        ok=False, error=f"Tool input validation error: {[{'loc': (text,), 'msg': text}]!r}", reason="input_validation"
    ),
    "a refusal in odd Python": lambda text, _: _called(
        ok=False, error=f"Tool input validation error: [{{'loc': ('\\\x1b',), 'msg': '{text}'}}]"
    ),
    "an odd output": lambda text, _: _called(ok=True, output=text),
    "odd fields": lambda text, _: _called(
        ok=True,
        output={"blocks": [{"type": text}, text], "reward": text, "finished": text, "metadata": {text: text}},
    ),
    "odd scores": lambda text, _: stream(("task_id", "t"), ("end", json.dumps({"scores": [{"reward": text}]}))),
    "a picture": lambda text, _: ok([{"type": "image", "mimeType": text, "data": text}]),
}
"""How a server may answer any question, given a hostile text and a status."""

HEADERS = ("Retry-After", "Location", "X-Backend-State", "Date", "ETag", "Server", "WWW-Authenticate", "X-Odd")


def _requiring(text: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"way": {"type": "string"}, text: {}}, "required": [text, "way"]}
    return TOOL | {"input_schema": schema}


def _called(**answer: Any) -> Answer:
    return stream(("task_id", "t"), ("end", json.dumps(answer)))


class _Server(socketserver.ThreadingTCPServer):
    """Answers by the last part of the path, and closes the connection."""

    daemon_threads, allow_reuse_address, request_queue_size = True, True, 256
    answers: Mapping[str, Answer] = GOOD

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        request, length = self.rfile.readline().decode("latin-1"), 0
        while (line := self.rfile.readline().strip().lower()) != b"":
            length = int(line.partition(b":")[2]) if line.startswith(b"content-length:") else length
        self.rfile.read(length)
        route = request.split(" ")[1].rpartition("/")[2] if " " in request else ""
        assert isinstance(self.server, _Server)
        with contextlib.suppress(OSError):
            self.wfile.write(self.server.answers.get(route, http(b"", "404 Not Found")))


@contextlib.contextmanager
def answering_server() -> Iterator[_Server]:
    """A server whose `answers` may be exchanged."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Made(RolloutAdapter):
    """The tools of `GOOD`."""

    _environment = Environment(
        target="http://127.0.0.1:1", variant="made", terminal_tool=TerminalTool("go", arg="way"), group_scoring=True
    )

    @tool("go")
    def go(self, *, way: str) -> ToolResult:
        """Go.

        Args:
            way: Where to.
        """
        return self._call("go", {"way": way})


def trials(
    seed: int, count: int, payloads: Collection[str] = PAYLOADS.keys(), ways: Collection[str] = WAYS.keys()
) -> Iterator[Trial]:
    """Answers with hostile texts; each way of each route occurs, as often as `count` allows."""
    chance = random.Random(f"{seed} answered")
    texts = [*payloads] * (count // len(payloads) + 1)
    chance.shuffle(texts)
    kinds = [(route, way, *asked) for way in ways for *asked, routes in _ASKED for route in routes]
    chance.shuffle(kinds)
    with answering_server() as server, folder(), _quick():
        for number in range(count):
            route, way, channel, asked = kinds[number % len(kinds)]
            status = chance.choice(STATUSES)
            server.answers = GOOD | {route: WAYS[way](disguised(PAYLOADS[texts[number]], chance), status)}
            told = f"{number}: {texts[number]!r}, {way} ({status}) of /{route}"
            yield Trial(channel, 1, tuple(f"{told}: {fault}" for fault in asked(server.url, chance)))


@contextlib.contextmanager
def _quick() -> Iterator[None]:
    """The waits of training, each a small part of what it is."""
    waits = {"FIRST_PAUSE": 0.01, "LONGEST_PAUSE": 0.02, "OPEN_WITHIN": 0.5, "ANSWER_WITHIN": 0.5, "CLOSE_WITHIN": 0.5}
    before = {name: getattr(limits, name) for name in waits}
    vars(limits).update(waits)
    try:
        yield
    finally:
        vars(limits).update(before)


def _generated(url: str, chance: random.Random) -> Iterator[str]:
    """The command line, with all of its notes."""
    with _listening() as said:
        outcome = orl_codegen(
            "generate", url, "-o", "out", "--no-type-check", "-v", "--timeout", "0.5", "--allow-partial"
        )
    if outcome.status == 2:
        yield from failed(outcome)
    yield from judges.log(outcome.out + outcome.err + "\n".join(said))


def _trained(url: str, chance: random.Random) -> Iterator[str]:
    """A rollout from its dataset to its reward: whatever is raised, logged, warned of or shown on the way."""
    stderr = io.StringIO()
    with _listening() as said, contextlib.redirect_stderr(stderr), contextlib.redirect_stdout(stderr):
        for step in _rollout(url, chance):
            try:
                step()
            except Exception as error:
                said += [repr(error), _whole(error)]
                if not isinstance(error, OrlCodegenError):
                    where = traceback.extract_tb(error.__traceback__)[-1]
                    yield f"{error!r:.200} out of {where.name}, line {where.lineno} of {where.filename[-30:]}"
    for text in [*said, stderr.getvalue()]:
        yield from judges.log(text)
        if len(text) > 20_000:
            yield f"a text of {len(text)} characters: {text[:80]!r}"


_ASKED = (("answers in generation", _generated, GENERATION), ("answers in training", _trained, TRAINING))


def _whole(error: Exception) -> str:
    """What a log shows of an exception that nobody catches, with every other one behind it."""
    return "".join(traceback.format_exception(error)).replace("Traceback (most recent call last):", "")


def _rollout(url: str, chance: random.Random) -> Iterator[Callable[[], object]]:
    prompts, failing = chance.choice(get_args(Prompts)), chance.choice(get_args(OnResetFailure))
    options = {"prompts": prompts, "on_reset_failure": failing, "progress": True}
    spec = OpenRewardSpec(Made, base_url=url, num_tasks=1, call_timeout=1.0, **options)
    adapter: Any = spec.environment_factory()
    yield lambda: spec.train_dataset
    yield lambda: adapter.reset(**(spec.rows[0] if "rows" in vars(spec) else {}))
    yield lambda: adapter.go(way="up")
    completions = [[{"role": "assistant", "content": "Done."}]]
    arguments = {"prompts": ["?"], "completions": completions, "environments": [adapter], "task_index": [0]}
    yield partial(spec.reward_funcs, **arguments)
    yield partial(spec.group_reward, **arguments)
    yield lambda: print(spec, adapter, adapter._plan, spec.environment_factory, adapter.failure)
    yield adapter._close


@contextlib.contextmanager
def _listening() -> Iterator[list[str]]:
    """What is logged and warned of meanwhile, by anybody."""
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(handler.format(record))  # type: ignore[method-assign]
    root, before = logging.getLogger(), logging.getLogger().handlers[:]
    root.handlers = [handler]
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield said
        said += [str(warning.message) for warning in warned]
    finally:
        root.handlers = before
