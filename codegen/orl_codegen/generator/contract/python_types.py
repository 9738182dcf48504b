"""What a schema becomes in Python: which objects get a nested type, and which values become a `Literal`.

`type_generator` makes the annotations by these rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orl_codegen.generator.contract.naming import KEYWORDS, Identifier
from orl_codegen.schema.json_values import json_type
from orl_codegen.schema.tree import Schema

LITERAL_KINDS = ("string", "integer", "boolean")
"""What both `typing.Literal` and mypy accept; a float cannot be a literal."""


@dataclass(frozen=True)
class Field:
    """A field of a nested type.

    Attributes:
        key: Its wire key.
        annotation: Source of its type.
        required: Whether an object must have it.
        description: The description in its schema, as one line; text of the server, not escaped.
    """

    key: str
    annotation: str
    required: bool
    description: str = ""

    @property
    def source(self) -> str:
        """The annotation as a TypedDict has it."""
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


def is_literal(schema: Schema) -> bool:
    """Whether the annotation of a schema is a `Literal`, which shows the model its values."""
    if schema.values is None:
        return schema.kind == "union" and all(is_literal(option) for option in schema.options)
    kinds = [option.kind for option in schema.options] if schema.kind == "union" else [schema.kind]
    return all(json_type(value) in kinds and _is_literal_value(value) for value in schema.values)


def _is_literal_value(value: Any) -> bool:
    # mypy cannot read a literal of more than 64 bits.
    return json_type(value) in LITERAL_KINDS and not (isinstance(value, int) and abs(value) >= 2**63)


def is_typed(schema: Schema) -> bool:
    """Whether an object becomes a TypedDict: it has named fields, and its schema does not invite any others."""
    closed = schema.additional is None or schema.additional.kind == "never"
    return schema.kind == "object" and closed and bool(object_keys(schema))


def object_keys(schema: Schema) -> tuple[str, ...]:
    """The keys of an object in the order of the schema; required names that it does not describe come last."""
    return (*schema.properties, *sorted(schema.required - schema.properties.keys()))
