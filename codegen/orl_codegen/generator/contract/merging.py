"""One tool a name: shared tools and the task tools of every probed task, brought together.

Where two tasks give one name different schemas, the tool is widened to what any of them takes: a parameter is required
only if all require it, and types and enums are united. The report says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import cleandoc
from types import MappingProxyType
from typing import Any

from orl_codegen.errors import SchemaError, printable
from orl_codegen.generator.contract.expansion import expand
from orl_codegen.generator.contract.schema import EMPTY, Schema, union_of
from orl_codegen.generator.json_values import distinct, same
from orl_codegen.generator.snapshot import JSONObject, Snapshot

SPEC_KEYS = frozenset({"name", "description", "input_schema"})

LOWER_LIMITS = frozenset("minimum exclusiveMinimum minLength minItems minProperties".split())
UPPER_LIMITS = frozenset("maximum exclusiveMaximum maxLength maxItems maxProperties".split())

MAX_TOOLS = 2_000
"""How many tools one environment may have."""


@dataclass(frozen=True)
class MergedTool:
    """One tool as the adapter will offer it.

    Attributes:
        name: Wire name.
        description: The description; where tasks differ, each of them, in order, on paragraphs of their own.
        schema: The top-level object, widened over all tasks.
        tasks: The probed tasks that offer the tool; None for a shared one, which all offer.
        conflict: Whether the schemas of this name differ.
        other_keys: Keys of its specs that mean nothing here, sorted.
    """

    name: str
    description: str
    schema: Schema
    tasks: tuple[int, ...] | None
    conflict: bool
    other_keys: tuple[str, ...] = ()


def merged_tools(snapshot: Snapshot) -> tuple[MergedTool, ...]:
    """Every tool of a snapshot, sorted by wire name.

    Raises:
        SchemaError: A schema is refused, or there are more than `MAX_TOOLS` names.
    """
    return tuple(merged_tool(snapshot, name) for name in tool_names(snapshot))


def tool_names(snapshot: Snapshot) -> tuple[str, ...]:
    """The wire names of a snapshot, sorted."""
    names = {spec["name"] for spec in snapshot.tools} | {entry.spec["name"] for entry in snapshot.task_tools}
    if len(names) > MAX_TOOLS:
        raise SchemaError(
            f"{printable(snapshot.target)} offers {len(names):,} tools; orl-codegen takes at most {MAX_TOOLS:,}. Offer "
            "fewer on the server: no model could read so many in its prompt."
        )
    return tuple(sorted(names))


def merged_tool(snapshot: Snapshot, name: str) -> MergedTool:
    """The tool of one name, over all of its specs."""
    shared = [spec for spec in snapshot.tools if spec["name"] == name]
    entries = [entry for entry in snapshot.task_tools if entry.spec["name"] == name]
    specs = [*shared, *(entry.spec for entry in entries)]
    schemas = [expand(_input_schema(spec), name) for spec in specs]
    tasks = None if shared else tuple(sorted({task for entry in entries for task in entry.tasks}))
    return MergedTool(
        name=name,
        description="\n\n".join(_distinct([cleandoc(str(spec.get("description") or "")) for spec in specs])),
        schema=widen(schemas),
        tasks=tasks,
        conflict=any(schema != schemas[0] for schema in schemas),
        other_keys=tuple(sorted({key for spec in specs for key in spec} - SPEC_KEYS)),
    )


def _input_schema(spec: JSONObject) -> object:
    if "input_schema" not in spec and "inputSchema" in spec:
        raise SchemaError(
            f"The tool {printable(spec['name'])!r} is refused: its spec has `inputSchema`, as MCP calls it, and ORS "
            "calls it `input_schema`. Rename it on the server, or leave the tool out with --allow-partial."
        )
    return spec.get("input_schema")


def _distinct(texts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text.strip()))


def widen(schemas: Sequence[Schema]) -> Schema:
    """The narrowest schema of the tree that takes whatever any of `schemas` takes."""
    widened = schemas[0]
    for schema in schemas[1:]:
        widened = _wider(widened, schema)
    return widened


def _wider(a: Schema, b: Schema) -> Schema:
    if a == b:
        return a
    if a.kind == b.kind == "object":
        return _wider_object(a, b)
    if a.kind == b.kind == "array" and not a.prefix and not b.prefix:
        items = None if a.items is None or b.items is None else _wider(a.items, b.items)
        return replace(a, nullable=a.nullable or b.nullable, items=items, facts=_shared_facts(a, b), values=None)
    if a.kind == b.kind and a.kind in ("string", "integer", "number", "boolean"):
        values = None if a.values is None or b.values is None else distinct([*a.values, *b.values])
        return replace(a, nullable=a.nullable or b.nullable, values=values, facts=_shared_facts(a, b))
    if "any" in (a.kind, b.kind):
        return Schema("any", facts=_shared_facts(a, b), pointer=a.pointer)
    return union_of([a, b], EMPTY, a.pointer)


def _wider_object(a: Schema, b: Schema) -> Schema:
    keys = list(dict.fromkeys([*a.properties, *b.properties]))
    properties = {
        key: _wider(a.properties[key], b.properties[key])
        if key in a.properties and key in b.properties
        else a.properties.get(key) or b.properties[key]
        for key in keys
    }
    additional = a.additional
    if a.additional != b.additional:
        additional = None if a.additional is None or b.additional is None else _wider(a.additional, b.additional)
    return replace(
        a,
        nullable=a.nullable or b.nullable,
        properties=MappingProxyType(properties),
        required=a.required & b.required,
        additional=additional,
        facts=_shared_facts(a, b),
        values=None,
    )


def _shared_facts(a: Schema, b: Schema) -> MappingProxyType[str, Any]:
    """Of limits the wider one holds, if both tasks set one; texts of both are kept; the rest has to be the same."""
    shared = {key: value for key, value in a.facts.items() if key in b.facts and same(value, b.facts[key])}
    for wider, keywords in ((min, LOWER_LIMITS), (max, UPPER_LIMITS)):
        for key in keywords & a.facts.keys() & b.facts.keys():
            if all(isinstance(side.facts[key], (int, float)) for side in (a, b)):
                shared[key] = wider(a.facts[key], b.facts[key])
    texts = _distinct([a.description, b.description])
    return MappingProxyType({**shared, **({"description": "\n".join(texts)} if texts else {})})
