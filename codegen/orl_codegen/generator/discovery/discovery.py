"""Ask a server for its tools: `discover` turns a target into a snapshot.

What concerns no task is asked for at once. Task tools are only seen in a session (see `probing`).
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from typing import Any, Protocol

from orl_codegen.errors import ServerError, printable
from orl_codegen.generator.discovery import answers
from orl_codegen.generator.discovery.answers import Answers, ToolsAnswer
from orl_codegen.generator.discovery.connection import RefusedRequest, Server, connected, served
from orl_codegen.generator.discovery.probing import probe
from orl_codegen.generator.options import MAX_PROBES, Options
from orl_codegen.generator.snapshot import Snapshot, TaskTool
from orl_codegen.generator.target import Target

LISTED = 20

MAX_COUNTED = 100
"""Of how many splits the tasks are counted, so that a list without end does not become requests without end."""


class Progress(Protocol):
    """Where discovery says how far it is."""

    def probed(self, done: int, total: int) -> None:
        """`done` of `total` tasks have been opened and asked."""

    def say(self, message: str) -> None:
        """One sentence that the user should know. Text of the server in it is escaped."""


class Silent:
    """Progress for which there is no display."""

    def probed(self, done: int, total: int) -> None:
        """Say nothing."""

    def say(self, message: str) -> None:
        """Say nothing."""


async def discover(target: Target, options: Options, progress: Progress) -> Snapshot:
    """Ask the server of a target what tools it offers, and leave no session and no process behind.

    Raises:
        TargetError: A Python target names no environment that can be served.
        ServerError: The server cannot be reached or does not answer as ORS says, it has no such variant, split or task,
            or it offers no tool at all.
        UsageError: An environment variable that should hold a key or a secret is not set.
    """
    async with served(target, options) as (target, url), connected(target, url, options, progress.say) as server:
        server, (tools, splits, *count) = await _asked(server, options, progress)
        shared = ToolsAnswer(_received(tools), server.source("tools"), server.endpoint.safe)
        Answers(shared.source, shared.shown).keep(shared)  # what is too much is refused before a task is opened
        known_splits = answers.splits(_received(splits), server.source("splits"))
        _check_split(server, known_splits, options.split)
        indices = _indices(server, _received(*count), options) if count else ()
        probed = await _probe(server, indices, options, progress)
        answered = {options.split: count[0]} if count else {}
        num_tasks = await _num_tasks(server, [split["name"] for split in known_splits], answered)
    # A session's toolset may bring a terminal tool of its own.
    described = probed[min(probed)] if options.toolset and probed else shared
    snapshot = Snapshot(
        target=target.record,
        variant=server.endpoint.variant,
        split=options.split,
        splits=tuple(known_splits),
        num_tasks=num_tasks,
        toolset=options.toolset,
        probed=tuple(sorted(probed)),
        unprobed=tuple(index for index in indices if index not in probed),
        tools=tuple(spec for _, spec in sorted(shared.specs.items(), key=lambda entry: (entry[1]["name"], entry[0]))),
        task_tools=_task_tools(shared, probed),
        terminal_tool=answers.terminal_tool(described.json, server.source("tools")),
        supports_score_group=answers.scores_groups(shared.json, server.source("tools")),
    )
    _refuse_nothing(server, snapshot)
    _refuse_secrets(server, snapshot)
    return snapshot


async def _asked(server: Server, options: Options, progress: Progress) -> tuple[Server, list[Any]]:
    """The environment, and what it answers to the questions about it: each an answer, or the error it failed with.

    The server spells its name. Where --variant does so, too, everything is asked at once; else the name comes first.
    """
    wanted = options.variant
    early = _questions(server.of(wanted), options) if wanted and _is_spellable(wanted) else ()
    listed, *answered = await _at_once(server.request("GET", "/list_environments"), *early)
    server = server.of(_variant(server, listed, wanted, progress))
    if not early or server.endpoint.variant != wanted:
        answered = await _at_once(*_questions(server, options))
    return server, answered


def _questions(server: Server, options: Options) -> tuple[Coroutine[Any, Any, Any], ...]:
    """The shared tools, the splits, and how many tasks there are, where that matters."""
    always = server.get("tools"), server.get("splits")
    return (*always, server.post("num_tasks", {"split": options.split})) if options.task_tools else always


async def _at_once(*questions: Coroutine[Any, Any, Any]) -> list[Any]:
    """What each question ends with. Who looks at them in order raises the same error in whatever order they arrived."""
    return await asyncio.gather(*questions, return_exceptions=True)


def _received(answer: Any) -> Any:
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _variant(server: Server, listed: Any, wanted: str | None, progress: Progress) -> str:
    """The name that the server's paths spell an environment with, from what `/list_environments` ended with."""
    if isinstance(listed, RefusedRequest) and listed.status == 404 and wanted:
        listed = [wanted]  # not every implementation of the standard lists them
    listed = _received(listed)
    if not isinstance(listed, list) or not listed or not all(isinstance(name, str) for name in listed):
        raise ServerError(f"{server.source('list_environments')} lists no environments. Is this an ORS server?")
    safe = server.endpoint.safe
    shown = ", ".join(safe(name, 60) for name in listed[:LISTED])
    found: list[str] = [name for name in listed if name.lower() == (wanted or listed[0]).lower()]
    if not found:
        raise ServerError(f"The server has no variant {printable(wanted)}. It has: {shown}. Choose one with --variant.")
    if not _is_spellable(found[0]):
        raise ServerError(f"The server's environment {safe(found[0])} has a name that no path can spell. {answers.FIX}")
    if wanted is None and len(listed) > 1:
        progress.say(f"The server has several environments ({shown}); took {safe(found[0])}, its first. See --variant.")
    return found[0]


def _is_spellable(name: str) -> bool:
    """Whether a path can hold a name as one segment that leads nowhere else."""
    return bool(re.fullmatch(r"[\w.~-]+", name)) and set(name) != {"."}


def _check_split(server: Server, splits: list[dict[str, Any]], wanted: str) -> None:
    names = [split["name"] for split in splits]
    if wanted not in names:
        shown = ", ".join(server.endpoint.safe(name, 60) for name in names[:LISTED])
        raise ServerError(f"{server.shown} has no split {printable(wanted)}. It has: {shown}. Choose one with --split.")


def _indices(server: Server, answer: Any, options: Options) -> tuple[int, ...]:
    """The tasks to open, checked against how many there are."""
    count = answer.get("num_tasks") if isinstance(answer, dict) else None
    if type(count) is not int or count < 0:
        raise ServerError(f"{server.source('num_tasks')} holds no number of tasks. {answers.FIX}")
    split = f"The split {printable(options.split)}"
    if count == 0:
        raise ServerError(
            f"{split} has no tasks, so there are no task tools to collect. Choose another with --split, or pass "
            "--no-task-tools."
        )
    if options.probe == "first":
        return (0,)
    if options.probe == "all":
        return tuple(range(_countable(count, split)))
    if options.probe[-1] >= count:
        raise ServerError(
            f"{split} has {count} tasks, 0 to {count - 1}, and --probe asks for task {options.probe[-1]}. Leave it out."
        )
    return options.probe


def _countable(count: int, split: str) -> int:
    if count > MAX_PROBES:
        raise ServerError(
            f"{split} has {count} tasks, and at most {MAX_PROBES} can be opened. Name some of them with --probe 0-99."
        )
    return count


async def _num_tasks(server: Server, splits: Sequence[str], answered: Mapping[str, Any]) -> dict[str, int]:
    """How many tasks each split has, as far as the server says it; nothing but a report depends on it.

    Args:
        server: The environment.
        splits: Their names.
        answered: What it has already answered, by split.
    """
    asked = [split for split in splits[:MAX_COUNTED] if split not in answered]
    found = await _at_once(*(server.post("num_tasks", {"split": split}) for split in asked))
    counts = {**answered, **dict(zip(asked, found, strict=True))}
    known = {split: answers.num_tasks(counts.get(split)) for split in splits}
    return {split: count for split, count in known.items() if count is not None}


async def _probe(
    server: Server, indices: tuple[int, ...], options: Options, progress: Progress
) -> Mapping[int, ToolsAnswer]:
    """The tools of each task; tasks that failed are left out, where that is allowed."""
    probed = await probe(server, indices, options, progress.probed)
    failures = list(probed.failures.values())
    if failures and not (options.allow_partial and probed.found):
        raise await server.explained(failures[0])
    for failure in failures:
        progress.say(str(failure))
    return probed.found


def _task_tools(shared: ToolsAnswer, probed: Mapping[int, ToolsAnswer]) -> tuple[TaskTool, ...]:
    """Every spec that is not shared, with the tasks that offer it."""
    specs: dict[str, dict[str, Any]] = {}
    tasks: dict[str, list[int]] = defaultdict(list)
    for index, answer in probed.items():
        for text in answer.specs.keys() - shared.specs.keys():
            specs.setdefault(text, answer.specs[text])
            tasks[text].append(index)
    found = sorted(specs.items(), key=lambda entry: (entry[1]["name"], entry[0]))
    return tuple(TaskTool(spec, tuple(tasks[text])) for text, spec in found)


def _refuse_nothing(server: Server, snapshot: Snapshot) -> None:
    if not (snapshot.tools or snapshot.task_tools or snapshot.terminal_tool):
        raise ServerError(
            f"{server.shown} offers neither a tool nor a terminal tool, so there is nothing to generate. If its tools "
            "differ from task to task, look at more of them with --probe all."
        )


def _refuse_secrets(server: Server, snapshot: Snapshot) -> None:
    """A snapshot is committed: what the server was told in confidence must not come back in it."""
    recorded = (snapshot.variant, snapshot.splits, snapshot.tools, snapshot.task_tools, snapshot.terminal_tool)
    if server.endpoint.mask.is_in(list(_scalars(recorded))):
        raise ServerError(
            f"{server.shown} puts the value of a secret or a key into what it says about its tools, and a "
            "snapshot is made to be committed. Fix the environment."
        )


def _scalars(value: Any) -> Iterator[str]:
    """Every scalar in a value, keys included, as the text that it is: numbers may be secrets, too."""
    if isinstance(value, TaskTool):
        yield from _scalars(value.spec)
    elif isinstance(value, Mapping):
        yield from (text for pair in value.items() for part in pair for text in _scalars(part))
    elif isinstance(value, (list, tuple)):
        yield from (text for part in value for text in _scalars(part))
    else:
        yield str(value)
