"""The annotations of all parameters, by datamodel-code-generator.

The type generator is given the placeholders of `placeholders` only. Its answer is read back as syntax, name by name,
and the real names and values are put in. Anything that is not on the short list in `_Answer.source` is an error.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from orl_codegen.errors import VerificationError
from orl_codegen.generator.contract.naming import Identifier, type_scope
from orl_codegen.generator.contract.placeholders import SLOTS, Bundle, Shape, Slot, ToolTypes
from orl_codegen.generator.contract.python_types import Field, NestedType, object_keys
from orl_codegen.schema.tree import Schema


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
    if not tools:
        return Annotations((), ())
    bundle = Bundle(type_scope(taken))
    placeholders = [ToolTypes(bundle, name, schema).add_parameters() for name, schema in tools]
    answer = _Answer(bundle, _generate(bundle.definitions))
    parameters = tuple(answer.annotations(bundle.shapes[placeholder]) for placeholder in placeholders)
    return Annotations(parameters, tuple(answer.nested_types()))


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

    def __init__(self, bundle: Bundle, source: str) -> None:
        self.bundle = bundle
        annotations = [
            field.annotation
            for node in ast.parse(source).body
            if isinstance(node, ast.ClassDef) and node.name == SLOTS
            for field in node.body
            if isinstance(field, ast.AnnAssign)
        ]
        answers = dict(zip(bundle.slots, annotations, strict=True))
        self.fields = {name: [answers[slot] for slot in slots] for name, slots in bundle.fields.items()}

    def annotations(self, shape: Shape) -> dict[str, str]:
        """The source of each annotation of an object, by key."""
        keys = () if shape.schema is None else object_keys(shape.schema)
        fields = self.fields.get(shape.placeholder, [])
        return {key: self.source(node) for key, node in zip(keys, fields, strict=True)}

    def nested_types(self) -> list[NestedType]:
        """The nested types of all tools, in the order of the bundle."""
        return [
            NestedType(shape.name, self.typed_fields(shape, shape.schema))
            for shape in self.bundle.shapes.values()
            if shape.name is not None and shape.schema is not None
        ]

    def typed_fields(self, shape: Shape, schema: Schema) -> tuple[Field, ...]:
        return tuple(
            Field(key, annotation, key in schema.required, _description(schema, key))
            for key, annotation in self.annotations(shape).items()
        )

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
                return f"{name}[{', '.join(self.bracketed(part) for part in parts)}]"
        raise VerificationError(
            f"The type generator answered with {ast.unparse(node)!r}, which orl-codegen does not know. Nothing was "
            "written. Install a version of datamodel-code-generator within `>=0.89,<0.90`, and report this."
        )

    def class_source(self, placeholder: str) -> str:
        name = self.bundle.shapes[placeholder].name
        return name or f"tuple[{', '.join(self.bracketed(node) for node in self.fields[placeholder])}]"

    def bracketed(self, node: ast.expr) -> str:
        """An annotation for use in brackets, where `get_json_schema` would take a bare None for a class."""
        source = self.source(node)
        return "Literal[None]" if source == "None" else source

    def values(self, node: ast.expr) -> list[str]:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        names = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        return [repr(self.bundle.values[int(name.removeprefix("v"))]) for name in names]


def _description(schema: Schema, key: str) -> str:
    return " ".join(schema.properties[key].description.split()) if key in schema.properties else ""
