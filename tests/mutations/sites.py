"""Where in a tool something can be changed: each schema in it, and the pointers at which findings about it must be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote

from orl_codegen.schema.pointer import escape, split

Keys = tuple[str | int, ...]
Schema = dict[str, Any]
Part = Literal["words", "core"]

COMBINATIONS = ("anyOf", "oneOf")
_OPAQUE = frozenset({"allOf", "not", "if", "patternProperties", "dependentRequired", "dependentSchemas"})


@dataclass(frozen=True)
class Site:
    """A schema in a tool's spec.

    Attributes:
        words: Where its annotations are, as the keys that lead there.
        core: Where its type and its limits are: behind a reference, or in the branch of an `anyOf` that is not null.
        paths: The pointers of findings about it: several where a definition is used several times.
        role: What it is: `input`, `parameter`, `item`, `value` (of a map), `branch` or `position` (of a tuple).
        deep: Whether it is inside of a parameter.
        nullable: Whether it allows null.
        kind: The type besides null; `union`, `values` (an enum or a constant without a type) or `any`.
    """

    words: Keys
    core: Keys
    paths: tuple[str, ...]
    role: str
    deep: bool
    nullable: bool
    kind: str

    def keys(self, part: Part) -> Keys:
        """Where a part of it is."""
        return self.words if part == "words" else self.core

    @property
    def plain(self) -> bool:
        """Whether words and type are in one place, so that the type can be written in another way."""
        return self.words == self.core


def reach(root: Any, keys: Keys) -> Any:
    """What is at the end of some keys."""
    for key in keys:
        root = root[key]
    return root


def sites(spec: Mapping[str, Any]) -> list[Site]:
    """Every schema in the input of a tool."""
    found = list(_walk(spec, ("input_schema",), "/input_schema", "input", ()))
    paths: dict[Keys, list[str]] = defaultdict(list)
    for site in found:
        paths[site.core].extend(path for path in site.paths if path not in paths[site.core])
    merged = {(site.words, site.core): site for site in found}
    return [
        Site(s.words, s.core, tuple(paths[s.core]) if s.plain else s.paths, s.role, s.deep, s.nullable, s.kind)
        for s in merged.values()
        if s.plain or len(paths[s.core]) == 1
    ]


def _walk(spec: Mapping[str, Any], keys: Keys, path: str, role: str, around: tuple[Keys, ...]) -> Iterator[Site]:
    words, core = _behind(spec, keys)
    schema = reach(spec, core)
    if not isinstance(schema, dict) or core in around or schema.keys() & _OPAQUE:
        return
    nullable, inside = _allows_null(schema), (*around, core)
    combination = next((name for name in COMBINATIONS if name in schema), None)
    if combination is None:
        yield Site(words, core, (path,), role, len(around) > 1, nullable, kind_of(schema))
        yield from _parts(spec, core, schema, path, inside)
        return
    branches = [i for i, branch in enumerate(schema[combination]) if not _is_null(branch)]
    if not _is_pure(schema, combination):
        return
    nullable = nullable or len(branches) < len(schema[combination])
    if len(branches) == 1:
        _, only = _behind(spec, (*core, combination, branches[0]))
        if not _is_simple(reach(spec, only)) or reach(spec, only).keys() & {"description", "title", "default"}:
            return
        branch = reach(spec, only)
        yield Site(words, only, (path,), role, len(around) > 1, nullable, kind_of(branch))
        yield from _parts(spec, only, branch, path, (*inside, only))
        return
    if not all(_is_simple(reach(spec, _behind(spec, (*core, combination, i))[1])) for i in branches):
        return
    yield Site(words, core, (path,), role, len(around) > 1, nullable, "union")
    for place, i in enumerate(branches):
        yield from _walk(spec, (*core, combination, i), f"{path}/anyOf/{place}", "branch", inside)


def _parts(spec: Mapping[str, Any], keys: Keys, schema: Schema, path: str, around: tuple[Keys, ...]) -> Iterator[Site]:
    for name in schema.get("properties", {}):
        place = f"{path}/properties/{escape(name)}"
        yield from _walk(spec, (*keys, "properties", name), place, "parameter", around)
    for keyword, role in (("items", "item"), ("additionalProperties", "value")):
        if isinstance(schema.get(keyword), dict):
            yield from _walk(spec, (*keys, keyword), f"{path}/{keyword}", role, around)
    for i in range(len(schema.get("prefixItems", ()))):
        yield from _walk(spec, (*keys, "prefixItems", i), f"{path}/prefixItems/{i}", "position", around)


def _behind(spec: Mapping[str, Any], keys: Keys) -> tuple[Keys, Keys]:
    """Where the words and where the rest of a schema are, which may be behind references."""
    words = core = keys
    for _ in range(9):
        schema = reach(spec, core)
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#"):
            return words, core
        target: Keys = ("input_schema", *split(unquote(reference.removeprefix("#"))))
        words = target if len(schema) == 1 and words == core else words
        core = target
    return words, core


def _is_pure(schema: Schema, combination: str) -> bool:
    """Whether beside the branches there are only words."""
    return schema.keys() <= {combination, "title", "description", "default", "examples", "deprecated", "discriminator"}


def _is_simple(schema: Any) -> bool:
    """Whether a branch is one type, which is not null."""
    return isinstance(schema, dict) and kind_of(schema) not in ("union", "any") and not _allows_null(schema)


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def _allows_null(schema: Schema) -> bool:
    named = schema.get("type")
    listed = "enum" not in schema or None in schema["enum"]
    return (isinstance(named, list) and "null" in named and listed) or schema.get("nullable") is True


def kind_of(schema: Schema) -> str:
    """The type of a schema besides null."""
    if any(name in schema for name in (*COMBINATIONS, "allOf", "$ref")):
        return "union"
    named = schema.get("type")
    types = [name for name in (named if isinstance(named, list) else [named]) if name not in (None, "null")]
    if len(types) == 1:
        return str(types[0])
    if types:
        return "union"
    if "enum" in schema or "const" in schema:
        return "values"
    return "object" if "properties" in schema else "array" if "items" in schema or "prefixItems" in schema else "any"
