"""Ask a server for its tools: `discover` turns a target into a snapshot.

Shared tools come with one request. Task tools are only seen in a session, so the tasks to probe are opened side by
side, a bounded number at a time, asked for their tools, and closed again on every way out.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from orl_codegen.errors import OrlCodegenError, ServerError, printable
from orl_codegen.generator.discovery import answers
from orl_codegen.generator.discovery.connection import RefusedRequest, Server, connected, served
from orl_codegen.generator.options import Options
from orl_codegen.generator.snapshot import Snapshot, TaskTool
from orl_codegen.generator.target import Target
from orl_codegen.ors.failures import Failure, Late, Refused
from orl_codegen.ors.session import Session
from orl_codegen.schema.json_values import canonical

CONCURRENT_PROBES = 8
LISTED = 20


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
    async with served(target, options) as (target, url), connected(target, url, options) as server:
        variant = await _variant(server, options.variant, progress)
        server = replace(server, endpoint=replace(server.endpoint, variant=variant))
        tools, splits = await asyncio.gather(server.get("tools"), server.get("splits"))
        known_splits = answers.splits(splits, server.source("splits"))
        _check_split(server, known_splits, options.split)
        indices = await _indices(server, options) if options.task_tools else ()
        probed = await _probe(server, indices, options, progress)
    shared = answers.tool_specs(tools, server.source("tools"))
    # A session's toolset may bring a terminal tool of its own.
    described = probed[min(probed)] if options.toolset and probed else tools
    snapshot = Snapshot(
        target=target.record,
        variant=variant,
        split=options.split,
        splits=tuple(known_splits),
        toolset=options.toolset,
        probed=tuple(sorted(probed)),
        unprobed=tuple(index for index in indices if index not in probed),
        tools=tuple(sorted(shared, key=lambda spec: (spec["name"], canonical(spec)))),
        task_tools=_task_tools(server, shared, probed),
        terminal_tool=answers.terminal_tool(described, server.source("tools")),
        supports_score_group=isinstance(tools, dict) and tools.get("supports_score_group") is True,
    )
    _refuse_nothing(server, snapshot)
    _refuse_secrets(server, snapshot)
    return snapshot


async def _variant(server: Server, wanted: str | None, progress: Progress) -> str:
    """The name that the server's paths spell an environment with."""
    listed: Any
    try:
        listed = await server.request("GET", "/list_environments")
    except RefusedRequest as refused:
        if refused.status != 404 or not wanted:
            raise
        listed = [wanted]  # not every implementation of the standard lists them
    if not isinstance(listed, list) or not listed or not all(isinstance(name, str) for name in listed):
        raise ServerError(f"{server.source('list_environments')} lists no environments. Is this an ORS server?")
    shown = ", ".join(printable(name, 60) for name in listed[:LISTED])
    found: list[str] = [name for name in listed if name.lower() == (wanted or listed[0]).lower()]
    if not found:
        raise ServerError(f"The server has no variant {printable(wanted)}. It has: {shown}. Choose one with --variant.")
    if not re.fullmatch(r"[\w.~-]+", found[0]) or set(found[0]) == {"."}:
        raise ServerError(f"The server's environment {printable(found[0])} has a name that no path can spell.")
    if wanted is None and len(listed) > 1:
        progress.say(f"The server has several environments ({shown}); took {found[0]}, its first. See --variant.")
    return found[0]


def _check_split(server: Server, splits: list[dict[str, Any]], wanted: str) -> None:
    names = [split["name"] for split in splits]
    if wanted not in names:
        shown = ", ".join(printable(name, 60) for name in names[:LISTED])
        raise ServerError(f"{server.shown} has no split {printable(wanted)}. It has: {shown}. Choose one with --split.")


async def _indices(server: Server, options: Options) -> tuple[int, ...]:
    """The tasks to open, checked against how many there are."""
    answer = await server.post("num_tasks", {"split": options.split})
    count = answer.get("num_tasks") if isinstance(answer, dict) else None
    if type(count) is not int or count < 0:
        raise ServerError(f"{server.source('num_tasks')} holds no number of tasks.")
    split = f"The split {printable(options.split)}"
    if count == 0:
        raise ServerError(
            f"{split} has no tasks, so there are no task tools to collect. Choose another with --split, or pass "
            "--no-task-tools."
        )
    if options.probe == "first":
        return (0,)
    if options.probe == "all":
        return tuple(range(count))
    if options.probe[-1] >= count:
        raise ServerError(
            f"{split} has {count} tasks, 0 to {count - 1}, and --probe asks for task {options.probe[-1]}. Leave it out."
        )
    return options.probe


async def _probe(
    server: Server, indices: tuple[int, ...], options: Options, progress: Progress
) -> dict[int, dict[str, Any]]:
    """What `/task_tools` answers in a session of each task; tasks that failed are left out, where that is allowed."""
    found: dict[int, dict[str, Any]] = {}
    failures: dict[int, ServerError] = {}
    places = asyncio.Semaphore(CONCURRENT_PROBES)

    async def probe(index: int) -> None:
        async with places:
            if failures and not options.allow_partial:
                return
            try:
                found[index] = await _ask(server, index, options)
            except ServerError as error:
                failures[index] = error
        progress.probed(len(found) + len(failures), len(indices))

    progress.probed(0, len(indices))
    await asyncio.gather(*map(probe, indices))
    if failures and not (options.allow_partial and found):
        raise failures[min(failures)]
    for _, failure in sorted(failures.items()):
        progress.say(str(failure))
    return found


async def _ask(server: Server, index: int, options: Options) -> dict[str, Any]:
    """Open one task, ask for its tools, close it."""
    try:
        async with server.session(options.split, index, options.toolset) as session:
            answer = answers.parse(await _tools_in(session), server.source("task_tools"))
    except OrlCodegenError as error:
        raise ServerError(_unprobed(index, options, str(error))) from None
    except Late:
        late = f"it took longer than {options.timeout:g} seconds (--timeout)"
        raise ServerError(_unprobed(index, options, late)) from None
    except Failure as failure:
        raise ServerError(_unprobed(index, options, str(failure))) from None
    answers.tool_specs(answer, server.source("task_tools"))
    return dict(answer) if isinstance(answer, dict) else {"tools": answer}


async def _tools_in(session: Session) -> bytes:
    try:
        return await session.read("task_tools")
    except Refused as refused:
        if refused.status != 404:
            raise
    return await session.read("tools")  # servers older than task tools


def _unprobed(index: int, options: Options, reason: str) -> str:
    return (
        f"Task {index} of the split {printable(options.split)} could not be opened to see its tools: "
        f"{reason.rstrip('.')}. If it needs a secret, pass --secret KEY=ENVVAR; leave failing tasks out with "
        "--allow-partial, or probe others with --probe."
    )


def _task_tools(server: Server, shared: Sequence[Mapping[str, Any]], probed: Mapping[int, Any]) -> tuple[TaskTool, ...]:
    """Every spec that is not shared, with the tasks that offer it."""
    known = {canonical(spec) for spec in shared}
    found: dict[str, TaskTool] = {}
    for index, answer in sorted(probed.items()):
        for spec in answers.tool_specs(answer, server.source("task_tools")):
            text = canonical(spec)
            if text not in known:
                tool = found.get(text, TaskTool(spec, ()))
                found[text] = TaskTool(tool.spec, (*tool.tasks, index))
    return tuple(sorted(found.values(), key=lambda tool: (tool.spec["name"], canonical(tool.spec))))


def _refuse_nothing(server: Server, snapshot: Snapshot) -> None:
    if not (snapshot.tools or snapshot.task_tools or snapshot.terminal_tool):
        raise ServerError(
            f"{server.shown} offers neither a tool nor a terminal tool, so there is nothing to generate. If its tools "
            "differ from task to task, look at more of them with --probe all."
        )


def _refuse_secrets(server: Server, snapshot: Snapshot) -> None:
    """A snapshot is committed: what the server was told in confidence must not come back in it."""
    recorded = (snapshot.variant, snapshot.splits, snapshot.tools, snapshot.task_tools, snapshot.terminal_tool)
    if any(server.endpoint.redacted(text) != text for text in _scalars(recorded)):
        raise ServerError(
            f"{server.shown} puts the value of a secret or a key into what it says about its tools, and a "
            "snapshot is made to be committed. Fix the environment."
        )


def _scalars(value: Any) -> Iterator[str]:
    """Every scalar in a value, keys included, as the text that it is; JSON would escape what it is searched for."""
    if isinstance(value, TaskTool):
        yield from _scalars(value.spec)
    elif isinstance(value, Mapping):
        yield from (text for pair in value.items() for part in pair for text in _scalars(part))
    elif isinstance(value, (list, tuple)):
        yield from (text for part in value for text in _scalars(part))
    else:
        yield str(value)
