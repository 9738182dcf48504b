"""One tool per name: shared tools and the task tools of every probed task, brought together.

Where two tasks give a tool different schemas, the tool is widened to accept whatever any of them accepts: a parameter
is required only if all require it, and types and enums are united. The report says so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import cleandoc

from orl_codegen.errors import SchemaError, printable
from orl_codegen.generator.snapshot import JSONObject, Snapshot
from orl_codegen.ors import limits
from orl_codegen.schema.expansion import expand_and_note
from orl_codegen.schema.normalizing import Reading
from orl_codegen.schema.tree import Schema
from orl_codegen.schema.widening import widen

SPEC_KEYS = frozenset({"name", "description", "input_schema"})

MAX_TOOLS = 10_000
"""How many tools one environment may have."""

MAX_SCHEMAS_IN_ALL = 300_000
"""How many schemas all tools may hold once references are followed: thirty for each of ten thousand tools."""

MAX_SPECS = 2_000
"""How many different specs tasks may give to one tool."""


@dataclass(frozen=True)
class MergedTool:
    """One tool as the adapter will offer it.

    Attributes:
        name: Wire name.
        description: The description; where tasks differ, all of them, in order, each a paragraph of its own.
        schema: The top-level object, widened over all tasks.
        tasks: The probed tasks that offer the tool; None for a shared one, which all offer.
        conflict: Whether its specs have different schemas.
        other_keys: Keys of its specs that ORS does not define, sorted.
        readings: What in its schemas is not JSON Schema, and what was made of it.
    """

    name: str
    description: str
    schema: Schema
    tasks: tuple[int, ...] | None
    conflict: bool
    other_keys: tuple[str, ...] = ()
    readings: tuple[Reading, ...] = ()


def tool_names(snapshot: Snapshot) -> tuple[str, ...]:
    """The wire names of a snapshot, sorted.

    Raises:
        SchemaError: There are more than `MAX_TOOLS`.
    """
    names = tuple(snapshot.offers)
    if len(names) > MAX_TOOLS:
        raise SchemaError(
            f"{printable(snapshot.target)} offers {len(names):,} tools; orl-codegen takes at most {MAX_TOOLS:,}. Offer "
            "fewer on the server: no model could read so many in its prompt."
        )
    return names


def merged_tool(snapshot: Snapshot, name: str) -> MergedTool:
    """The tool of one name, over all of its specs.

    Raises:
        SchemaError: One of its schemas is refused.
    """
    offer = snapshot.offers[name]
    specs = offer.specs
    _refuse_too_much(name, specs)
    expanded = [expand_and_note(_input_schema(spec), name) for spec in specs]
    schemas = [schema for schema, _ in expanded]
    tasks = None if offer.shared else tuple(sorted({task for entry in offer.task_tools for task in entry.tasks}))
    return MergedTool(
        name=name,
        description="\n\n".join(_distinct([cleandoc(str(spec.get("description") or "")) for spec in specs])),
        schema=widen(schemas),
        tasks=tasks,
        conflict=any(schema != schemas[0] for schema in schemas),
        other_keys=tuple(sorted({key for spec in specs for key in spec} - SPEC_KEYS)),
        readings=tuple(dict.fromkeys(reading for _, readings in expanded for reading in readings)),
    )


def _refuse_too_much(name: str, specs: Sequence[JSONObject]) -> None:
    """Before anything is worked out: what a server writes may be made to take long."""
    if len(specs) > MAX_SPECS:
        raise SchemaError(
            f"The tool {printable(name)!r} is refused: the probed tasks give it {len(specs):,} different specs, and "
            f"orl-codegen widens at most {MAX_SPECS:,}. Probe fewer tasks with --probe, or leave the tool out with "
            "--allow-partial."
        )
    if max(len(json.dumps(spec, ensure_ascii=False)) for spec in specs) > limits.SPEC_BYTES:
        raise SchemaError(
            f"The tool {printable(name)!r} is refused: its spec is longer than {limits.SPEC_BYTES >> 10} KiB. Shorten "
            "it on the server, as the model has to read it, or leave the tool out with --allow-partial."
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
