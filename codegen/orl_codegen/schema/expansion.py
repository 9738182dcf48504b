"""From `input_schema` to `Schema`.

What a server sends is hostile and comes in many spellings (`$ref`, `allOf`, type lists, `const`, boolean schemas,
missing types), all of which end here. Schemas are walked by keyword position, never by key name alone: a parameter may
be called `properties` or `type`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NoReturn
from urllib.parse import unquote

from orl_codegen.errors import SchemaError, printable
from orl_codegen.schema.allof import merge_all
from orl_codegen.schema.json_values import distinct, json_type
from orl_codegen.schema.tree import Kind, Schema, union_of

MAX_DEPTH = 64
"""How deep schemas may nest once references are followed."""

MAX_SCHEMAS = 20_000
"""How many schemas one tool may hold once references are followed; a few nested `$defs` can ask for billions."""

TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")

STRUCTURE = frozenset(
    "$ref type enum const properties required additionalProperties items prefixItems additionalItems "
    "anyOf oneOf allOf nullable".split()
)
"""The keywords that shape the tree; every other one stays with its schema as a fact."""

LOOP = "$loop"
"""Stands, while schemas are worked out, for a reference to a schema around the one that holds it."""

BOOKKEEPING = frozenset(f"$schema $id id $anchor $comment $defs definitions $vocabulary {LOOP}".split())


def expand(input_schema: object, tool: str) -> Schema:
    """Work out the `input_schema` of a tool.

    Args:
        input_schema: As it stands on the wire; None, `{}` and `true` mean a tool without parameters.
        tool: Wire name of the tool, for errors.

    Returns:
        A schema of kind `object`.

    Raises:
        SchemaError: A reference leaves the document, dangles or leads only to itself; a limit is exceeded; a keyword
            has a value of the wrong shape; or the input is no object at all.
    """
    if input_schema is None or input_schema is True:
        input_schema = {}
    schema = _Expansion(input_schema, tool).expand(input_schema, "", ())
    if schema.kind == "any":
        schema = replace(schema, kind="object")
    if schema.kind == "union":
        schema = _one_object(schema)
    if schema.kind != "object":
        raise SchemaError(
            f"The tool {printable(tool)!r} is refused: its input_schema describes {_article(schema.kind)}, and the "
            "input of a call is always an object. Mend the tool on the server, or leave it out with --allow-partial."
        )
    return schema


def _article(kind: str) -> str:
    return {"null": "null", "never": "nothing", "recursion": "itself"}.get(
        kind, ("an " if kind[0] in "aio" else "a ") + kind
    )


def _one_object(union: Schema) -> Schema:
    """Alternatives at the top level, as one object: every property of every branch, required where all require it."""
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
    """The fields of an object that can have one value only."""
    values = {key: part.values for key, part in schema.properties.items() if part.values is not None}
    return {key: allowed[0] for key, allowed in values.items() if len(allowed) == 1}


class _Expansion:
    """The work of one `expand`: the document, for references, and the limits."""

    def __init__(self, root: object, tool: str) -> None:
        self.root = root
        self.tool = tool
        self.count = 0
        self.depth = 0

    def expand(self, raw: object, pointer: str, above: tuple[str, ...]) -> Schema:
        """Expand the schema that stands at `pointer`; `above` are the pointers of the schemas around it."""
        if isinstance(raw, bool):
            return Schema(kind="any" if raw else "never", pointer=pointer)
        with self.deeper(pointer):
            keywords, pointer, above = self.flatten(raw, pointer, above)
            if LOOP in keywords:
                nullable = keywords.get("nullable") is True
                return Schema(kind="recursion", nullable=nullable, facts=_facts(keywords), pointer=keywords[LOOP])
            return self.build(keywords, pointer, (*above, pointer))

    def flatten(self, raw: object, pointer: str, above: tuple[str, ...]) -> tuple[dict[str, Any], str, tuple[str, ...]]:
        """Follow `$ref` and `allOf` until the keywords of one schema are left.

        The pointer becomes that of the definition, unless keywords beside the reference change its structure.
        """
        self.count += 1
        if self.count > MAX_SCHEMAS:
            self.refuse(pointer, f"it holds more than {MAX_SCHEMAS:,} schemas once its references are followed")
        with self.deeper(pointer):
            if isinstance(raw, bool):
                raw = {} if raw else {"not": {}}
            if not isinstance(raw, Mapping):
                self.refuse(pointer, "a schema must be an object, true or false")
            keywords = {keyword: value for keyword, value in raw.items() if keyword != LOOP}
            if "$ref" in keywords:
                target = self.pointer_of(keywords.pop("$ref"), pointer)
                if target == pointer:
                    self.refuse(pointer, "a reference leads only to itself")
                if target in above:
                    return {**keywords, LOOP: target}, pointer, above
                found, target, above = self.flatten(self.resolve(target, pointer), target, (*above, pointer))
                keeps = not (STRUCTURE - {"nullable"}) & keywords.keys()
                keywords = merge_all([keywords, found])
                pointer, above = (target, above) if keeps else (pointer, _merged_into(above, [target]))
            if "allOf" in keywords:
                return self.flatten_all_of(keywords, pointer, above)
            return keywords, pointer, above

    def flatten_all_of(
        self, keywords: dict[str, Any], pointer: str, above: tuple[str, ...]
    ) -> tuple[dict[str, Any], str, tuple[str, ...]]:
        parts = self.listed(keywords.pop("allOf"), pointer, "allOf")
        flat = [self.flatten(part, f"{pointer}/allOf/{i}", (*above, pointer)) for i, part in enumerate(parts)]
        if len(flat) == 1 and not STRUCTURE & keywords.keys():
            found, target, inner = flat[0]
            return merge_all([keywords, found]), target, inner
        loops = [{"$ref": f"#{found[LOOP]}"} for found, _, _ in flat if LOOP in found]
        merged = merge_all([keywords, *(found for found, _, _ in flat if LOOP not in found)])
        if loops:
            merged["allOf"] = [*merged.get("allOf", []), *loops]  # cannot be merged: told in words
        followed = [found for _, target, inner in flat for found in (*inner, target)]
        own = f"{pointer}/allOf/"
        return merged, pointer, _merged_into(above, [found for found in followed if not found.startswith(own)])

    @contextmanager
    def deeper(self, pointer: str) -> Iterator[None]:
        """One level deeper, within the limit."""
        if self.depth >= MAX_DEPTH:
            self.refuse(pointer, f"it nests more than {MAX_DEPTH} levels deep, references counted")
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def build(self, keywords: dict[str, Any], pointer: str, above: tuple[str, ...]) -> Schema:
        """One schema out of keywords in which neither `$ref` nor a mergeable `allOf` is left."""
        branches = [name for name in ("anyOf", "oneOf") if name in keywords]
        for name in branches:
            options = self.listed(keywords[name], pointer, name)
            if any(_is_type(option) for option in options):
                return self.build_union(keywords, name, options, pointer, above)
        kinds, unknown = _kinds(keywords)
        values = _values(keywords)
        facts = _facts(keywords, unknown)
        nullable = "null" in kinds or keywords.get("nullable") is True or (values is not None and None in values)
        kinds = [kind for kind in kinds if kind != "null"] or (["null"] if nullable and not unknown and kinds else [])
        if values is not None:
            values = tuple(value for value in values if value is not None)
            if not kinds:
                kinds = _kinds_of_values(values) or ["null"]
        schemas = [self.of_kind(kind, keywords, pointer, above) for kind in kinds]
        if not schemas:
            schema = Schema(kind="any", pointer=pointer)
        elif len(schemas) == 1:
            schema = schemas[0]
        else:
            schema = Schema(kind="union", options=tuple(schemas), pointer=pointer)
        return replace(schema, nullable=nullable and schema.kind != "null", values=values or None, facts=facts)

    def build_union(
        self, keywords: dict[str, Any], name: str, options: list[object], pointer: str, above: tuple[str, ...]
    ) -> Schema:
        """A union; structure beside `anyOf` holds for every branch, annotations for the whole."""
        shared = {key: value for key, value in keywords.items() if key in STRUCTURE and key not in (name, "nullable")}
        branches = []
        for i, option in enumerate(options):
            whole = {"allOf": [option, shared]} if shared else option
            branches.append(self.expand(whole, f"{pointer}/{name}/{i}", above))
        union = union_of(branches, _facts({k: v for k, v in keywords.items() if k not in shared}), pointer)
        return replace(union, nullable=True) if keywords.get("nullable") is True else union

    def of_kind(self, kind: Kind, keywords: dict[str, Any], pointer: str, above: tuple[str, ...]) -> Schema:
        if kind == "array":
            return self.array(keywords, pointer, above)
        if kind == "object":
            return self.object_(keywords, pointer, above)
        return Schema(kind=kind, pointer=pointer)

    def array(self, keywords: dict[str, Any], pointer: str, above: tuple[str, ...]) -> Schema:
        prefix, items = keywords.get("prefixItems", []), keywords.get("items")
        where, rest = "prefixItems", "items"
        if isinstance(items, list):  # the tuples of drafts before 2020-12
            prefix, items, where, rest = items, keywords.get("additionalItems"), "items", "additionalItems"
        return Schema(
            kind="array",
            prefix=tuple(
                self.expand(part, f"{pointer}/{where}/{i}", above)
                for i, part in enumerate(self.listed(prefix, pointer, where))
            ),
            items=None if items is None else self.expand(items, f"{pointer}/{rest}", above),
            pointer=pointer,
        )

    def object_(self, keywords: dict[str, Any], pointer: str, above: tuple[str, ...]) -> Schema:
        raw = keywords.get("properties", {})
        if not isinstance(raw, Mapping):
            self.refuse(f"{pointer}/properties", "it must be an object")
        required = keywords.get("required", [])
        if not isinstance(required, (list, bool)):
            self.refuse(f"{pointer}/required", "it must be a list of names")
        names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
        names += [key for key, part in raw.items() if isinstance(part, Mapping) and part.get("required") is True]
        additional = keywords.get("additionalProperties")
        return Schema(
            kind="object",
            properties=MappingProxyType(
                {key: self.expand(part, f"{pointer}/properties/{escape(key)}", above) for key, part in raw.items()}
            ),
            required=frozenset(names),
            additional=None
            if additional is None
            else self.expand(additional, f"{pointer}/additionalProperties", above),
            pointer=pointer,
        )

    def pointer_of(self, reference: object, pointer: str) -> str:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            self.refuse(
                pointer,
                f"its reference {printable(reference)!r} leaves the document, and orl-codegen reads neither files nor "
                "addresses that a server names; only references such as '#/$defs/Name' are followed",
            )
        return unquote(reference[1:])

    def resolve(self, target: str, pointer: str) -> object:
        node: object = self.root
        for part in target.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, Mapping) and key in node:
                node = node[key]
            elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
                node = node[int(key)]
            else:
                self.refuse(pointer, f"its reference {printable('#' + target)!r} leads nowhere")
        return node

    def listed(self, value: object, pointer: str, keyword: str) -> list[object]:
        if not isinstance(value, list):
            self.refuse(f"{pointer}/{keyword}", "it must be a list of schemas")
        return value

    def refuse(self, pointer: str, why: str) -> NoReturn:
        raise SchemaError(
            f"The tool {printable(self.tool)!r} is refused: at {printable('#' + pointer)!r} of its input_schema, "
            f"{why}. Mend the tool on the server, or leave it out with --allow-partial."
        )


def _merged_into(above: tuple[str, ...], targets: list[str]) -> tuple[str, ...]:
    """The pointers above what is inside a schema that definitions were merged into.

    A definition may come again inside, once: a manager is a person as the employee is. The second time it is a loop.
    """
    fresh = dict.fromkeys(target for target in targets if target not in above)
    return (*above, *(target if f"={target}" in above else f"={target}" for target in fresh))


def escape(key: str) -> str:
    """A key as a part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def _is_type(option: object) -> bool:
    """Whether a branch says what a value is, and not only which of the properties beside it go together."""
    return (
        not isinstance(option, Mapping) or not option.keys() <= {"required", "not", "dependentRequired"} or not option
    )


def _facts(keywords: Mapping[str, Any], unknown: list[str] | None = None) -> Mapping[str, Any]:
    facts = {key: value for key, value in keywords.items() if key not in STRUCTURE and key not in BOOKKEEPING}
    facts |= {key: keywords[key] for key in ("anyOf", "oneOf") if key in keywords and not _types_in(keywords[key])}
    if "allOf" in keywords:
        facts["allOf"] = keywords["allOf"]
    if unknown:
        facts["type"] = unknown
    return MappingProxyType(facts)


def _types_in(options: object) -> bool:
    return isinstance(options, list) and any(_is_type(option) for option in options)


def _kinds(keywords: Mapping[str, Any]) -> tuple[list[Any], list[str]]:
    """The JSON types that `type` names, or that the other keywords imply; and names that JSON Schema does not know."""
    named = keywords.get("type", [])
    named = named if isinstance(named, list) else [named]
    kinds = list(dict.fromkeys(name for name in named if isinstance(name, str) and name in TYPES))
    unknown = [str(name) for name in named if not isinstance(name, str) or name not in TYPES]
    if not kinds and "enum" not in keywords and "const" not in keywords:
        if keywords.keys() & {"properties", "additionalProperties"} or isinstance(keywords.get("required"), list):
            kinds = ["object"]
        elif keywords.keys() & {"items", "prefixItems"}:
            kinds = ["array"]
    return kinds, unknown


def _values(keywords: Mapping[str, Any]) -> tuple[Any, ...] | None:
    if "const" in keywords:
        return (keywords["const"],)
    if not isinstance(keywords.get("enum"), list):
        return None
    return distinct(keywords["enum"])


def _kinds_of_values(values: tuple[Any, ...]) -> list[Kind]:
    kinds: list[Kind] = list(dict.fromkeys(json_type(value) for value in values))
    return ["number"] if kinds and set(kinds) == {"integer", "number"} else kinds
