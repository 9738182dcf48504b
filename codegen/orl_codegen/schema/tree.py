"""JSON Schema, worked out: one immutable tree in which every reference is resolved.

`Schema` is the only form that types, wording, merging and drift read; `expansion` makes it. Text and values stay
as the server sent them, but for what `normalizing` reads as something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from orl_codegen.schema.allof import merge_all

Kind = Literal[
    "any", "never", "string", "integer", "number", "boolean", "null", "array", "object", "union", "recursion"
]

EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Schema:
    """One schema of the tree.

    Attributes:
        kind: The JSON type; `any` where nothing narrows it, `never` for `false`, `union` for several branches,
            `recursion` where the schema at `pointer` would contain itself.
        nullable: Whether null is allowed besides `kind`.
        values: The values of `enum` and `const`, null left out (see `nullable`); None where any value will do.
        options: The branches of a union, flat and without duplicates.
        items: The schema of each item of an array (beyond `prefix`); None where the schema has none, or a list without
            `prefix` says that they may be anything.
        prefix: The schemas of the first items of an array (`prefixItems`).
        properties: The properties of an object, in the order of the schema.
        required: The names that must be present, including those that `properties` does not list.
        additional: The schema of properties that are not listed (`never` for `false`); None where the schema has
            none, or says that they may be anything, which only the input as a whole keeps.
        facts: Every other keyword, verbatim: `description`, `default`, `title`, limits, `pattern`, `format`, ...
        pointer: Where it is in the input_schema, after following references: schemas with the same pointer are the
            same definition and get the same type.
    """

    kind: Kind
    nullable: bool = False
    values: tuple[Any, ...] | None = None
    options: tuple[Schema, ...] = ()
    items: Schema | None = None
    prefix: tuple[Schema, ...] = ()
    properties: Mapping[str, Schema] = field(default_factory=lambda: EMPTY)
    required: frozenset[str] = frozenset()
    additional: Schema | None = None
    facts: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    pointer: str = field(default="", compare=False, repr=False)

    @property
    def description(self) -> str:
        """The text of `description`, or an empty string."""
        text = self.facts.get("description")
        return text if isinstance(text, str) else ""


def union_of(schemas: Iterable[Schema], facts: Mapping[str, Any] = EMPTY, pointer: str = "") -> Schema:
    """The schema that allows what any of `schemas` allows: flat, without duplicates, null pulled out."""
    found: dict[str, Schema] = {}  # by representation, in which true is not 1, as it is for `==`
    nullable = False
    for schema in schemas:
        nullable = nullable or schema.nullable or schema.kind == "null"
        flat = schema.options if schema.kind == "union" and not schema.facts and schema.values is None else (schema,)
        for option in flat:
            option = replace(option, nullable=False)
            if option.kind not in ("null", "never"):
                found.setdefault(repr(option), option)
    options = list(found.values())
    if not options:
        return Schema(kind="null" if nullable else "never", facts=facts, pointer=pointer)
    if len(options) == 1:
        only = options[0]
        return replace(only, nullable=nullable, facts=_joined(facts, only.facts))
    return Schema(kind="union", nullable=nullable, options=tuple(options), facts=facts, pointer=pointer)


def _joined(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(merge_all([dict(outer), dict(inner)])) if outer else inner
