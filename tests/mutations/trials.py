"""One trial: a tool is changed, two snapshots are compared, and the findings are held against those that must be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any, Literal, NamedTuple

from orl_codegen.drift.comparison.compare import compare_snapshots
from orl_codegen.drift.policy import Policy
from orl_codegen.drift.rules import Profile
from orl_codegen.errors import SchemaError
from orl_codegen.generator.snapshot import Snapshot
from orl_codegen.schema.pointer import escape
from tests.mutations.acceptance import contradicts
from tests.mutations.equivalents import EQUIVALENTS, Equivalent
from tests.mutations.kinds import CHANGES, SEVERITIES, Kind
from tests.mutations.sites import Site, reach, sites
from tests.mutations.tool_kinds import TOOL_CHANGES, ToolKind
from tests.mutations.tools import Environment, Tool

Verdict = Literal[
    "right", "missed", "wrong rule", "wrong place", "wrong severity", "false alarm", "refused", "wrong claim"
]

Weighed = tuple[str, ...]
"""The rule, the tool, the pointer, and the severity for code and for training."""

NEIGHBOURS = 3
"""How many other tools of its environment stand beside the tool."""

DEFINED = 0.15
"""How often a schema is moved into a definition first, on both sides."""

_PROFILES: tuple[Profile, ...] = ("code", "training")


@dataclass(frozen=True)
class Trial:
    """What was tried, and how it ended.

    Attributes:
        kind: The name of the row.
        number: With the seed, what reproduces it.
        verdict: How it ended.
        tools: The old tools, and the new ones.
        wanted: The findings that there must be.
        found: Those that there are.
    """

    kind: str
    number: int
    verdict: Verdict
    tools: tuple[Sequence[Tool], Sequence[Tool]]
    wanted: Sequence[Weighed]
    found: Sequence[Weighed]

    @property
    def right(self) -> bool:
        """Whether exactly what must be reported was reported."""
        return self.verdict == "right"

    def __str__(self) -> str:
        old, new = (json.dumps(side, ensure_ascii=False) for side in self.tools)
        first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
        excerpt = slice(max(0, first - 90), first + 160)
        return (
            f"  {self.verdict}: {self.kind}, number {self.number}\n"
            f"    old    {old[excerpt]}\n    new    {new[excerpt]}\n"
            f"    wanted {self.wanted}\n    found  {self.found}"
        )


class _Target(NamedTuple):
    """What a row can be applied to: a tool, and a site in it where the row is about one."""

    environment: int
    tool: int
    site: Site | None


class Trials:
    """All trials over some environments; each is determined by the seed and its number."""

    def __init__(self, environments: Sequence[Environment], seed: int) -> None:
        self._environments = [tools for tools in environments if tools]
        self._seed = seed
        self._targets: dict[str, list[_Target]] = {}

    def changes(self, count: int, named: str = "") -> list[Trial]:
        """Changes that must be found, of kinds with `named` in their names."""
        kinds = (*CHANGES, *TOOL_CHANGES)
        return [trial for number in range(count) if (trial := self._change(kinds, number, named)) is not None]

    def equivalents(self, count: int, named: str = "") -> list[Trial]:
        """Tools in other words, which must be quiet."""
        return [trial for number in range(count) if (trial := self._equivalent(number, named)) is not None]

    def _change(self, kinds: Sequence[Kind | ToolKind], number: int, named: str) -> Trial | None:
        rng = Random(f"{self._seed}/change/{number}")
        kind = rng.choice(kinds)
        target = self._pick(kind, rng) if named in kind.name else None
        if target is None:
            return None
        tools, at = self._neighbours(target, rng)
        if isinstance(kind, ToolKind):
            return _of_tool(kind, number, tools, at, rng)
        assert target.site is not None
        site = define(tools[at], target.site, rng) if rng.random() < DEFINED else target.site
        return _of_schema(kind, number, tools, at, site, rng)

    def _equivalent(self, number: int, named: str) -> Trial | None:
        rng = Random(f"{self._seed}/equivalent/{number}")
        kind = rng.choice(EQUIVALENTS)
        target = self._pick(kind, rng) if named in kind.name else None
        if target is None:
            return None
        tools, at = self._neighbours(target, rng)
        keys = () if target.site is None else target.site.keys(kind.part)
        kind.before(reach(tools[at], keys), rng)
        new = deepcopy(tools)
        kind.after(reach(new[at], keys), rng)
        found = compared(tools, new)
        quiet = all(finding[0] in kind.allows for finding in found)
        return Trial(kind.name, number, "right" if quiet else "false alarm", (tools, new), (), found)

    def _pick(self, kind: Kind | ToolKind | Equivalent, rng: Random) -> _Target | None:
        if kind.name not in self._targets:
            self._targets[kind.name] = list(self._fitting(kind))
        targets = self._targets[kind.name]
        return rng.choice(targets) if targets else None

    def _fitting(self, kind: Kind | ToolKind | Equivalent) -> Iterator[_Target]:
        for i, tools in enumerate(self._environments):
            for j, tool in enumerate(tools):
                if isinstance(kind, ToolKind) or (isinstance(kind, Equivalent) and kind.whole):
                    yield from [_Target(i, j, None)] if kind.fits(tool) else []
                    continue
                for site in self._sites[i][j]:
                    yield from [_Target(i, j, site)] if kind.fits(site, reach(tool, site.keys(kind.part))) else []

    @cached_property
    def _sites(self) -> list[list[list[Site]]]:
        return [[sites(tool) for tool in tools] for tools in self._environments]

    def _neighbours(self, target: _Target, rng: Random) -> tuple[list[Tool], int]:
        """A copy of the tool among a few others of its environment, and its place among them."""
        tools = self._environments[target.environment]
        others = [i for i in range(len(tools)) if i != target.tool]
        chosen = sorted([target.tool, *rng.sample(others, min(NEIGHBOURS, len(others)))])
        return deepcopy([tools[i] for i in chosen]), chosen.index(target.tool)


def _of_tool(kind: ToolKind, number: int, tools: list[Tool], at: int, rng: Random) -> Trial:
    kind.before(tools[at], rng)
    new = deepcopy(tools)
    wanted = sorted((*finding, *SEVERITIES[finding[0]]) for finding in kind.after(new, at, rng))
    found = compared(tools, new)
    return Trial(kind.name, number, _verdict(wanted, found), (tools, new), wanted, found)


def _of_schema(kind: Kind, number: int, tools: list[Tool], at: int, site: Site, rng: Random) -> Trial:
    keys = site.keys(kind.part)
    kind.before(reach(tools[at], keys), rng)
    new = deepcopy(tools)
    chosen = kind.after(reach(new[at], keys), rng) or {}
    names = {name: escape(str(value)) for name, value in chosen.items()}
    wanted = sorted(
        (rule, str(tools[at]["name"]), path + below.format_map(names), *SEVERITIES[rule])
        for path in site.paths
        for rule, below in kind.findings
    )
    found = compared(tools, new)
    claim = kind.accepts is None or not contradicts(kind.accepts, tools[at], new[at], keys, rng)
    return Trial(kind.name, number, _verdict(wanted, found) if claim else "wrong claim", (tools, new), wanted, found)


def define(tool: Tool, site: Site, rng: Random) -> Site:
    """Move the schema of a parameter into a definition that is used in one place or in two."""
    if not site.plain or site.core[:-1] != ("input_schema", "properties") or len(site.paths) > 1:
        return site
    whole = tool["input_schema"]
    whole.setdefault("$defs", {})["Quarry"] = reach(tool, site.core)
    whole["properties"][site.core[-1]] = {"$ref": "#/$defs/Quarry"}
    keys, paths = ("input_schema", "$defs", "Quarry"), site.paths
    if rng.random() < 0.5:
        whole["properties"]["quarry"] = {"$ref": "#/$defs/Quarry"}
        paths = (*paths, "/input_schema/properties/quarry")
    return replace(site, words=keys, core=keys, paths=paths)


def compared(old: Sequence[Tool], new: Sequence[Tool]) -> list[Weighed]:
    """What is reported about two lists of tools."""
    try:
        changes = compare_snapshots(_snapshot(old), _snapshot(new))
    except SchemaError as error:
        return [("refused", str(error))]
    severities = [
        {finding.change: finding.severity for finding in Policy(profile).judge(_hashable(changes), "env", "env.py", {})}
        for profile in _PROFILES
    ]
    return sorted(
        (change.rule, str(change.tool), change.path, *(found.get(change, "off") for found in severities))
        for change in _hashable(changes)
    )


def _hashable(changes: Sequence[Any]) -> list[Any]:
    """The changes without their values, which lists may be among."""
    return [replace(change, old=None, new=None) for change in changes]


def _snapshot(tools: Sequence[Tool]) -> Snapshot:
    return Snapshot("http://127.0.0.1:8000", "env", "train", tuple(tools))


def _verdict(wanted: Sequence[Weighed], found: Sequence[Weighed]) -> Verdict:
    if list(wanted) == list(found):
        return "right"
    if not found or found[0][0] == "refused":
        return "refused" if found else "missed"
    if [one[:3] for one in wanted] == [one[:3] for one in found]:
        return "wrong severity"
    return "wrong place" if [one[0] for one in wanted] == [one[0] for one in found] else "wrong rule"
