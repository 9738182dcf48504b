"""Limits of numbers in one form, so that equal limits are told in the same words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from orl_codegen.schema.json_values import is_number
from orl_codegen.schema.keywords import EXCLUSIVE
from orl_codegen.schema.shapes import READABLE_BELOW
from orl_codegen.schema.tree import Schema


def with_plain_limits(schema: Schema) -> Schema:
    """The schema with at most one lower and one upper limit of its numbers; those of integers are inclusive."""
    if not schema.facts.keys() & EXCLUSIVE.values():
        return schema
    kinds = {option.kind for option in schema.options or (schema,)}
    whole = "integer" in kinds and not kinds & {"number", "any", "union", "recursion"}
    return replace(schema, facts=MappingProxyType(_plain(_inclusive(schema.facts) if whole else schema.facts)))


def _inclusive(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """An integer above 2 is at least 3."""
    found = dict(facts)
    for limit, exclusive in EXCLUSIVE.items():
        bound = facts.get(exclusive)
        if is_number(bound) and abs(bound) < READABLE_BELOW:
            del found[exclusive]
            value = math.floor(bound) + 1 if limit == "minimum" else math.ceil(bound) - 1
            found[limit] = _tighter(limit, value, facts[limit]) if is_number(facts.get(limit)) else value
    return found


def _plain(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a limit and its exclusive form, only the tighter one."""
    found = dict(facts)
    for limit, exclusive in EXCLUSIVE.items():
        if is_number(facts.get(limit)) and is_number(facts.get(exclusive)):
            looser = limit if _tighter(limit, facts[limit], facts[exclusive]) == facts[exclusive] else exclusive
            del found[looser]
    return found


def _tighter(limit: str, a: Any, b: Any) -> Any:
    return max(a, b) if limit == "minimum" else min(a, b)
