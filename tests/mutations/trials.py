"""One trial: a tool is changed, two snapshots are compared, and the findings are held against those that must be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, Literal

from orl_codegen.drift.comparison.compare import compare_snapshots
from orl_codegen.drift.policy import Policy
from orl_codegen.drift.rules import RULES
from orl_codegen.errors import SchemaError
from orl_codegen.generator.snapshot import Snapshot
from tests.mutations.acceptance import contradicts
from tests.mutations.equivalents import EQUIVALENTS, Equivalent
from tests.mutations.kinds import CHANGES, SEVERITIES, Kind
from tests.mutations.sites import Keys, Site, reach, sites
from tests.mutations.tool_kinds import TOOL_CHANGES, Found, ToolKind, copied
from tests.mutations.tools import Environment, Tool

Verdict = Literal["right", "missed", "wrong rule", "wrong place", "wrong severity", "false alarm", "wrong claim"]
Row = Kind | ToolKind | Equivalent

NEIGHBOURS = 3
HOISTED = 0.15
"""How often a schema is moved into a definition first, on both sides."""


@dataclass(frozen=True)
class Trial:
    """What was tried, and how it ended.

    Attributes:
        kind: The name of the row.
        number: With the seed, what reproduces it.
        verdict: How it ended.
        tool: The tool before, and after.
        wanted: The findings that it must have, with their severities for code and training.
        found: Those that it has.
    """

    kind: str
    number: int
    verdict: Verdict
    tool: tuple[Any, Any]
    wanted: list[tuple[str, ...]]
    found: list[tuple[str, ...]]


class Trials:
    """All trials over some environments; each is determined by the seed and its number."""

    def __init__(self, environments: Sequence[Environment], seed: int) -> None:
        self._environments = [list(tools) for tools in environments if tools]
        self._seed = seed
        self._places: dict[str, list[tuple[int, int, Site | None]]] = {}

    def change(self, number: int, named: str = "") -> Trial | None:
        """A change that must be found, of a kind with this in its name; None if no tool fits it."""
        rng = Random(f"{self._seed}/change/{number}")
        kind = rng.choice([*CHANGES, *TOOL_CHANGES])
        if named not in kind.name:
            return None
        return self._of_tool(kind, number, rng) if isinstance(kind, ToolKind) else self._of_schema(kind, number, rng)

    def equivalent(self, number: int, named: str = "") -> Trial | None:
        """The same tool in other words, which must be quiet; None if no tool fits it."""
        rng = Random(f"{self._seed}/equivalent/{number}")
        kind = rng.choice(EQUIVALENTS)
        place = self._pick(kind, rng) if named in kind.name else None
        if place is None:
            return None
        tools, at = self._neighbours(place, rng)
        site = place[2]
        if site is not None:
            kind.before(reach(tools[at], kind.keys(site)), rng)
        new = copied(tools)
        if site is None:
            kind.after(new[at], rng)
        else:
            kind.after(reach(new[at], kind.keys(site)), rng)
        found = compared(tools, new)
        loud = [finding for finding in found if finding[0] not in kind.allows]
        return Trial(kind.name, number, "false alarm" if loud else "right", (tools[at], new[at]), [], found)

    def _of_tool(self, kind: ToolKind, number: int, rng: Random) -> Trial | None:
        place = self._pick(kind, rng)
        if place is None:
            return None
        tools, at = self._neighbours(place, rng)
        kind.before(tools[at], rng)
        new = copied(tools)
        wanted = sorted(map(_weighed, kind.after(new, at, rng)))
        found = compared(tools, new)
        return Trial(kind.name, number, _verdict(wanted, found), (tools[at], new[at : at + 2]), wanted, found)

    def _of_schema(self, kind: Kind, number: int, rng: Random) -> Trial | None:
        place = self._pick(kind, rng)
        if place is None or place[2] is None:
            return None
        tools, at = self._neighbours(place, rng)
        site = place[2]
        if rng.random() < HOISTED:
            site = hoist(tools[at], site, rng)
        keys = site.words if kind.part == "words" else site.core
        kind.before(reach(tools[at], keys), rng)
        new = copied(tools)
        chosen = kind.after(reach(new[at], keys), rng) or {}
        names = {name: str(value).replace("~", "~0").replace("/", "~1") for name, value in chosen.items()}
        wanted = sorted(
            _weighed((rule, tools[at]["name"], path + below.format_map(names)))
            for path in site.paths
            for rule, below in zip(kind.rules, kind.at, strict=True)
        )
        found = compared(tools, new)
        verdict = _verdict(wanted, found)
        if kind.accepts and contradicts(kind.accepts, tools[at], new[at], keys, rng):
            verdict = "wrong claim"
        return Trial(kind.name, number, verdict, (tools[at], new[at]), wanted, found)

    def _pick(self, kind: Row, rng: Random) -> tuple[int, int, Site | None] | None:
        if kind.name not in self._places:
            self._places[kind.name] = list(self._fitting(kind))
        places = self._places[kind.name]
        return rng.choice(places) if places else None

    def _fitting(self, kind: Row) -> Any:
        for i, tools in enumerate(self._environments):
            for j, tool in enumerate(tools):
                if isinstance(kind, ToolKind) or (isinstance(kind, Equivalent) and kind.whole):
                    if kind.fits(tool):
                        yield i, j, None
                    continue
                for site in self._sites[i][j]:
                    keys = site.words if kind.part == "words" else site.core
                    if kind.fits(site, reach(tool, keys)):
                        yield i, j, site

    @cached_property
    def _sites(self) -> list[list[list[Site]]]:
        return [[sites(tool) for tool in tools] for tools in self._environments]

    def _neighbours(self, place: tuple[int, int, Site | None], rng: Random) -> tuple[list[Tool], int]:
        """A copy of the tool among a few others of its environment, and its place among them."""
        environment, at, _ = place
        others = [i for i in range(len(self._environments[environment])) if i != at]
        chosen = sorted([at, *rng.sample(others, min(NEIGHBOURS, len(others)))])
        return deepcopy([self._environments[environment][i] for i in chosen]), chosen.index(at)


def hoist(tool: Tool, site: Site, rng: Random) -> Site:
    """Move a schema into a definition that is used in one place or in two."""
    if not site.plain or site.role != "parameter" or site.deep or len(site.paths) != 1:
        return site
    whole = tool["input_schema"]
    definition = whole.setdefault("$defs", {}).setdefault("Quarry", reach(tool, site.core))
    reference = {"$ref": "#/$defs/Quarry"}
    whole["properties"][site.core[-1]] = reference
    paths = site.paths
    if rng.random() < 0.5:
        whole["properties"]["quarry"] = dict(reference)
        paths = (*paths, "/input_schema/properties/quarry")
    keys: Keys = ("input_schema", "$defs", "Quarry")
    assert definition is reach(tool, keys)
    return Site(keys, keys, paths, site.role, site.deep, site.nullable, site.kind)


def compared(old: Sequence[Tool], new: Sequence[Tool]) -> list[tuple[str, ...]]:
    """What is reported: the rule, the tool, the pointer, and the severity for code and for training."""
    try:
        changes = compare_snapshots(_snapshot(old), _snapshot(new))
    except SchemaError as error:
        return [("refused", str(error))]
    found = {}
    for profile in ("code", "training"):
        for finding in Policy(profile).judge(changes, "env", "env.py", {}):
            found[finding.change.fingerprint, profile] = finding.severity
    return sorted(
        (change.rule, str(change.tool), change.path, *(found.get((change.fingerprint, p), "off") for p in ("code", "training")))
        for change in changes
    )


def _snapshot(tools: Sequence[Tool]) -> Snapshot:
    return Snapshot("http://127.0.0.1:8000", "env", "train", tuple(tools))


def _weighed(found: Found) -> tuple[str, ...]:
    return (*found, *SEVERITIES[found[0]])


def _verdict(wanted: Sequence[tuple[str, ...]], found: Sequence[tuple[str, ...]]) -> Verdict:
    if wanted == found:
        return "right"
    if not found:
        return "missed"
    if [one[:3] for one in wanted] == [one[:3] for one in found]:
        return "wrong severity"
    return "wrong place" if sorted(one[0] for one in wanted) == sorted(one[0] for one in found) else "wrong rule"


def shown(trial: Trial) -> str:
    """A trial for people: what was changed, what was reported and what should have been."""
    old, new = (json.dumps(side, ensure_ascii=False) for side in trial.tool)
    start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
    begin = max(0, start - 90)
    return (
        f"  {trial.verdict}: {trial.kind}, number {trial.number}\n"
        f"    old    {old[begin : start + 160]}\n    new    {new[begin : start + 160]}\n"
        f"    wanted {trial.wanted}\n    found  {trial.found}"
    )


__all__ = ["RULES", "Trial", "Trials", "compared", "hoist", "shown"]
