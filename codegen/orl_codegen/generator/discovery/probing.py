"""Task tools are only seen in a session, so the tasks to probe are opened side by side, a bounded number at a time,
asked for their tools, and closed again on every way out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from orl_codegen.errors import OrlCodegenError, ServerError, printable
from orl_codegen.generator.discovery.answers import Answers, ToolsAnswer
from orl_codegen.generator.discovery.connection import Server
from orl_codegen.generator.options import Options
from orl_codegen.ors.advice import tolerable
from orl_codegen.ors.failures import Failure, Late, Refused
from orl_codegen.ors.session import Session


@dataclass(frozen=True)
class Probed:
    """How the probes ended, by index of the task, in ascending order.

    Attributes:
        found: What `/task_tools` answered.
        failures: Why a task could not be asked.
    """

    found: Mapping[int, ToolsAnswer]
    failures: Mapping[int, ServerError]


async def probe(
    server: Server, indices: tuple[int, ...], options: Options, count: Callable[[int, int], None]
) -> Probed:
    """Open each task, and ask it for its tools; where no failure is allowed, none is opened after the first.

    Tasks are opened in ascending order, so every task below one that fails has been asked: which failures there are may
    depend on the order in which answers arrive, but not the lowest of them.

    Args:
        server: The environment.
        indices: The tasks, ascending.
        options: How to open them, and how many at a time.
        count: Told how many of how many tasks have been asked.
    """
    found: dict[int, ToolsAnswer] = {}
    failures: dict[int, ServerError] = {}
    waiting, seen = iter(indices), Answers(server.source("task_tools"), server.endpoint.safe)

    async def one_after_the_other() -> None:
        for index in waiting:
            try:
                found[index] = await _ask(server, index, options, seen)
            except ServerError as error:
                failures[index] = error
            count(len(found) + len(failures), len(indices))
            if failures and not options.allow_partial:
                return

    count(0, len(indices))
    await _side_by_side([one_after_the_other() for _ in indices[: options.concurrency]])
    return Probed(dict(sorted(found.items())), dict(sorted(failures.items())))


async def _side_by_side(work: list[Coroutine[Any, Any, None]]) -> None:
    """Wait for all of it, also where some of it fails: what went on could no longer close its session."""
    tasks = [asyncio.ensure_future(part) for part in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _ask(server: Server, index: int, options: Options, seen: Answers) -> ToolsAnswer:
    """Open one task, ask for its tools, close it."""
    try:
        async with server.session(options.split, index, options.toolset) as session:
            answer = seen.parse(await _tools_in(session))
    except OrlCodegenError as error:
        raise ServerError(_unprobed(index, options, str(error))) from None
    except Late:
        late = f"it took longer than {options.timeout:g} seconds (--timeout)"
        raise ServerError(_unprobed(index, options, late)) from None
    except Failure as failure:
        todo = _OTHERWISE if _about_the_task(failure) else server.advice(failure)
        raise ServerError(_unprobed(index, options, str(failure), todo)) from None
    seen.keep(answer)  # raises here, in the order of the tasks, and not where all of them are put together
    return answer


async def _tools_in(session: Session) -> bytes:
    try:
        return await session.read("task_tools")
    except Refused as refused:
        if refused.status != 404:
            raise
    return await session.read("tools")  # servers older than task tools


def _about_the_task(failure: Failure) -> bool:
    """Whether another task, or another secret, may go better."""
    if isinstance(failure, Refused):
        return tolerable(failure) or failure.status in (400, 404, 409, 422)
    return tolerable(failure)


_OTHERWISE = (
    "If it needs a secret, pass --secret KEY=ENVVAR; leave failing tasks out with --allow-partial, or probe others "
    "with --probe."
)


def _unprobed(index: int, options: Options, reason: str, todo: str = _OTHERWISE) -> str:
    return (
        f"Task {index} of the split {printable(options.split)} could not be opened to see its tools: "
        f"{reason.rstrip('.')}. {todo}"
    )
