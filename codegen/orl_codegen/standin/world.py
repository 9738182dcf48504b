"""What a stand-in needs to know to answer like an environment, and what it may answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from orl_codegen.generator.snapshot import Snapshot

JSON = dict[str, Any]

MESSAGE_BLOCK_TYPES = ["text", "image", "reasoning", "tool_call", "tool_result"]

FINISHED = (
    "{name!r} was not run: the episode has finished (a tool returned finished=True), so no further tool calls are "
    "accepted."
)
"""What the SDK's server says then; `name` is the tool."""

NOT_RECORDED = "not_recorded"
"""The reason of a refused call that a cassette does not hold."""


class NotServed(Exception):
    """A request is answered with another status than 200.

    Attributes:
        status: The status.
        detail: What the body says under `detail`: a text, or a list of what is wrong with the request.
    """

    def __init__(self, status: int, detail: Any) -> None:
        super().__init__(status, detail)
        self.status, self.detail = status, detail


@dataclass(frozen=True)
class Raised:
    """The stream ends with an exception of the environment."""

    text: str


@dataclass(frozen=True)
class Called:
    """A call that a stand-in was asked to carry out.

    Attributes:
        task: The spec of the task.
        name: The wire name of the tool.
        input: Its input.
        carried_out: Whether it was; otherwise it was malformed, came after the end of the episode, or is not recorded.
        reward: Its reward, if there was one.
        reason: Why it was not carried out, as the answer says it; `not_recorded` where a cassette does not hold it.
    """

    task: Mapping[str, Any]
    name: str
    input: Mapping[str, Any]
    carried_out: bool
    reward: float | None = None
    reason: str | None = None


class Play(Protocol):
    """One session of a stand-in."""

    @property
    def task(self) -> JSON:
        """The spec of its task."""

    def ask(self, route: str) -> Any:
        """The JSON of `prompt`, `messages` or `task_tools`. Raises NotServed where there is none."""

    def call(self, name: str, input: JSON) -> JSON | Raised:
        """The JSON that the stream of a call ends with."""

    def score_group(self, candidates: list[Any]) -> JSON | Raised:
        """The JSON that the stream of a group's scores ends with."""


class World(Protocol):
    """An environment to stand in for."""

    @property
    def snapshot(self) -> Snapshot:
        """What it offers."""

    def num_tasks(self, split: str) -> int:
        """How many tasks a split has."""

    def task(self, split: str, index: int) -> JSON:
        """The spec of a task whose index is in range. Raises NotServed where it is not known."""

    def play(self, task_spec: JSON) -> Play:
        """A new session. Raises NotServed where the task is not known."""


def split_names(snapshot: Snapshot) -> list[str]:
    """The splits, the one that was probed among them: old snapshots may list none."""
    return [split["name"] for split in snapshot.splits] or [snapshot.split]


def listing(snapshot: Snapshot, index: int | None = None) -> JSON:
    """The answer of `/tools`, or that of `/task_tools` in the session of a task.

    Which tools a task offers is known of those that were probed. Another one offers what one of these does.
    """
    tools = list(snapshot.tools)
    if index is not None:
        tools += _task_tools(snapshot, index)
    return {
        "tools": tools,
        "terminal_tool": snapshot.terminal_tool,
        "supports_score_group": snapshot.supports_score_group,
        "message_block_types": MESSAGE_BLOCK_TYPES,
    }


def _task_tools(snapshot: Snapshot, index: int) -> Iterator[Mapping[str, Any]]:
    probed = snapshot.probed
    if probed and index not in probed:
        index = probed[index % len(probed)]
    yield from (entry.spec for entry in snapshot.task_tools if index in entry.tasks)


def refused(error: str, reason: str | None) -> JSON:
    """The answer to a call that was not carried out."""
    return {"ok": False, "error": error, "reason": reason}
