"""Python types for the parameters, by datamodel-code-generator.

Not a character of a server's text reaches the type generator: it is given a bundle whose classes, fields and enum
values are placeholders (`N0`, `f0`, `v0`), and what it answers is read back as syntax, name by name, with the real
names and values put in. Anything that is not on the short list below is an error.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from orl_codegen.errors import VerificationError
from orl_codegen.generator.contract.naming import KEYWORDS, Identifier, Scope, type_name, type_scope
from orl_codegen.schema.json_values import distinct, json_type
from orl_codegen.schema.tree import Schema

LITERAL_KINDS = ("string", "integer", "boolean")
"""What both `typing.Literal` and mypy take; a float is no literal."""

MAX_UNION = 100
"""How many types a union may have; what has more is `Any`, and its branches are told in words alone."""

Slot = dict[str, Any]


@dataclass(frozen=True)
class Field:
    """A field of a nested type, under its wire key; `annotation` is Python source."""

    key: str
    annotation: str
    required: bool
    description: str = ""

    @property
    def source(self) -> str:
        """The annotation as it stands in a TypedDict."""
        return self.annotation if self.required else f"NotRequired[{self.annotation}]"


@dataclass(frozen=True)
class NestedType:
    """An object below a parameter: a TypedDict for type checkers, `dict` at run time."""

    name: Identifier
    fields: tuple[Field, ...]

    @property
    def as_class(self) -> bool:
        """Whether every key can stand in a class body as it is: `__x` would be mangled there, `ﬁ` folded to `fi`."""
        return all(
            field.key.isascii() and field.key.isidentifier() and field.key not in KEYWORDS and field.key[:2] != "__"
            for field in self.fields
        )


@dataclass(frozen=True)
class Annotations:
    """`parameters[i]` maps each key of tool i to the source of its annotation."""

    parameters: tuple[dict[str, str], ...]
    nested: tuple[NestedType, ...]


def annotate(tools: Sequence[tuple[Identifier, Schema]], taken: Collection[str]) -> Annotations:
    """The annotation of every parameter of every tool, and the nested types that they name.

    Args:
        tools: Method name and top-level object of each tool.
        taken: Names that no nested type may have.
    """
    bundle = _Bundle(type_scope(taken))
    roots = [bundle.arguments(name, schema) for name, schema in tools]
    answer = _Answer(bundle, _generate(bundle.definitions)) if bundle.definitions else None
    if answer is None:
        return Annotations(tuple({} for _ in roots), ())
    nested = [answer.nested(shape) for shape in bundle.shapes.values() if shape.name is not None]
    return Annotations(tuple(answer.annotations(root) for root in roots), tuple(nested))


def is_literal(schema: Schema) -> bool:
    """Whether the annotation of a schema is `Literal`, so that the model is shown its values by type."""
    if schema.values is None:
        return schema.kind == "union" and all(is_literal(option) for option in schema.options)
    kinds = [option.kind for option in schema.options] if schema.kind == "union" else [schema.kind]
    return all(json_type(value) in kinds and _is_literal_value(value) for value in schema.values)


def _is_literal_value(value: Any) -> bool:
    # mypy reads no literal of more than 64 bits.
    return json_type(value) in LITERAL_KINDS and not (isinstance(value, int) and abs(value) >= 2**63)


@dataclass(frozen=True)
class _Shape:
    """What a placeholder class stands for: a tuple where `name` and `keys` are empty, else an object."""

    placeholder: str
    keys: tuple[str, ...]
    required: frozenset[str]
    name: Identifier | None
    descriptions: tuple[str, ...] = ()


class _Bundle:
    """The placeholders handed out so far, and the JSON Schema made of them."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.definitions: dict[str, Slot] = {}
        self.shapes: dict[str, _Shape] = {}
        self.values: list[Any] = []
        self.known: dict[tuple[str, str], list[tuple[Schema, str]]] = {}  # by tool and pointer: object, placeholder

    def arguments(self, tool: Identifier, schema: Schema) -> str:
        """The placeholder of a class that has the parameters of a tool as its fields."""
        self.tool, self.root = tool, schema
        return self.add(schema, None, [])

    def add(self, schema: Schema, name: Identifier | None, path: list[str]) -> str:
        placeholder = f"N{len(self.shapes)}"
        keys = object_keys(schema)
        texts = tuple(schema.properties.get(key, Schema("any")).description for key in keys)
        self.shapes[placeholder] = _Shape(placeholder, keys, schema.required, name, texts)
        if name is not None:
            self.known.setdefault((self.tool, schema.pointer), []).append((schema, placeholder))
        self.define(placeholder, [(schema.properties.get(key, Schema("any")), [*path, key]) for key in keys])
        return placeholder

    def define(self, placeholder: str, fields: list[tuple[Schema, list[str]]]) -> None:
        self.definitions[placeholder] = {}  # keeps its place, in front of the classes it names
        slots = {f"f{i}": self.slot(schema, path) for i, (schema, path) in enumerate(fields)}
        self.definitions[placeholder] = {"type": "object", "properties": slots, "required": list(slots)}

    def slot(self, schema: Schema, path: list[str]) -> Slot:
        base = self.literal(schema) if is_literal(schema) else self.of_kind(schema, path)
        return {"anyOf": [base, {"type": "null"}]} if schema.nullable and base else base

    def literal(self, schema: Schema) -> Slot:
        options = schema.options if schema.values is None else (schema,)
        values = distinct(value for option in options for value in option.values or ())
        first = len(self.values)
        self.values += values
        return {"enum": [f"v{first + i}" for i in range(len(values))]}

    def of_kind(self, schema: Schema, path: list[str]) -> Slot:
        match schema.kind:
            case "any" | "never":
                return {}
            case "union":
                return self.union(schema, path)
            case "array":
                return self.array(schema, path)
            case "object":
                return self.object(schema, path)
            case "recursion":
                return self.recursion(schema)
            case kind:
                return {"type": kind}

    def union(self, schema: Schema, path: list[str]) -> Slot:
        slots = distinct(self.slot(option, path) for option in schema.options)
        return {"anyOf": list(slots)} if {} not in slots and len(slots) <= MAX_UNION else {}

    def array(self, schema: Schema, path: list[str]) -> Slot:
        if len(schema.prefix) > 1 and (schema.items is None or schema.items.kind == "never"):
            placeholder = f"N{len(self.shapes)}"
            self.shapes[placeholder] = _Shape(placeholder, (), frozenset(), None)
            self.define(placeholder, [(part, [*path, "item", str(i)]) for i, part in enumerate(schema.prefix)])
            return {"$ref": f"#/$defs/{placeholder}"}
        parts = [*schema.prefix, *([schema.items] if schema.items is not None else [])]
        if not parts:
            return {"type": "array"}
        items = parts[0] if len(parts) == 1 else Schema("union", options=tuple(parts))
        return {"type": "array", "items": self.slot(items, [*path, "item"])}

    def object(self, schema: Schema, path: list[str]) -> Slot:
        if is_typed(schema):
            return {"$ref": f"#/$defs/{self.nested(schema, path)}"}
        if schema.additional is None or schema.properties or schema.additional.kind in ("any", "never"):
            return {"type": "object"}
        return {"type": "object", "additionalProperties": self.slot(schema.additional, [*path, "value"])}

    def nested(self, schema: Schema, path: list[str]) -> str:
        for other, placeholder in self.known.get((self.tool, schema.pointer), ()):
            if _same_shape(schema, other):
                return placeholder
        *_, parent, key = ("", "", *schema.pointer.split("/"))
        words = [key] if parent in ("$defs", "definitions") else path or ["arguments"]
        return self.add(schema, type_name([self.tool, *words], self.scope), path)

    def recursion(self, schema: Schema) -> Slot:
        around = self.known.get((self.tool, schema.pointer))
        if around:
            return {"$ref": f"#/$defs/{around[-1][1]}"}
        if schema.pointer == "" and is_typed(self.root):
            return {"$ref": f"#/$defs/{self.nested(self.root, [])}"}
        return {}


def is_typed(schema: Schema) -> bool:
    """Whether an object becomes a TypedDict: it has named fields and is not said to take any others."""
    closed = schema.additional is None or schema.additional.kind == "never"
    return schema.kind == "object" and closed and bool(object_keys(schema))


def object_keys(schema: Schema) -> tuple[str, ...]:
    """The keys of an object in the order of the schema; required names that it does not describe come last."""
    return (*schema.properties, *sorted(schema.required - schema.properties.keys()))


def _same_shape(a: Schema, b: Schema) -> bool:
    return (a.properties, a.required, a.additional) == (b.properties, b.required, b.additional)


def _generate(definitions: dict[str, Slot]) -> str:
    """One call for the whole environment; every option that would let a schema steer the output is off."""
    from datamodel_code_generator import InputFileType, LiteralType, PythonVersion, generate
    from datamodel_code_generator.enums import DataModelType

    source = generate(
        json.dumps({"$defs": definitions}),
        input_file_type=InputFileType.JsonSchema,
        output_model_type=DataModelType.TypingTypedDict,
        target_python_version=PythonVersion.PY_311,
        enum_field_as_literal=LiteralType.All,
        use_union_operator=True,
        use_standard_collections=True,
        collapse_root_models=True,
        skip_root_model=True,
        keep_model_order=True,
        treat_dot_as_module=False,
        special_field_name_prefix="",
        allow_remote_refs=False,
        strict_refs=True,
        disable_timestamp=True,
        custom_file_header="#",
        formatters=[],
    )
    return str(source)


class _Answer:
    """What the type generator wrote, read back."""

    def __init__(self, bundle: _Bundle, source: str) -> None:
        self.bundle = bundle
        self.fields = {
            node.name: [field.annotation for field in node.body if isinstance(field, ast.AnnAssign)]
            for node in ast.parse(source).body
            if isinstance(node, ast.ClassDef)
        }

    def annotations(self, placeholder: str) -> dict[str, str]:
        keys = self.bundle.shapes[placeholder].keys
        fields = self.fields.get(placeholder, [])
        return {key: self.source(node) for key, node in zip(keys, fields, strict=True)}

    def nested(self, shape: _Shape) -> NestedType:
        assert shape.name is not None
        annotations = self.annotations(shape.placeholder)
        fields = tuple(
            Field(key, annotation, key in shape.required, text)
            for (key, annotation), text in zip(annotations.items(), shape.descriptions, strict=True)
        )
        return NestedType(shape.name, fields)

    def source(self, node: ast.expr) -> str:
        """The source of an annotation, with the real names and values in place of the placeholders."""
        match node:
            case ast.Name(id="Any" | "str" | "int" | "float" | "bool" as name):
                return name
            case ast.Name(id=name) if name in self.bundle.shapes:
                return self.class_source(name)
            case ast.Constant(value=None):
                return "None"
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return f"{self.source(left)} | {self.source(right)}"
            case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
                return f"Literal[{', '.join(self.values(inner))}]"
            case ast.Subscript(value=ast.Name(id="list" | "dict" as name), slice=inner):
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                return f"{name}[{', '.join(self.inside(part) for part in parts)}]"
        raise VerificationError(
            f"The type generator answered with {ast.unparse(node)!r}, which orl-codegen does not know. Nothing was "
            "written. Install a version of datamodel-code-generator within `>=0.89,<0.90`, and report this."
        )

    def class_source(self, placeholder: str) -> str:
        name = self.bundle.shapes[placeholder].name
        return name or f"tuple[{', '.join(self.inside(node) for node in self.fields[placeholder])}]"

    def inside(self, node: ast.expr) -> str:
        """An annotation in brackets. `get_json_schema` takes a bare None there for an unknown class."""
        source = self.source(node)
        return "Literal[None]" if source == "None" else source

    def values(self, node: ast.expr) -> list[str]:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        names = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        return [repr(self.bundle.values[int(name.removeprefix("v"))]) for name in names]
