"""The ORS server of a stand-in: the routes, statuses and words of the SDK's server, for any `World`.

A test asks both the same questions (`tests/standin/test_against_the_sdk_server.py`). What is not here: the pages that
describe the SDK's own API, and built-in toolsets, of which a snapshot knows the tools and not the names.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from orl_codegen.ors import limits
from orl_codegen.standin.bodies import body_of
from orl_codegen.standin.routing import refusal, route_of
from orl_codegen.standin.world import JSON, Called, NotServed, Play, Raised, World, listing, split_names
from orl_codegen.version import __version__

if TYPE_CHECKING:
    from aiohttp import web

CHUNK = 4096
"""Characters in one event of a stream."""

UNHEARD_FOR = 900.0
"""Seconds without a request until a session is given up."""

KEPT_FOR = 60.0
"""Seconds that the result of a call can be asked for again."""

MOST_TASKS = 100_000
"""Tasks in one answer."""

_THERE = "Active environment not found"


@dataclass
class Room:
    """A session, and when it was last heard of."""

    play: Play
    heard: float


@dataclass
class Desk:
    """The state of a server: its sessions, and the results of calls that a client may have missed.

    Attributes:
        world: The environment.
        on_call: Told of each call.
    """

    world: World
    on_call: Callable[[Called], None]
    rooms: dict[str, Room] = field(default_factory=dict)
    results: dict[str, tuple[float, JSON | Raised]] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """A request, as far as routes look at it."""

    server: Desk
    content: bytes
    content_type: str
    session_header: str

    @property
    def sid(self) -> str:
        """The id of the session."""
        if not self.session_header:
            raise NotServed(400, "X-Session-ID header is required")
        return self.session_header.strip()

    def play(self) -> Play:
        """The session."""
        room = self.server.rooms.get(self.sid)
        if room is None:
            raise NotServed(404, _THERE)
        room.heard = time.monotonic()
        return room.play

    def body(self, route: str) -> JSON:
        """The body, checked."""
        return body_of(route, self.content, self.content_type)

    def split(self, route: str) -> JSON:
        """The body of a route about tasks, with a split that exists."""
        body = self.body(route)
        if body["split"] not in split_names(self.server.world.snapshot):
            raise NotServed(400, "Invalid split")
        return body


@dataclass(frozen=True)
class Stream:
    """An answer as an event stream: the task that it names, and the result; None if there is no such task."""

    task_id: str
    result: str | Raised | None


def application(server: Desk) -> web.Application:
    """The application that aiohttp serves."""
    from aiohttp import web

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            route = _ANSWERS[route_of(request, server.world.snapshot.variant)]
            content = await request.read()
            header = request.headers.get("X-Session-ID", "")
            question = Question(server, content, request.content_type if content else "", header)
            return _response(route(question))
        except web.HTTPRequestEntityTooLarge:
            return web.json_response({"detail": "The body is too large"}, status=413)
        except NotServed as refused:
            return refusal(refused)

    made = web.Application(client_max_size=limits.ANSWER_BYTES)
    made.router.add_route("*", "/{path:.*}", answer)
    return made


def _response(answer: Any) -> web.Response:
    from aiohttp import web

    if not isinstance(answer, Stream):
        return web.json_response(answer)
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    text = "".join(_event(*event) for event in _events(answer))
    return web.Response(text=text, content_type="text/event-stream", headers=headers)


def _events(stream: Stream) -> list[tuple[str, str]]:
    if stream.result is None:
        return [("error", "unknown task_id")]
    named = ("task_id", stream.task_id)
    if isinstance(stream.result, Raised):
        return [named, ("error", stream.result.text)]
    *first, last = [stream.result[at : at + CHUNK] for at in range(0, len(stream.result), CHUNK)] or [""]
    return [named, *(("chunk", piece) for piece in first), ("end", last)]


def _event(name: str, data: str) -> str:
    lines = "".join(f"data: {line}\r\n" for line in re.split("\r\n|\r|\n", data))
    return f"event: {name}\r\n{lines}\r\n"


# The routes.


def _ping(question: Question) -> JSON:
    question.play()
    return {"status": "ok"}


def _create(question: Question) -> JSON:
    sid, server = question.sid, question.server
    body = question.body("create")
    if sid in server.rooms:
        raise NotServed(400, "Session already exists")
    name, snapshot = body["env_name"], server.world.snapshot
    if name is not None and name.lower() != snapshot.variant.lower():
        raise NotServed(404, f"unknown environment {name!r}")
    if body["task_spec"] is None and body["split"] not in split_names(snapshot):
        raise NotServed(400, "Invalid split")
    spec = body["task_spec"] if body["task_spec"] is not None else _task_at(server.world, body["split"], body["index"])
    if body["toolset_name"] not in (None, snapshot.toolset):
        known = [snapshot.toolset] if snapshot.toolset else []
        raise NotServed(400, f"unknown toolset {body['toolset_name']!r}; valid options are {known}")
    _forget(server)
    server.rooms[sid] = Room(server.world.play(spec), time.monotonic())
    return {"sid": sid}


def _forget(server: Desk) -> None:
    """Give up what nobody has asked for in a while."""
    now = time.monotonic()
    server.rooms = {sid: room for sid, room in server.rooms.items() if now - room.heard <= UNHEARD_FOR}
    server.results = {id: kept for id, kept in server.results.items() if now - kept[0] <= KEPT_FOR}


def _delete(question: Question) -> JSON:
    question.server.rooms.pop(question.sid, None)
    return {"sid": question.sid}


def _task_at(world: World, split: str, index: int) -> JSON:
    """As Python's lists, the SDK's server counts from the end where an index is negative."""
    count = world.num_tasks(split)
    if not -count <= index < count:
        raise NotServed(400, "Invalid index")
    return world.task(split, index % count)


def _task(question: Question) -> JSON:
    body, world = question.split("task"), question.server.world
    return {"task": _task_at(world, body["split"], body["index"]), "env_name": world.snapshot.variant}


def _tasks(question: Question) -> JSON:
    return _range(question.server.world, question.split("tasks")["split"], slice(None))


def _task_range(question: Question) -> JSON:
    body = question.split("task_range")
    return _range(question.server.world, body["split"], slice(body["start"], body["stop"]))


def _range(world: World, split: str, wanted: slice) -> JSON:
    indices = range(world.num_tasks(split))[wanted]
    if len(indices) > MOST_TASKS:
        raise NotServed(400, f"At most {MOST_TASKS} tasks are listed at once. Use the index-based API instead.")
    return {"tasks": [world.task(split, index) for index in indices], "env_name": world.snapshot.variant}


def _splits(question: Question) -> list[JSON]:
    snapshot = question.server.world.snapshot
    return [dict(split) for split in snapshot.splits] or [{"name": snapshot.split, "type": "train"}]


def _call(question: Question) -> Stream:
    play = question.play()
    body = question.body("call")

    def carry_out() -> JSON | Raised:
        result = play.call(body["name"], body["input"])
        question.server.on_call(_called(play, body, result))
        return result

    return _stream(question.server, body["task_id"], carry_out)


def _called(play: Play, body: JSON, result: JSON | Raised) -> Called:
    done = isinstance(result, Raised) or result.get("ok") is True
    output = {} if isinstance(result, Raised) else result.get("output") or {}
    reason = None if isinstance(result, Raised) else result.get("reason")
    return Called(play.task, body["name"], body["input"], done, output.get("reward"), reason)


def _score_group(question: Question) -> Stream:
    play = question.play()
    body, snapshot = question.body("score_group"), question.server.world.snapshot
    if not snapshot.supports_score_group:
        raise NotServed(404, f"Environment {snapshot.variant!r} does not implement score_group")
    return _stream(question.server, body["task_id"], lambda: play.score_group(body["candidates"]))


def _stream(server: Desk, task_id: str | None, work: Callable[[], JSON | Raised]) -> Stream:
    """The result of some work, or that of the task that is named: it was done before, and is not done again."""
    if task_id is None:
        task_id = uuid.uuid4().hex
        _forget(server)
        server.results[task_id] = (time.monotonic(), work())
    _, result = server.results.get(task_id, (0.0, None))
    if result is None or isinstance(result, Raised):
        return Stream(task_id, result)
    return Stream(task_id, json.dumps(result, separators=(",", ":")))


def _asking(route: str) -> Callable[[Question], Any]:
    return lambda question: question.play().ask(route)


_ANSWERS: dict[str, Callable[[Question], Any]] = {
    "health": lambda _: {"status": "ok"},
    "version": lambda _: {"version": f"orl-codegen {__version__}", "build_sha": None},
    "list_environments": lambda question: [question.server.world.snapshot.variant],
    "create_session": lambda _: Stream(str(uuid.uuid4()), ""),
    "delete_session": lambda question: {"sid": question.sid},
    "create": _create,
    "delete": _delete,
    "ping": _ping,
    "tools": lambda question: listing(question.server.world.snapshot),
    "splits": _splits,
    "tasks": _tasks,
    "num_tasks": lambda question: {"num_tasks": question.server.world.num_tasks(question.split("num_tasks")["split"])},
    "task": _task,
    "task_range": _task_range,
    "prompt": _asking("prompt"),
    "messages": _asking("messages"),
    "task_tools": _asking("task_tools"),
    "call": _call,
    "score_group": _score_group,
}
