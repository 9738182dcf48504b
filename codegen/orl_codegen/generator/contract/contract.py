"""The contract: a snapshot worked out for Python, with every name, type and text settled.

Nothing is decided after this: the templates receive these finished strings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from orl_codegen.errors import ConflictError, SchemaError, printable
from orl_codegen.generator.contract import docstring, wording
from orl_codegen.generator.contract.merging import MAX_SCHEMAS_IN_ALL, MergedTool, merged_tool, tool_names
from orl_codegen.generator.contract.naming import Identifier, method_names, parameter_names, pascal
from orl_codegen.generator.contract.python_types import NestedType, object_keys
from orl_codegen.generator.contract.suspicion import suspicious
from orl_codegen.generator.contract.type_generator import annotate
from orl_codegen.generator.options import OnConflict
from orl_codegen.generator.snapshot import Snapshot
from orl_codegen.schema.tree import Schema

NoteKind = Literal["left out", "widened", "renamed", "suspicious", "corrected", "not shown"]


@dataclass(frozen=True)
class Note:
    """A line of the report: something that the user should know before committing. All text is printable."""

    kind: NoteKind
    tool: str
    message: str


@dataclass(frozen=True)
class Parameter:
    """A parameter of a method.

    Attributes:
        key: Its wire key.
        name: How Python, and therefore the model, spells it.
        annotation: Source of its type.
        required: Whether a call must pass it.
        text: What the model reads about it, one line.
        schema: Its schema.
    """

    key: str
    name: Identifier
    annotation: str
    required: bool
    text: str
    schema: Schema


@dataclass(frozen=True)
class Tool:
    """A method of the adapter.

    Attributes:
        wire_name: What the server and the model call it.
        name: The name of the method.
        text: What the model reads about it.
        parameters: In the order of the schema.
        tasks: The probed tasks that offer it; None for a shared tool.
        schema: The top-level object of its `input_schema`.
    """

    wire_name: str
    name: Identifier
    text: str
    parameters: tuple[Parameter, ...]
    tasks: tuple[int, ...] | None
    schema: Schema

    @cached_property
    def docstring(self) -> str:
        """The docstring of the method, without indentation."""
        return docstring.compose(self.text, [(parameter.name, parameter.text) for parameter in self.parameters])


@dataclass(frozen=True)
class Contract:
    """Everything that goes into a module."""

    class_name: Identifier
    snapshot: Snapshot
    tools: tuple[Tool, ...]
    nested: tuple[NestedType, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class Survey:
    """What a snapshot offers, before types and texts: its tools, the names of their methods, and the notes."""

    snapshot: Snapshot
    tools: tuple[MergedTool, ...]
    names: Mapping[str, Identifier]
    notes: tuple[Note, ...]


def build(
    snapshot: Snapshot,
    *,
    class_name: str | None = None,
    allow_partial: bool = False,
    on_conflict: OnConflict = "widen",
) -> Contract:
    """Work out a snapshot for Python.

    Args:
        snapshot: What the server sent.
        class_name: Name of the adapter class; by default derived from the variant.
        allow_partial: Leave refused tools out, with a note, instead of raising.
        on_conflict: What to do where tasks give one tool different schemas.

    Raises:
        SchemaError: A tool is refused, and `allow_partial` is not set.
        ConflictError: Tasks disagree about a tool, and `on_conflict` is "error".
    """
    return work_out(survey(snapshot, allow_partial=allow_partial, on_conflict=on_conflict), class_name)


def survey(snapshot: Snapshot, *, allow_partial: bool = False, on_conflict: OnConflict = "widen") -> Survey:
    """The first half of `build`, which is quick and refuses whatever `build` refuses."""
    merged, left_out = _merged(snapshot, allow_partial)
    for tool in merged:
        if tool.conflict and on_conflict == "error":
            raise ConflictError(_conflict_message(tool))
    names = method_names([tool.name for tool in merged])
    notes = [note for tool in merged for note in _notes(tool, names[tool.name])]
    return Survey(snapshot, tuple(merged), names, (*left_out, *_environment_notes(snapshot), *notes))


def work_out(found: Survey, class_name: str | None = None) -> Contract:
    """The second half of `build`: the types and texts."""
    adapter = Identifier(class_name or pascal(found.snapshot.variant) or "Adapter")
    named = [(found.names[tool.name], tool) for tool in found.tools]
    annotations = annotate([(name, tool.schema) for name, tool in named], {adapter, *found.names.values()})
    tools = tuple(_tool(tool, name, annotations.parameters[i]) for i, (name, tool) in enumerate(named))
    return Contract(adapter, found.snapshot, tools, annotations.nested, found.notes)


def _merged(snapshot: Snapshot, allow_partial: bool) -> tuple[list[MergedTool], list[Note]]:
    tools: list[MergedTool] = []
    notes: list[Note] = []
    schemas = 0
    for name in tool_names(snapshot):
        try:
            tools.append(merged_tool(snapshot, name))
        except SchemaError as error:
            if not allow_partial:
                raise
            notes.append(Note("left out", printable(name), str(error)))
            continue
        schemas += _count(tools[-1].schema)
        _refuse_too_many(schemas, snapshot)
    return tools, notes


def _count(schema: Schema) -> int:
    return 1 + sum(map(_count, wording.parts_of(schema)))


def _refuse_too_many(schemas: int, snapshot: Snapshot) -> None:
    """A schema takes a millisecond to become a type and words, and a short spec can hold thousands of them."""
    if schemas > MAX_SCHEMAS_IN_ALL:
        raise SchemaError(
            f"{printable(snapshot.target)} is refused: its tools hold more than {MAX_SCHEMAS_IN_ALL:,} schemas once "
            "references are followed. Offer fewer tools, or simpler ones, on the server."
        )


def _tool(tool: MergedTool, name: Identifier, annotations: dict[str, str]) -> Tool:
    keys = object_keys(tool.schema)
    names = parameter_names(keys)
    description = docstring.take_apart(tool.description, keys)
    parameters = tuple(
        _parameter(key, names[key], annotations[key], tool.schema, description.parameters.get(key, "")) for key in keys
    )
    text = docstring.plain("\n\n".join(filter(str.strip, [description.text, _call_text(tool, description.text)])))
    return Tool(
        wire_name=tool.name,
        name=name,
        text=text or docstring.plain(f"Use the {' '.join(tool.name.split()) or 'unnamed'} tool."),
        parameters=parameters,
        tasks=tool.tasks,
        schema=tool.schema,
    )


def _call_text(tool: MergedTool, description: str) -> str:
    text = wording.tool_text(tool.schema)
    return "" if text.strip() in description else text


def _parameter(key: str, name: Identifier, annotation: str, tool: Schema, more: str) -> Parameter:
    schema = tool.properties.get(key, Schema("any"))
    text = wording.parameter_text(key, schema, more)
    if name != key:
        text = f"{text} Its name in the environment is {printable(key)!r}."
    return Parameter(key, name, annotation, key in tool.required, docstring.plain_line(text), schema)


def _conflict_message(tool: MergedTool) -> str:
    return (
        f"The probed tasks give the tool {printable(tool.name)!r} different schemas, and --on-conflict error refuses "
        "to widen it. Give the tool one schema on the server, probe only tasks that agree (--probe), or leave the "
        "option out."
    )


def _environment_notes(snapshot: Snapshot) -> list[Note]:
    """Notes about the environment itself."""
    found = suspicious([snapshot.variant, snapshot.terminal_tool, snapshot.splits])
    return [Note("suspicious", "the environment", printable(", ".join(found)))] if found else []


def _notes(tool: MergedTool, name: Identifier) -> list[Note]:
    wire_name = printable(tool.name)
    notes: list[Note] = []

    def note(kind: NoteKind, message: str) -> None:
        notes.append(Note(kind, wire_name, message))

    if tool.conflict:
        note("widened", "its specs have different schemas; it takes what any of them takes")
    if name != tool.name:
        note("renamed", f"its method is called {name}; the model still sees {wire_name!r}")
    spelled = parameter_names(object_keys(tool.schema))
    for key in object_keys(tool.schema):
        if spelled[key] != key:
            note("renamed", f"its parameter {printable(key)!r} is spelled {spelled[key]} in Python")
    found = suspicious([tool.name, tool.description, *_raw_parts(tool.schema)])
    if found:
        note("suspicious", printable(", ".join(found)))
    if tool.other_keys:
        note("not shown", f"keys of its spec that ORS does not have: {printable(', '.join(tool.other_keys))}")
    for reading in tool.readings:
        note(reading.outcome, reading.message)
    unworded = sorted(wording.unworded(tool.schema))
    if unworded:
        note("not shown", f"keywords that JSON Schema does not define: {printable(', '.join(unworded))}")
    if tool.schema.additional is not None and tool.schema.additional.kind != "never":
        note("not shown", "it takes parameters beyond those that it names, and a method cannot")
    return notes


def _raw_parts(schema: Schema) -> list[object]:
    """Everything in a schema that the server wrote, at any depth."""
    own = [dict(schema.facts), list(schema.properties), schema.values or (), sorted(schema.required)]
    return [*own, *(raw for part in wording.parts_of(schema) for raw in _raw_parts(part))]
