"""From `input_schema` to `Schema`, the form that everything else reads.

What a server sends is hostile and comes in many spellings (`$ref`, `allOf`, type lists, `const`, boolean schemas,
missing types), all of which end here. `document` holds the limits, `flattening` follows references and merges `allOf`,
`building` makes the tree; this module sees to it that the whole is one object.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

from orl_codegen.errors import SchemaError, printable
from orl_codegen.schema.building import Builder
from orl_codegen.schema.document import Document
from orl_codegen.schema.flattening import Around
from orl_codegen.schema.normalizing import Normalizer, Reading, unwrapped
from orl_codegen.schema.tree import Schema, union_of


def expand(input_schema: object, tool: str) -> Schema:
    """The schema that `expand_and_note` works out, where nobody reads the notes."""
    schema, _ = expand_and_note(input_schema, tool)
    return schema


def expand_and_note(input_schema: object, tool: str) -> tuple[Schema, tuple[Reading, ...]]:
    """Work out the `input_schema` of a tool.

    Args:
        input_schema: As the server sent it; None, `{}` and `true` mean a tool without parameters.
        tool: Wire name of the tool, for errors.

    Returns:
        A schema of kind `object`, and what in it is not JSON Schema and had to be read as something else or left out.

    Raises:
        SchemaError: A reference leaves the document, dangles or leads only to itself; a limit is exceeded; a schema
            is a number or a list; or the input is not an object.
    """
    if input_schema is None or input_schema is True:
        input_schema = {}
    normalizer = Normalizer()
    root = unwrapped(input_schema, normalizer)
    schema = Builder(Document(root, tool), normalizer).build(root, "", Around())
    return _as_object(schema, tool), tuple(normalizer.readings())


def _as_object(schema: Schema, tool: str) -> Schema:
    if schema.kind == "any":
        schema = replace(schema, kind="object")
    if schema.kind == "union":
        schema = _one_object(schema)
    if schema.kind != "object":
        raise SchemaError(
            f"The tool {printable(tool)!r} is refused: its input_schema describes {_with_article(schema.kind)}, and "
            "the input of a call is always an object. Fix the tool on the server, or leave it out with "
            "--allow-partial."
        )
    return schema


def _with_article(kind: str) -> str:
    return {"null": "null", "never": "nothing", "recursion": "itself"}.get(
        kind, ("an " if kind[0] in "aio" else "a ") + kind
    )


def _one_object(union: Schema) -> Schema:
    """Alternatives at the top level, as one object: every property of every branch, required where all require it.

    Which of them go together is kept as the fact `alternatives`.
    """
    branches = [option for option in union.options if option.kind == "object"]
    if len(branches) != len(union.options):
        return union
    properties: dict[str, Schema] = {}
    for branch in branches:
        for key, schema in branch.properties.items():
            properties[key] = union_of([properties[key], schema]) if key in properties else schema
    alternatives = [
        {"required": sorted(branch.required), "values": _constants(branch), **branch.facts} for branch in branches
    ]
    return Schema(
        kind="object",
        properties=MappingProxyType(properties),
        required=frozenset.intersection(*(branch.required for branch in branches)),
        facts=MappingProxyType({**union.facts, "alternatives": alternatives}),
        pointer=union.pointer,
    )


def _constants(schema: Schema) -> dict[str, Any]:
    """The fields of an object that can have only one value."""
    values = {key: part.values for key, part in schema.properties.items() if part.values is not None}
    return {key: allowed[0] for key, allowed in values.items() if len(allowed) == 1}
