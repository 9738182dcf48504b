"""What is sent to the type generator: a bundle of classes that holds not one character of a server's text.

Classes, fields and enum values are placeholders (`N0`, `f0`, `v0`). `Bundle` remembers what each of them stands for.

A nested type is named by the tool and the keys that lead to it, `BookFlight` for `flight` of the tool `book`, or by its
title where that is a name and no other type of the tool has it. Objects of one tool that have the same title and are
alike share one type, named by the first place in the order of the schema. So a name stays when a definition is renamed
or written out on the server, when tools come or go, and when a later parameter uses it too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from orl_codegen.generator.contract.naming import Identifier, Scope, pascal, type_name
from orl_codegen.generator.contract.python_types import is_literal, is_typed, object_keys
from orl_codegen.schema.json_values import distinct
from orl_codegen.schema.tree import EMPTY, Schema

MAX_UNION = 100
"""How many types a union may have; a longer one becomes `Any`, and its branches are only told in words."""

MAX_TITLE = 40
"""The longest title that makes a name."""

SLOTS = "Slots"
"""The placeholder class that has every slot for a field."""

Slot = dict[str, Any]
"""The JSON Schema of a field, in placeholders."""

Path = list[str]
"""The keys that lead from a tool to a schema inside it, of which a nested type gets its name."""

Form = tuple[Any, ...]
"""What a schema consists of, without its place."""


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
        nested: The placeholders of the objects so far, by title and by what they consist of (see `_form`): objects that
            are alike have one type, whether the server wrote them once or in several places.
        paths: Where each of these placeholders comes first.
        around: The placeholders of the objects by pointer, for what leads back to them.
    """

    def __init__(self, bundle: Bundle, tool: Identifier, root: Schema) -> None:
        self.bundle = bundle
        self.tool = tool
        self.root = root
        self.nested: dict[Form, str] = {}
        self.paths: dict[str, Path] = {}
        self.around: dict[str, str] = {}

    def add_parameters(self) -> str:
        """The placeholder of a class whose fields are the parameters of the tool."""
        placeholder = self.bundle.add_shape(self.root)
        self._define_object(placeholder, self.root, [])
        self._name_types()
        return placeholder

    def _name_types(self) -> None:
        shapes = [self.bundle.shapes[placeholder] for placeholder in self.paths]
        titles = {shape.placeholder: _title_of(shape.schema) for shape in shapes if shape.schema is not None}
        uses = Counter(title.casefold() for title in titles.values())
        for shape in shapes:
            title = titles[shape.placeholder]
            words = [title] if title and uses[title.casefold()] == 1 else self.paths[shape.placeholder]
            name = type_name([self.tool, *(words or ["arguments"])], self.bundle.scope)
            self.bundle.shapes[shape.placeholder] = replace(shape, name=name)

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
        bare = replace(schema, nullable=False, values=None, facts=EMPTY)
        form = (_title_of(schema), self._form(bare, ()))
        known = self.nested.get(form)
        placeholder = self.nested[form] = self.around[schema.pointer] = known or self.bundle.add_shape(schema)
        if known is None:
            self.paths[placeholder] = path
            self._define_object(placeholder, schema, path)
        return placeholder

    def _form(self, schema: Schema, around: tuple[str, ...]) -> Form:
        """What a schema consists of, whatever its place and the names of its definitions are.

        A schema that contains itself leads back by a number of steps, or to the type of an object further out.
        """
        own = (schema.kind, schema.nullable, repr(schema.values), repr(dict(schema.facts)), sorted(schema.required))
        if schema.kind == "recursion":
            steps = around[::-1].index(schema.pointer) if schema.pointer in around else None
            outer = self.around.get(schema.pointer) if steps is None and schema.pointer else None
            return (repr(own), steps, outer)
        inside = (*around, schema.pointer)
        single = (None if part is None else self._form(part, inside) for part in (schema.items, schema.additional))
        several = (tuple(self._form(part, inside) for part in parts) for parts in (schema.options, schema.prefix))
        properties = tuple((key, self._form(part, inside)) for key, part in schema.properties.items())
        return (repr(own), *single, *several, properties)

    def _recursion(self, schema: Schema) -> Slot:
        if schema.pointer in self.around:
            return _reference(self.around[schema.pointer])
        if schema.pointer == "" and is_typed(self.root):
            return _reference(self._nested_type(self.root, []))
        return {}


def _title_of(schema: Schema) -> str:
    """The title of an object as a name, such as `FlightLeg`; empty where it has none, or a sentence."""
    title = schema.facts.get("title")
    if not isinstance(title, str) or len(title) > MAX_TITLE or not re.fullmatch(r"[A-Za-z]\w*( \w+){0,3}", title, re.A):
        return ""
    return pascal(title)


def _class(fields: dict[str, Slot]) -> Slot:
    return {"type": "object", "properties": fields, "required": list(fields)}


def _reference(placeholder: str) -> Slot:
    return {"$ref": f"#/$defs/{placeholder}"}
