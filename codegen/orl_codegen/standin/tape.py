"""What a recording keeps of the requests and answers that pass: no header, and no key or secret in any text."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from orl_codegen.errors import SchemaError
from orl_codegen.generator.snapshot import Snapshot, TaskTool
from orl_codegen.ors import limits
from orl_codegen.ors.endpoint import Endpoint
from orl_codegen.ors.event_stream import Event, EventStream
from orl_codegen.ors.failures import without_traceback
from orl_codegen.ors.operation import FORGOTTEN
from orl_codegen.ors.redaction import Mask
from orl_codegen.ors.unicode import json_of
from orl_codegen.standin.cassette import ASKED, DONE, Cassette, Exchange, RecordedSession, is_deep, is_result
from orl_codegen.standin.world import JSON, NotServed, Raised

T = TypeVar("T")


@dataclass
class Begun:
    """Something that was begun in a session, in its place among the others; None until its result has passed."""

    route: str
    body: JSON
    result: JSON | Raised | None = None


@dataclass
class Track:
    """A session that is being recorded."""

    task: JSON
    answers: dict[str, Any] = field(default_factory=dict)
    done: list[Begun] = field(default_factory=list)


class Tape:
    """What has been recorded so far.

    Args:
        where: The server, with the key that was passed for it.
        snapshot: What the environment offers.

    Attributes:
        left_out: Answers that were too large, too deep or too odd to be kept.
        changed: How many there were so far of those that are kept.
    """

    def __init__(self, where: Endpoint, snapshot: Snapshot) -> None:
        if is_deep([*snapshot.tools, snapshot.terminal_tool]):
            raise SchemaError("The schema of a tool is nested too deeply for a cassette. Fix the environment.")
        self.snapshot = snapshot
        self.left_out = self.changed = 0
        self._where = where
        self._values: set[str] = set()
        self._whole: set[str] = set()
        self._mask = Mask(())
        self._tasks: dict[tuple[str, int], JSON] = {}
        self._tracks: list[Track] = []
        self._by_sid: dict[str, Track] = {}
        self._by_task_id: dict[str, Begun] = {}
        self._size = 0

    # What must not be in it.

    def confide(self, headers: Mapping[str, str], env: object) -> None:
        """Learn the key and the secrets that a client sends, before the server can repeat them.

        Args:
            headers: Of a request.
            env: The environment variables in its body, if it has any.

        Raises:
            NotServed: The environment, or one of its splits, is called like one of them.
        """
        values = {*_secrets(headers.get("X-Secrets", "")), headers.get("X-API-Key", ""), *_texts(env)}
        whole = {headers.get("X-Secrets", "").rstrip("=")}
        if values <= self._values and whole <= self._whole:
            return
        if Mask(values).is_in([self.snapshot.variant, *(split["name"] for split in self.snapshot.splits)]):
            told = "The environment, or a split of it, is called like a key or a secret of this request, which a "
            raise NotServed(400, told + "cassette must not hold. Send another value while it is recorded.")
        # Spelled as in JSON, too: environments also repeat JSON in base64, in which no other spelling is looked for.
        self._values |= values | {json.dumps(value)[1:-1] for value in values}
        self._whole |= whole
        self._mask = Mask(self._values, self._whole)

    def _masked(self, value: T) -> T:
        for mask in (self._where.mask, self._mask):
            if mask.is_in(value):
                value = mask.json(copy.deepcopy(value))
        return value

    # What passes.

    def opened(self, sid: str, task: JSON) -> None:
        """A session of a task."""
        if self._is_kept(task):
            self._by_sid[sid] = track = Track(task)
            self._tracks.append(track)

    def closed(self, sid: str) -> None:
        """The end of a session."""
        self._by_sid.pop(sid, None)

    def listed(self, split: str, first: int, tasks: list[Any]) -> None:
        """The specs of tasks, from the index `first` on."""
        for index, task in enumerate(tasks, self.counted(split, first)):
            if (split, index) not in self._tasks and self._is_kept(task):
                self._tasks[split, index] = task

    def knows(self, split: str, index: int) -> JSON | None:
        """The spec of a task, if it has passed."""
        return self._tasks.get((split, self.counted(split, index)))

    def counted(self, split: str, index: int) -> int:
        """The index of a task from the beginning; negative ones count from the end."""
        return index if index >= 0 else max(0, index + self.snapshot.num_tasks.get(split, 0))

    def answered(self, route: str, sid: str, answer: Any) -> None:
        """The answer to one of `ASKED`."""
        track = self._by_sid.get(sid)
        if route in ASKED and track is not None and self._is_kept({"": answer}):
            track.answers[route] = answer

    def begun(self, route: str, sid: str, body: Any) -> Begun | None:
        """The place of a call, or of a group's scores; None if it is not to be recorded."""
        track = self._by_sid.get(sid)
        if track is None or not isinstance(body, dict) or any(key not in body for key in DONE[route]):
            return None
        if body.get("task_id") is not None:  # it is asked for again
            return self._by_task_id.get(str(body["task_id"]))
        begun = Begun(route, {key: body[key] for key in DONE[route]})
        if not self._is_kept(begun.body):
            return None
        track.done.append(begun)
        return begun

    def named(self, begun: Begun, task_id: str) -> None:
        """The id that a client asks with for the result of something that has begun."""
        self._by_task_id[task_id] = begun

    def ended(self, begun: Begun, result: Any) -> None:
        """The result of something that has begun."""
        raised = isinstance(result, Raised)
        if not raised and not is_result(begun.route, result):
            self.left_out += 1
        elif self._is_kept({"": result.text if raised else result}):
            begun.result = result

    def _is_kept(self, value: Any) -> bool:
        """Whether there is room for an object, and it is one that can be written."""
        kept = isinstance(value, dict) and not is_deep(value)
        size = self._size + len(json.dumps(value, indent=2)) if kept else 0
        if not kept or size > limits.CASSETTE_BYTES:
            self.left_out += 1
            return False
        self._size, self.changed = size, self.changed + 1
        return True

    # What it holds.

    def cassette(self) -> Cassette:
        """What has been recorded so far, without keys and secrets."""
        tasks = {place: self._masked(task) for place, task in self._tasks.items()}
        return Cassette(self._snapshot(), tasks, tuple(self._sessions()))

    def _snapshot(self) -> Snapshot:
        taken = self.snapshot
        task_tools = tuple(TaskTool(self._masked(entry.spec), entry.tasks) for entry in taken.task_tools)
        tools, terminal = tuple(map(self._masked, taken.tools)), self._masked(taken.terminal_tool)
        return replace(taken, tools=tools, task_tools=task_tools, terminal_tool=terminal)

    def _sessions(self) -> Iterator[RecordedSession]:
        for track in self._tracks:
            exchanges = tuple(
                Exchange(begun.route, self._masked_parts(begun.body), self._masked_result(begun.result))
                for begun in track.done
                if begun.result is not None
            )
            yield RecordedSession(self._masked(track.task), self._masked_parts(track.answers), exchanges)

    def _masked_parts(self, values: JSON) -> JSON:
        """The keys are those of the file."""
        return {key: self._masked([value])[0] for key, value in values.items()}

    def _masked_result(self, result: JSON | Raised) -> JSON | Raised:
        return Raised(self._masked([result.text])[0]) if isinstance(result, Raised) else self._masked(result)


class Ear:
    """Follows the stream of an answer, and puts its result in its place."""

    def __init__(self, tape: Tape, begun: Begun) -> None:
        self._tape, self._begun = tape, begun
        self._events, self._pieces, self._length = EventStream(), list[str](), 0
        self._named = False

    def hear(self, piece: bytes) -> None:
        """The next bytes of the stream."""
        self._length += len(piece)
        if self._length > limits.ANSWER_BYTES:
            self._pieces.clear()
            return
        for event in self._events.feed(piece):
            self._take(event)

    def _take(self, event: Event) -> None:
        if event.type == "task_id":
            self._tape.named(self._begun, event.data.strip())
            self._named = True
        elif event.type == "error" and (self._named or event.data != FORGOTTEN):
            self._tape.ended(self._begun, Raised(without_traceback(event.data)))
        elif event.type in ("chunk", "end"):
            self._pieces.append(event.data)
            if event.type == "end":
                self._tape.ended(self._begun, parsed("".join(self._pieces)))


def parsed(text: bytes | str) -> Any:
    """JSON, or None where it is none."""
    try:
        return json_of(text)
    except (ValueError, LookupError, RecursionError):
        return None


def _secrets(header: str) -> Iterator[str]:
    """The values in a header that hands secrets to an environment."""
    try:
        packed = parsed(base64.b64decode(header))
    except ValueError:
        return
    for secret in packed.values() if isinstance(packed, dict) else ():
        yield from _texts(secret if not isinstance(secret, dict) else {"value": secret.get("value")})
    if isinstance(packed, str):
        yield packed


def _texts(value: object) -> Iterator[str]:
    """The texts in an object's values, or the text itself."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (part for part in value.values() if isinstance(part, str))
