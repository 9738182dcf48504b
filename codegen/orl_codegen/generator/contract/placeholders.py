"""What is sent to the type generator: a bundle of classes that holds not one character of a server's text.

Classes, fields and enum values are placeholders (`N0`, `f0`, `v0`). `Bundle` remembers what each of them stands for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from orl_codegen.generator.contract.naming import Identifier, Scope, type_name
from orl_codegen.generator.contract.python_types import is_literal, is_typed, object_keys
from orl_codegen.schema.json_values import distinct
from orl_codegen.schema.tree import Schema

MAX_UNION = 100
"""How many types a union may have; a longer one becomes `Any`, and its branches are only told in words."""

SLOTS = "Slots"
"""The placeholder class that has every slot for a field."""

Slot = dict[str, Any]
"""The JSON Schema of a field, in placeholders."""

Path = list[str]
"""The keys that lead from a tool to a schema inside it, of which a nested type gets its name."""


@dataclass(frozen=True)
class Shape:
    """What a placeholder class stands for.

    Attributes:
        placeholder: Its name.
        schema: The object that it stands for; None where it stands for a tuple.
        name: The name of the nested type; None for a tuple, and for the parameters of a tool.
    """

    placeholder: str
    schema: Schema | None = None
    name: Identifier | None = None

    @property
    def referred(self) -> bool:
        """Whether slots may refer to it; they never do to the parameters of a tool."""
        return self.schema is None or self.name is not None


class Bundle:
    """The placeholders of all tools, and the JSON Schema made of them.

    Attributes:
        fields: For each placeholder class, which of the slots its fields have. Equal slots are one, whatever class they
            are in: most parameters are plain strings and numbers, and the type generator is asked only once for each.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.slots: dict[str, Slot] = {}
        self.fields: dict[str, list[str]] = {}
        self.shapes: dict[str, Shape] = {}
        self.values: list[Any] = []

    def add_shape(self, schema: Schema | None = None, name: Identifier | None = None) -> str:
        """A new placeholder class; its place in the bundle is in front of the classes that its fields name."""
        placeholder = f"N{len(self.shapes)}"
        self.shapes[placeholder] = Shape(placeholder, schema, name)
        return placeholder

    def define(self, placeholder: str, slots: Iterable[Slot]) -> None:
        """Give a placeholder class its fields."""
        self.fields[placeholder] = [self._shared(slot) for slot in slots]

    def _shared(self, slot: Slot) -> str:
        text = json.dumps(slot)
        self.slots.setdefault(text, slot)
        return text

    @property
    def definitions(self) -> dict[str, Slot]:
        """One class whose fields are all the slots, and the classes that slots refer to, which need no fields here."""
        slots = {f"f{i}": slot for i, slot in enumerate(self.slots.values())}
        referred = {name: _class({"f": {}}) for name in self.shapes if self.shapes[name].referred}
        return {SLOTS: _class(slots), **referred}

    def enum(self, values: Iterable[Any]) -> Slot:
        """One of these values."""
        first = len(self.values)
        self.values += distinct(values)
        return {"enum": [f"v{i}" for i in range(first, len(self.values))]}


class ToolTypes:
    """The types of one tool.

    Attributes:
        tool: Name of the method.
        root: Its top-level object.
        nested: The objects that have a placeholder, by pointer: a definition gets one type, unless it differs by place.
    """

    def __init__(self, bundle: Bundle, tool: Identifier, root: Schema) -> None:
        self.bundle = bundle
        self.tool = tool
        self.root = root
        self.nested: dict[str, list[Shape]] = {}

    def add_parameters(self) -> str:
        """The placeholder of a class whose fields are the parameters of the tool."""
        placeholder = self.bundle.add_shape(self.root)
        self._define_object(placeholder, self.root, [])
        return placeholder

    def _define_object(self, placeholder: str, schema: Schema, path: Path) -> None:
        fields = {key: schema.properties.get(key, Schema("any")) for key in object_keys(schema)}
        self.bundle.define(placeholder, [self._slot(field, [*path, key]) for key, field in fields.items()])

    def _slot(self, schema: Schema, path: Path) -> Slot:
        slot = self._literal(schema) if is_literal(schema) else self._of_kind(schema, path)
        return {"anyOf": [slot, {"type": "null"}]} if schema.nullable and slot else slot

    def _literal(self, schema: Schema) -> Slot:
        options = schema.options if schema.values is None else (schema,)
        return self.bundle.enum(value for option in options for value in option.values or ())

    def _of_kind(self, schema: Schema, path: Path) -> Slot:
        match schema.kind:
            case "any" | "never":
                return {}
            case "union":
                return self._union(schema, path)
            case "array":
                return self._array(schema, path)
            case "object":
                return self._object(schema, path)
            case "recursion":
                return self._recursion(schema)
            case kind:
                return {"type": kind}

    def _union(self, schema: Schema, path: Path) -> Slot:
        slots = distinct(self._slot(option, path) for option in schema.options)
        return {"anyOf": list(slots)} if {} not in slots and len(slots) <= MAX_UNION else {}

    def _array(self, schema: Schema, path: Path) -> Slot:
        if len(schema.prefix) > 1 and (schema.items is None or schema.items.kind == "never"):
            return self._tuple(schema, path)
        parts = [*schema.prefix, *([schema.items] if schema.items is not None else [])]
        if not parts:
            return {"type": "array"}
        items = parts[0] if len(parts) == 1 else Schema("union", options=tuple(parts))
        return {"type": "array", "items": self._slot(items, [*path, "item"])}

    def _tuple(self, schema: Schema, path: Path) -> Slot:
        placeholder = self.bundle.add_shape()
        slots = [self._slot(part, [*path, "item", str(i)]) for i, part in enumerate(schema.prefix)]
        self.bundle.define(placeholder, slots)
        return _reference(placeholder)

    def _object(self, schema: Schema, path: Path) -> Slot:
        if is_typed(schema):
            return _reference(self._nested_type(schema, path))
        if schema.additional is None or schema.properties or schema.additional.kind in ("any", "never"):
            return {"type": "object"}
        return {"type": "object", "additionalProperties": self._slot(schema.additional, [*path, "value"])}

    def _nested_type(self, schema: Schema, path: Path) -> str:
        """The placeholder of the nested type of an object, new or known."""
        known = self.nested.setdefault(schema.pointer, [])
        for shape in known:
            if shape.schema is not None and _same_shape(schema, shape.schema):
                return shape.placeholder
        *_, parent, key = ("", "", *schema.pointer.split("/"))
        words = [key] if parent in ("$defs", "definitions") else path or ["arguments"]
        placeholder = self.bundle.add_shape(schema, type_name([self.tool, *words], self.bundle.scope))
        known.append(self.bundle.shapes[placeholder])
        self._define_object(placeholder, schema, path)
        return placeholder

    def _recursion(self, schema: Schema) -> Slot:
        around = self.nested.get(schema.pointer)
        if around:
            return _reference(around[-1].placeholder)
        if schema.pointer == "" and is_typed(self.root):
            return _reference(self._nested_type(self.root, []))
        return {}


def _class(fields: dict[str, Slot]) -> Slot:
    return {"type": "object", "properties": fields, "required": list(fields)}


def _reference(placeholder: str) -> Slot:
    return {"$ref": f"#/$defs/{placeholder}"}


def _same_shape(a: Schema, b: Schema) -> bool:
    return (a.properties, a.required, a.additional) == (b.properties, b.required, b.additional)
