"""Whether an adapter still fits the tools of a live session, and which of them its task offers."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from orl_codegen.errors import SchemaDrift, printable
from orl_codegen.ors.advice import tolerable
from orl_codegen.ors.failures import Refused
from orl_codegen.ors.session import Session
from orl_codegen.runtime.vocabulary import bound_tools
from orl_codegen.sessions.handle import Learn

Spec = Mapping[str, Any]

LISTED = 20  # differences in one message

REMEMBERED = 4096  # tasks; one that is forgotten is asked about again

logger = logging.getLogger(__name__)


class Agreement:
    """What the sessions of an environment learn of its tools: whether the adapter fits them, and which ones a task
    offers.

    The first session that opens for a task asks; those that open for it at the same time wait for the answer, and later
    ones know it. The first answer of all is compared with the adapter.

    Args:
        adapter: The generated class.
        wanted: Whether anything is to be learned. Otherwise every call goes to the server, which may carry out one to
            a tool that the task does not offer, as the SDK's does.
    """

    def __init__(self, adapter: type[Any], wanted: bool) -> None:
        self._adapter = adapter
        self._wanted = wanted
        self._compared = False
        self._warned = False
        self._offered: dict[str, frozenset[str] | None] = {}  # by the digest of a task
        self._asking: dict[tuple[asyncio.AbstractEventLoop, str], asyncio.Lock] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_offered": {}, "_asking": {}}  # locks belong to the loop of one process

    def learning(self, task: Mapping[str, Any]) -> Learn | None:
        """What a session for a task does to learn its tools; None where nothing is to be learned."""
        return partial(self._learn, task) if self._wanted else None

    async def _learn(self, task: Mapping[str, Any], session: Session) -> frozenset[str] | None:
        key = _digest(task)
        place = asyncio.get_running_loop(), key  # the loop of a process that was forked is another one
        try:
            async with self._asking.setdefault(place, asyncio.Lock()):
                if key not in self._offered:
                    await self._ask(key, session)
                return self._offered.get(key)
        finally:
            self._asking.pop(place, None)

    def _remember(self, key: str, offered: frozenset[str] | None) -> None:
        if len(self._offered) >= REMEMBERED:
            del self._offered[next(iter(self._offered))]
        self._offered[key] = offered

    async def _ask(self, key: str, session: Session) -> None:
        try:
            specs = await session.tools()
        except Refused as refused:
            self._warn(refused)
            if not tolerable(refused):  # otherwise it may pass, and the next session asks again
                self._remember(key, None)
            return
        if not self._compared:
            check_fit(self._adapter, specs)
            self._compared = True
        self._remember(key, offered_tools(self._adapter, specs))

    def _warn(self, refused: Refused) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(
                "The tools were not verified: the server answered %s. Calls to tools that a task does not offer are "
                "left to the server. This is logged once.",
                refused,
            )


def offered_tools(adapter: type[Any], specs: Iterable[Spec]) -> frozenset[str]:
    """The wire names of the tools that a session takes calls to.

    The terminal tool is not listed among those of the model, and older servers do not list it at all.
    """
    terminal = adapter._environment.terminal_tool
    return frozenset([*(spec["name"] for spec in specs), *([terminal.name] if terminal else [])])


def check_fit(adapter: type[Any], specs: Iterable[Spec]) -> None:
    """Compare an adapter with what a session lists; harmless differences are logged as one warning.

    Args:
        adapter: The generated class.
        specs: The tools that it lists: the shared ones, and those of one task.

    Raises:
        SchemaDrift: A shared tool is gone, or a parameter that the adapter may leave out has become required, so that
            calls would be refused.
    """
    tools, known, shared = bound_tools(adapter), *_snapshot(adapter)
    live = {spec["name"]: spec for spec in specs}
    broken = [f"the tool {printable(name)} is gone" for name in sorted(shared - live.keys())]
    for name in tools.keys() & live.keys():
        # Tasks may differ in what a task tool requires; the adapter then requires what all of them do.
        strict = not known or name in shared
        broken += [
            f"the parameter {printable(key)} of {printable(name)} is required now"
            for key in _newly_required(tools[name], live[name], strict)
        ]
    remedy = f"Generate it again: orl-codegen generate {printable(adapter._environment.target)}"
    if broken:
        raise SchemaDrift(f"{adapter.__name__} no longer fits its environment: {_listed(broken)}. {remedy}")
    odd = [f"{printable(name)} is new" for name in live if name not in tools]
    odd += [
        f"{printable(name)} has changed" for name, spec in live.items() if known and spec not in known.get(name, [spec])
    ]
    if odd:
        logger.warning("%s differs from its environment: %s. %s", adapter.__name__, _listed(odd), remedy)


def _listed(differences: list[str]) -> str:
    """The first differences; a server may list millions of tools."""
    more = len(differences) - LISTED
    return "; ".join(differences[:LISTED]) + (f"; and {more:,} more" if more > 0 else "")


def _snapshot(adapter: type[Any]) -> tuple[dict[str, list[Spec]], set[str]]:
    """The specs that the adapter was made from, by name, and the names of the shared tools.

    They stand in the snapshot beside the module. Where that is not at hand, both are empty: then a tool that a session
    does not list may as well be one of another task.
    """
    path = getattr(sys.modules.get(adapter.__module__), "__file__", None)
    try:
        snapshot = json.loads(Path(path or "").with_suffix(".json").read_text("utf-8"))
        if snapshot["digest"] != adapter._environment.digest:
            return {}, set()
        known: dict[str, list[Spec]] = {}
        for spec in [*snapshot["tools"], *(entry["spec"] for entry in snapshot["task_tools"])]:
            known.setdefault(spec["name"], []).append(spec)
        return known, {spec["name"] for spec in snapshot["tools"]}
    except (OSError, ValueError, TypeError, KeyError):
        return {}, set()


def _digest(task: Mapping[str, Any]) -> str:
    """A short name for a task: a `task_spec` may be of any size."""
    return hashlib.sha256(json.dumps(task).encode()).hexdigest()


def _newly_required(method: Any, spec: Spec, strict: bool) -> Iterator[str]:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    ours = {method.__tool__.aliases.get(parameter.name, parameter.name): parameter for parameter in parameters}
    for key in sorted(_keys(spec, "required") & _keys(spec, "properties")):
        if key not in ours or (strict and ours[key].default is not inspect.Parameter.empty):
            yield key


def _keys(spec: Spec, keyword: str) -> set[str]:
    """The keys under a keyword at the top of a tool's schema, whatever the server put there."""
    schema = spec.get("input_schema")
    value = schema.get(keyword) if isinstance(schema, dict) else None
    return {key for key in value if isinstance(key, str)} if isinstance(value, (dict, list)) else set()
