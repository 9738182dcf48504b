"""A cassette: what passed between clients and an environment, as an immutable value and as a file.

The file is JSON with fixed keys, its sessions in the order of their tasks, without a clock, a session id, a header, a
key or a secret. It has no digest, as a snapshot has: to write a result into it by hand is a good use of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from orl_codegen.errors import UNSEEN, SnapshotError, json_escape, printable
from orl_codegen.generator import snapshot as snapshots
from orl_codegen.generator.snapshot import Snapshot
from orl_codegen.ors.unicode import json_of
from orl_codegen.schema.json_values import canonical, same
from orl_codegen.standin.world import JSON, Raised

T = TypeVar("T")

CASSETTE_FORMAT = 1

ASKED = ("prompt", "messages", "task_tools")
"""The routes of a session that are asked without a body."""

DONE = {"call": ("name", "input"), "score_group": ("candidates",)}
"""The routes of a session that something happens in, with the keys of their bodies."""

DEEPEST = 100
"""Levels of JSON in a value that a cassette holds. Nobody's results have as many, and every reader can take them."""


@dataclass(frozen=True)
class Exchange:
    """One thing that was done in a session: a call, or scoring a group.

    Attributes:
        route: `call` or `score_group`.
        body: What was sent, without the id of a task.
        result: The JSON that the stream ended with, or the exception of the environment.
    """

    route: str
    body: JSON
    result: JSON | Raised

    @cached_property
    def key(self) -> str:
        """Equal for equal requests."""
        return request_key(self.route, self.body)


@dataclass(frozen=True)
class RecordedSession:
    """A session.

    Attributes:
        task: The spec of its task.
        answers: What was answered to each of `ASKED` that was asked.
        exchanges: What was done in it, in order.
    """

    task: JSON
    answers: Mapping[str, Any] = field(default_factory=dict)
    exchanges: tuple[Exchange, ...] = ()


@dataclass(frozen=True)
class Cassette:
    """What was recorded.

    Attributes:
        snapshot: What the environment offers to all tasks.
        tasks: The specs of tasks by split and index, as far as they were asked for.
        sessions: The sessions in the order in which they began.
    """

    snapshot: Snapshot
    tasks: Mapping[tuple[str, int], JSON]
    sessions: tuple[RecordedSession, ...]


def request_key(route: str, body: JSON) -> str:
    """One text for each request; the order of its keys means nothing."""
    return canonical([route, body])


def is_deep(value: Any) -> bool:
    """Whether a value has more than `DEEPEST` levels."""
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for part in level if isinstance(part, (dict, list)) for inner in _parts(part)]
        if not level:
            return False
    return True


def _parts(value: dict[str, Any] | list[Any]) -> Any:
    return value.values() if isinstance(value, dict) else value


def is_cassette(text: str) -> bool:
    """Whether a text says of itself that it is a cassette."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(whole, dict) and "cassette" in whole


def cassette_text(cassette: Cassette) -> str:
    """The cassette as the text of its file. What could fool whoever reviews it stands escaped, as in a snapshot."""
    tasks = sorted(cassette.tasks.items())
    # Those of one task keep their order.
    sessions = sorted(cassette.sessions, key=lambda session: canonical(session.task))
    whole = {
        "cassette": CASSETTE_FORMAT,
        "snapshot": json.loads(snapshots.dump(cassette.snapshot)),
        "tasks": [{"split": split, "index": index, "task": task} for (split, index), task in tasks],
        "sessions": [_session_json(session) for session in sessions],
    }
    text = json.dumps(whole, indent=2, ensure_ascii=False)
    return UNSEEN.sub(lambda found: json_escape(found[0]), text) + "\n"


def _session_json(session: RecordedSession) -> JSON:
    answers = {route: session.answers[route] for route in ASKED if route in session.answers}
    return {"task": session.task, "answers": answers, "exchanges": [_exchange_json(each) for each in session.exchanges]}


def _exchange_json(exchange: Exchange) -> JSON:
    ended = {"raised": exchange.result.text} if isinstance(exchange.result, Raised) else {"result": exchange.result}
    return {"route": exchange.route, **{key: exchange.body[key] for key in DONE[exchange.route]}, **ended}


def cassette_of(text: str, name: str) -> Cassette:
    """Read the text of a cassette; `name` identifies it in errors.

    Raises:
        SnapshotError: The text is not a cassette, or has another format version.
    """
    again = "Record it again: orl-codegen record URL --cassette FILE."
    try:
        whole = _is(dict, json_of(text), "the file")
        if not same(whole.get("cassette"), CASSETTE_FORMAT):
            raise SnapshotError(
                f"{name} has a format that this version of orl-codegen cannot read (it reads cassettes of format "
                f"{CASSETTE_FORMAT}). {again[:-1]}, or install the version that wrote it."
            )
        return _cassette(whole, name)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"{name} is not a cassette: {printable(error)}. {again}") from None


def _cassette(whole: JSON, name: str) -> Cassette:
    if is_deep(whole):
        raise ValueError(f"it is nested more than {DEEPEST} levels deep")
    taken = snapshots.load(json.dumps(_item(whole, "snapshot", dict, "the file")), f"The snapshot in {name}")
    sessions = _objects(whole, "sessions", "the file")
    return Cassette(
        taken,
        dict(_task(*numbered) for numbered in enumerate(_objects(whole, "tasks", "the file"))),
        tuple(_session(session, f"session {number}") for number, session in enumerate(sessions)),
    )


def _task(number: int, entry: JSON) -> tuple[tuple[str, int], JSON]:
    where = f"entry {number} of `tasks`"
    place = _item(entry, "split", str, where), _item(entry, "index", int, where)
    return place, _item(entry, "task", dict, where)


def _session(session: JSON, where: str) -> RecordedSession:
    exchanges = _objects(session, "exchanges", where)
    answers = _item(session, "answers", dict, where)
    for route in answers:
        if route not in ASKED:
            raise ValueError(f"`answers` of {where} has the key `{route}`, and not one of {', '.join(ASKED)}")
    read = (_exchange(each, f"exchange {number} of {where}") for number, each in enumerate(exchanges))
    return RecordedSession(_item(session, "task", dict, where), answers, tuple(read))


def _exchange(entry: JSON, where: str) -> Exchange:
    route = _item(entry, "route", str, where)
    if route not in DONE:
        raise ValueError(f"`route` of {where} is `{route}`, and not one of {', '.join(DONE)}")
    kinds: dict[str, type[Any]] = {"name": str, "input": dict, "candidates": list}
    body = {key: _item(entry, key, kinds[key], where) for key in DONE[route]}
    if "raised" in entry:
        return Exchange(route, body, Raised(_item(entry, "raised", str, where)))
    result = _item(entry, "result", dict, where)
    if not is_result(route, result):
        raise ValueError(f"`result` of {where} is not one of a {route}")
    return Exchange(route, body, result)


def is_result(route: str, result: object) -> bool:
    """Whether the JSON that a stream ends with is what a client of the standard expects."""
    if not isinstance(result, dict):
        return False
    if route == "score_group":
        return isinstance(result.get("scores"), list)
    return isinstance(result.get("output"), dict) if result.get("ok") is True else result.get("ok") is False


def _objects(value: JSON, key: str, where: str) -> list[JSON]:
    return [_is(dict, part, f"an entry of `{key}` of {where}") for part in _item(value, key, list, where)]


def _item(value: JSON, key: str, kind: type[T], where: str) -> T:
    if key not in value:
        raise ValueError(f"{where} has no `{key}`")
    return _is(kind, value[key], f"`{key}` of {where}")


def _is(kind: type[T], value: object, what: str) -> T:
    if type(value) is not kind:  # isinstance would take a bool for an int
        raise ValueError(f"{what} is not of type {kind.__name__}")
    return value
