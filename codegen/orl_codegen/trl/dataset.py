"""The training dataset: one row a task, fetched with as few requests as the server allows."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from orl_codegen.errors import ServerError, UsageError, printable
from orl_codegen.ors import limits
from orl_codegen.ors.advice import TRAINING, advice
from orl_codegen.ors.client import Client, asking
from orl_codegen.ors.endpoint import Endpoint
from orl_codegen.ors.failures import Failure, Late, Malformed, Refused
from orl_codegen.ors.parts import Part
from orl_codegen.ors.unicode import REPLACEMENT
from orl_codegen.sessions.loop import event_loop

if TYPE_CHECKING:
    from datasets import Dataset

logger = logging.getLogger(__name__)

JSON = dict[str, Any]
Row = dict[str, Any]
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

AT_ONCE = 64  # requests

SAMPLE = 64
"""Tasks in the first range, which shows how large a task is, and whether the server answers ranges."""

GAP_TASKS, GAP_BYTES = 128, 32 * 1024
"""What may lie between two tasks of one range, and is fetched in vain: about what a request of its own costs a server
that slices a list (7 µs a task against 0.7 ms a request, measured with openreward's)."""

RANGE_TASKS, RANGE_BYTES = 512, 1024 * 1024
"""The longest range. Servers may load its tasks one by one, and have to answer within `limits.ANSWER_WITHIN`."""

# What TRL, a reward function or `reset` takes for something else than a column of metadata.
RESERVED = frozenset(
    """
    prompt prompts completion completions completion_ids image images environment environments trainer_state log_extra
    log_metric _env_type split task_index task_spec prompt_digest
    """.split()
)


def fetch_tasks(
    endpoint: Endpoint, split: str, num_tasks: int | None = None, indices: Sequence[int] | None = None
) -> list[tuple[int, JSON]]:
    """Index and spec of the tasks that are asked for: the first `num_tasks`, those at `indices`, or all of the split.

    Raises:
        UsageError: There is no such variant, split or index.
        ServerError: The server could not be reached, or did not answer as ORS says.
    """
    tasks = event_loop().run(_fetch_tasks(endpoint, split, num_tasks, indices))
    if num_tasks is not None and len(tasks) < num_tasks:
        logger.warning(
            "num_tasks=%d, but the split %s has %d tasks: the dataset has all of them.",
            num_tasks,
            printable(split),
            len(tasks),
        )
    return tasks


async def _fetch_tasks(
    endpoint: Endpoint, split: str, num_tasks: int | None, indices: Sequence[int] | None
) -> list[tuple[int, JSON]]:
    try:
        async with asking(endpoint, event_loop().pool) as client:
            tasks = _Tasks(client, split)
            try:
                return await (tasks.first(num_tasks) if indices is None else tasks.at(indices))
            except Refused as refused:
                explained = await tasks.explanation(refused, indices)
            raise explained
    except Failure as failure:
        reason, todo = str(failure).rstrip("."), advice(failure, endpoint, TRAINING)
    raise ServerError(f"The tasks of {endpoint.shown()} could not be fetched: {reason}. {todo}")


class _Tasks:
    """Questions about the tasks of a split."""

    def __init__(self, client: Client, split: str) -> None:
        self._client, self._endpoint, self._split = client, client.endpoint, split

    async def first(self, count: int | None) -> list[tuple[int, JSON]]:
        """The first tasks, or all, with one request where the server has the route for it."""
        part = {} if count is None else {"start": 0, "stop": count}
        try:
            found = await self._post("task_range", **part)
        except Refused as refused:
            if refused.status not in (404, 405):
                raise
            total = await self.total()
            found_singly = await self._one_by_one(range(total if count is None else min(count, total)))
            return list(found_singly.items())
        return list(enumerate(_objects(found, "tasks")))

    async def at(self, indices: Sequence[int]) -> list[tuple[int, JSON]]:
        """The tasks at some indices, many of them with few requests where the server has the route for ranges."""
        wanted = sorted({*indices})
        scattered = 2 * len(_ranges(wanted, GAP_TASKS, RANGE_TASKS)) > len(wanted)
        found = await (self._one_by_one(wanted) if scattered else self._in_ranges(wanted))
        return [(index, found[index]) for index in indices]

    async def _in_ranges(self, wanted: Sequence[int]) -> dict[int, JSON]:
        """The tasks at ascending indices."""
        try:
            found = await self._range(max(_ranges(wanted, 0, SAMPLE), key=len))
        except Refused as refused:
            if refused.status not in (404, 405):
                raise
            return await self._one_by_one(wanted)
        size = max(1, len(json.dumps([*found.values()])) // len(found))
        gap, longest = min(GAP_TASKS, GAP_BYTES // size), max(1, min(RANGE_TASKS, RANGE_BYTES // size))
        ranges = _ranges([index for index in wanted if index not in found], gap, longest)
        for tasks in await _gathered(self._range, ranges):
            found |= tasks
        return found

    async def _range(self, indices: Sequence[int]) -> dict[int, JSON]:
        """The tasks at ascending indices, from the range that holds them; those that it lacks are asked for singly, so
        that the server says why."""
        start, stop = indices[0], indices[-1] + 1
        try:
            tasks = _objects(await self._post("task_range", start=start, stop=stop), "tasks")
        except Late:
            tasks = []
        if len(tasks) > stop - start:
            raise Malformed("the server answered with more tasks than it was asked for")
        there = dict(enumerate(tasks, start))
        found = {index: there[index] for index in indices if index in there}
        return found | await self._one_by_one([index for index in indices if index not in there])

    async def _one_by_one(self, indices: Sequence[int]) -> dict[int, JSON]:
        """The tasks at some indices, with one request each."""

        async def one(index: int) -> JSON:
            return (await self._post("task", index=index)).field("task").object()

        return dict(zip(indices, await _gathered(one, indices), strict=True))

    async def total(self) -> int:
        """How many tasks the split has."""
        return (await self._post("num_tasks")).field("num_tasks").count()

    async def _post(self, route: str, **body: Any) -> Part:
        path = self._endpoint.path(route)
        found = await self._client.post(
            path, {"split": self._split, **body}, within=limits.ANSWER_WITHIN, size=limits.TASKS_BYTES
        )
        # What a server echoes of a key would stand in every log of the dataset.
        return Part(self._endpoint.mask.json(found), route, self._endpoint.safe)

    async def _get(self, path: str) -> Any:
        return self._endpoint.mask.json(await self._client.get(path, within=limits.ANSWER_WITHIN))

    async def explanation(self, refused: Refused, indices: Sequence[int] | None) -> Exception:
        """A refused question, explained by what the server offers instead; or the failure as it was."""
        # 308: what is not a variant is taken for a route of the server's first environment, and redirected to there.
        if refused.status not in (308, 400, 404, 500):
            return refused
        try:
            variants = await self._get("/list_environments")
            if self._endpoint.variant.lower() not in map(str.lower, variants):
                return UsageError(_none_such("environment", self._endpoint.variant, variants))
            listed = await self._get(self._endpoint.path("splits"))
            splits = [split["name"] for split in listed]
            if self._split not in splits:
                return UsageError(_none_such("split", self._split, splits))
            total = await self.total()
        except (Failure, LookupError, TypeError):
            return refused
        outside = [index for index in indices or () if not 0 <= index < total]
        if outside:
            return UsageError(
                f"The split {printable(self._split)} has {total} tasks, so there is no task {outside[0]}."
            )
        return refused


async def _gathered(question: Callable[[Asked], Awaitable[Answer]], things: Iterable[Asked]) -> list[Answer]:
    """The answers to one question about several things, of which `AT_ONCE` are asked at the same time."""
    free = asyncio.Semaphore(AT_ONCE)

    async def answer(thing: Asked) -> Answer:
        async with free:
            return await question(thing)

    return await asyncio.gather(*map(answer, things))


def _ranges(indices: Iterable[int], gap: int, longest: int) -> list[list[int]]:
    """Ascending indices in groups: within one, at most `gap` tasks lie between two, and `longest` from end to end."""
    groups: list[list[int]] = []
    for index in indices:
        if groups and index - groups[-1][-1] - 1 <= gap and index - groups[-1][0] < longest:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _objects(answer: Part, key: str) -> list[JSON]:
    return [part.object() for part in answer.field(key).list()]


def _none_such(what: str, name: str, known: Iterable[Any]) -> str:
    there = ", ".join(sorted(printable(one) for one in known)) or "none"
    return f"The server has no {what} {printable(name)}. It has: {there}."


def task_rows(split: str, tasks: Sequence[tuple[int, JSON]], include_metadata: bool) -> list[Row]:
    """A row for each task: an empty prompt that the adapter's is appended to, the split and the index in it, and the
    fields of the task. A trainer makes its adapters for training and for evaluation alike, so the row names the split.

    A field whose name means something else to TRL is called `task_<name>`.
    """
    fields = {key for _, task in tasks for key in task} if include_metadata else set()
    names = _column_names(fields)
    return [
        {"prompt": [{"role": "user", "content": ""}], "split": split, "task_index": index}
        | {name: task.get(field) for field, name in names.items()}
        for index, task in tasks
    ]


def _column_names(fields: Iterable[str]) -> dict[str, str]:
    """`{field: column}`, every column another, and none reserved. Arrow cuts a name at NUL, so U+FFFD stands for it."""
    wanted = {field: field.replace("\0", REPLACEMENT) for field in fields}
    free = sorted(field for field, name in wanted.items() if field == name not in RESERVED)
    names = {field: field for field in free}
    for field in sorted(set(wanted) - set(free)):
        name = f"task_{wanted[field].lstrip('_')}" if wanted[field] in RESERVED else wanted[field]
        while name in RESERVED or name in names.values():
            name += "_"
        names[field] = name
    return dict(sorted(names.items(), key=lambda pair: pair[1]))


def to_dataset(rows: Sequence[Mapping[str, Any]]) -> Dataset:
    """Rows as a `datasets.Dataset`; a row without a column has None there.

    A column becomes JSON text where Arrow would not give its values back as they are: text here and a number there, or
    dictionaries whose keys differ. The prompts, which TRL reads, stay messages.
    """
    from datasets import Dataset, Image

    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    pictures = columns.pop("images", None)
    table = {name: values if name == "prompt" else _column(values) for name, values in columns.items()}
    if pictures is None:
        return Dataset.from_dict(table)
    table["images"] = [[Image().encode_example(picture) for picture in row or ()] for row in pictures]
    return Dataset.from_dict(table).cast_column("images", [Image()])


def _column(values: list[Any]) -> list[Any]:
    if _survives(values):
        return values
    return [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]


def _survives(values: list[Any]) -> bool:
    """Whether a column of Arrow gives the values back. It pads dictionaries with the keys of the other rows."""
    import pyarrow  # type: ignore[import-untyped]

    try:
        column = pyarrow.array(values)
    except Exception:  # it raises whatever the value made some converter raise
        return False
    if not pyarrow.types.is_nested(column.type):
        return True
    return "\0" not in str(column.type) and bool(column.to_pylist() == values)  # at NUL, the name of a key ends
