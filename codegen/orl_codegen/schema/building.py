"""From flat keywords to `Schema`: one immutable tree.

Schemas are walked by the position of a keyword, never by the name of a key alone: a parameter may be called
`properties` or `type`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from orl_codegen.schema.bounds import with_plain_limits
from orl_codegen.schema.document import Document
from orl_codegen.schema.flattening import Around, Flat, Flattener
from orl_codegen.schema.json_values import distinct, json_type
from orl_codegen.schema.keywords import BOOKKEEPING, STRUCTURE
from orl_codegen.schema.normalizing import Normalizer
from orl_codegen.schema.pointer import join
from orl_codegen.schema.shapes import TYPE_NAMES, truth
from orl_codegen.schema.tree import Kind, Schema, union_of

COMBINATIONS = ("anyOf", "oneOf")


class Builder:
    """Builds the schemas of one document."""

    def __init__(self, document: Document, normalizer: Normalizer) -> None:
        self._document = document
        self._flattener = Flattener(document, normalizer)

    def build(self, raw: object, pointer: str, around: Around) -> Schema:
        """The schema at `pointer`, with everything inside it."""
        if isinstance(raw, bool):
            return Schema(kind="any" if raw else "never", pointer=pointer)
        with self._document.deeper(pointer):
            flat = self._flattener.flatten(raw, pointer, around)
            if flat.loop is not None:
                nullable = flat.keywords.get("nullable") is True
                return Schema(kind="recursion", nullable=nullable, facts=_facts(flat.keywords), pointer=flat.loop)
            return with_plain_limits(self._of_flat(flat))

    def _of_flat(self, flat: Flat) -> Schema:
        for name in COMBINATIONS:
            if _makes_union(flat.keywords.get(name)):
                return self._union(flat, name, flat.keywords[name])
        values = _values(flat.keywords)
        kinds, nullable = _kinds(flat.keywords, values)
        schema = self._of_kinds(kinds, flat)
        return replace(
            schema,
            nullable=nullable and schema.kind != "null",
            values=tuple(value for value in values or () if value is not None) or None,
            facts=MappingProxyType({**_facts(flat.keywords), **_unknown_types(flat.keywords)}),
        )

    def _of_kinds(self, kinds: list[Kind], flat: Flat) -> Schema:
        schemas = tuple(self._of_kind(kind, flat) for kind in kinds)
        if len(schemas) == 1:
            return schemas[0]
        return Schema(kind="union" if schemas else "any", options=schemas, pointer=flat.pointer)

    def _union(self, flat: Flat, name: str, options: list[object]) -> Schema:
        """A union; structure beside `anyOf` holds for every branch, annotations for the whole."""
        beside = {key: value for key, value in flat.keywords.items() if key not in (name, "nullable")}
        shared = {key: value for key, value in beside.items() if key in STRUCTURE}
        branches = [
            self.build({"allOf": [option, shared]} if shared else option, join(flat.pointer, name, i), flat.inside)
            for i, option in enumerate(options)
        ]
        whole = {key: value for key, value in flat.keywords.items() if key not in shared}
        union = union_of(branches, _facts(whole), flat.pointer)
        return replace(union, nullable=True) if flat.keywords.get("nullable") is True else union

    def _of_kind(self, kind: Kind, flat: Flat) -> Schema:
        if kind == "array":
            return self._array(flat)
        if kind == "object":
            return self._object(flat)
        return Schema(kind=kind, pointer=flat.pointer)

    def _array(self, flat: Flat) -> Schema:
        first, rest = "prefixItems", "items"
        if isinstance(flat.keywords.get("items"), list):  # the tuples of drafts before 2020-12
            first, rest = "items", "additionalItems"
        prefix = flat.keywords.get(first, [])
        items = self._optional_part(flat, rest)
        return Schema(
            kind="array",
            prefix=tuple(self._part(flat, part, first, i) for i, part in enumerate(prefix)),
            items=None if not prefix and _says_nothing(items) else items,
            pointer=flat.pointer,
        )

    def _object(self, flat: Flat) -> Schema:
        properties: Mapping[str, Any] = flat.keywords.get("properties", {})
        return Schema(
            kind="object",
            properties=MappingProxyType(
                {key: self._part(flat, part, "properties", key) for key, part in properties.items()}
            ),
            required=frozenset(_required(flat.keywords.get("required"), properties)),
            additional=self._additional(flat),
            pointer=flat.pointer,
        )

    def _part(self, flat: Flat, raw: object, *keys: str | int) -> Schema:
        return self.build(raw, join(flat.pointer, *keys), flat.inside)

    def _additional(self, flat: Flat) -> Schema | None:
        """None also where anything goes, as it does by default; but a tool that says so cannot be called in full."""
        part = self._optional_part(flat, "additionalProperties")
        return None if flat.pointer and _says_nothing(part) else part

    def _optional_part(self, flat: Flat, keyword: str) -> Schema | None:
        raw = flat.keywords.get(keyword)
        return None if raw is None else self._part(flat, raw, keyword)


def _says_nothing(schema: Schema | None) -> bool:
    return schema is not None and schema.kind == "any" and schema.values is None and not schema.facts


def _required(names: object, properties: Mapping[str, Any]) -> list[str]:
    """The names in `required`, and the properties that say `required: true`, as draft 3 did."""
    listed = names if isinstance(names, list) else []
    marked = [
        key for key, part in properties.items() if isinstance(part, Mapping) and truth(part.get("required")) is True
    ]
    return listed + marked


def _adds_type(option: object) -> bool:
    """Whether a branch says what a value is, and not only which of the properties beside it go together."""
    return (
        not isinstance(option, Mapping) or not option.keys() <= {"required", "not", "dependentRequired"} or not option
    )


def _facts(keywords: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the tree does not show: every keyword without structure, and combinations that make no branches."""
    facts = {key: value for key, value in keywords.items() if key not in STRUCTURE and key not in BOOKKEEPING}
    facts |= {key: keywords[key] for key in COMBINATIONS if key in keywords and not _makes_union(keywords[key])}
    if "allOf" in keywords:
        facts["allOf"] = keywords["allOf"]
    return MappingProxyType(facts)


def _unknown_types(keywords: Mapping[str, Any]) -> dict[str, list[str]]:
    """The names in `type` that JSON Schema does not know."""
    unknown = [str(name) for name in _named_types(keywords) if name not in TYPE_NAMES]
    return {"type": unknown} if unknown else {}


def _makes_union(options: object) -> bool:
    return isinstance(options, list) and any(map(_adds_type, options))


def _named_types(keywords: Mapping[str, Any]) -> list[Any]:
    named = keywords.get("type", [])
    return named if isinstance(named, list) else [named]


def _kinds(keywords: Mapping[str, Any], values: tuple[Any, ...] | None) -> tuple[list[Kind], bool]:
    """The kinds that a schema allows besides null, and whether it allows null."""
    known: list[Kind] = list(dict.fromkeys(name for name in _named_types(keywords) if name in TYPE_NAMES))
    if not known and "enum" not in keywords and "const" not in keywords:
        known = _implied_kinds(keywords)
    typed = "null" in known or not known
    nullable = keywords.get("nullable") is True or ("null" in known if values is None else typed and None in values)
    kinds: list[Kind] = [kind for kind in known if kind != "null"]
    if values == (None,) or (known == ["null"] and not _unknown_types(keywords)):
        kinds = ["null"]
    if not kinds and values is not None:
        kinds = _kinds_of([value for value in values if value is not None]) or ["null"]
    return kinds, nullable


def _implied_kinds(keywords: Mapping[str, Any]) -> list[Kind]:
    """The kind of a schema without `type`, by the keywords that only make sense for one."""
    if keywords.keys() & {"properties", "additionalProperties"} or isinstance(keywords.get("required"), list):
        return ["object"]
    return ["array"] if keywords.keys() & {"items", "prefixItems"} else []


def _values(keywords: Mapping[str, Any]) -> tuple[Any, ...] | None:
    if "const" in keywords:
        return (keywords["const"],)
    return distinct(keywords["enum"]) if isinstance(keywords.get("enum"), list) else None


def _kinds_of(values: list[Any]) -> list[Kind]:
    kinds: list[Kind] = list(dict.fromkeys(json_type(value) for value in values))
    return ["number"] if kinds and set(kinds) == {"integer", "number"} else kinds
