"""Two schemas side by side: how a comparison walks down both trees, and how it tells what belongs together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from orl_codegen.drift.change import Change, Place
from orl_codegen.schema.json_values import canonical
from orl_codegen.schema.tree import Schema

T = TypeVar("T")

ANY = Schema(kind="any")

CONSTRAINTS = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType", "contentSchema"),
        *("minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems"),
        *("minProperties", "maxProperties", "propertyNames", "patternProperties", "unevaluatedProperties"),
        *("dependencies", "dependentRequired", "dependentSchemas", "discriminator", "alternatives"),
        *("not", "if", "then", "else", "allOf", "anyOf", "oneOf", "type"),
    }
)
"""The facts that decide which values are accepted; every other one is an annotation."""


@dataclass(frozen=True)
class Pair:
    """The old and the new schema of one place.

    Attributes:
        old: The old schema.
        new: The new schema.
        at: Where they stand.
        above: The pairs around this one, outermost first.
        followed: The recursive definitions that were compared already, shared by the pairs of one tool.
    """

    old: Schema
    new: Schema
    at: Place
    above: tuple[Pair, ...] = ()
    followed: set[tuple[str, str]] = field(default_factory=set, compare=False)

    def child(self, old: Schema | None, new: Schema | None, *parts: str | int) -> Pair:
        """The pair one step deeper; None stands for a schema that says nothing."""
        at = self.at
        for part in parts:
            at = at / part
        return Pair(old or ANY, new or ANY, at, (*self.above, self), self.followed)

    def with_schemas(self, old: Schema, new: Schema) -> Pair:
        """The same place with other schemas."""
        return replace(self, old=old, new=new)

    def change(self, rule: str, old: Any = None, new: Any = None) -> Change:
        """A change at this place."""
        return self.at.change(rule, old, new)

    def unrolled(self) -> Pair | None:
        """The definitions that recursive references lead back to; None where these two were compared already."""
        old = _definition(self.old, [pair.old for pair in self.above])
        new = _definition(self.new, [pair.new for pair in self.above])
        pointers = (old.pointer, new.pointer)
        around = {(pair.old.pointer, pair.new.pointer) for pair in self.above}
        if "recursion" in (old.kind, new.kind) or pointers in around | self.followed:
            return None
        self.followed.add(pointers)
        return self.with_schemas(old, new)


def _definition(schema: Schema, above: list[Schema]) -> Schema:
    if schema.kind != "recursion":
        return schema
    found = next((other for other in reversed(above) if other.pointer == schema.pointer), None)
    if found is None or found.kind == "recursion":
        return schema
    return replace(found, nullable=found.nullable or schema.nullable, facts={**found.facts, **schema.facts})


def facts(schema: Schema, *, constraints: bool) -> dict[str, Any]:
    """The facts of a schema that constrain values, or those that do not; without its description."""
    return {
        key: without_references(value)
        for key, value in schema.facts.items()
        if (key in CONSTRAINTS) == constraints and key != "description"
    }


def without_references(value: Any) -> Any:
    """A keyword that is kept as it stood, without the names of `$defs` in it: those are nobody's business."""
    if isinstance(value, Mapping):
        kept = {key: without_references(part) for key, part in value.items()}
        if isinstance(kept.get("$ref"), str):
            kept["$ref"] = "#"
        if isinstance(kept.get("mapping"), Mapping) and "propertyName" in kept:
            kept["mapping"] = sorted(kept["mapping"])
        return kept
    return [without_references(part) for part in value] if isinstance(value, list) else value


def likeness(schema: Schema, *, text: bool) -> str:
    """What a schema accepts, as one string that is equal for equal schemas; with or without its descriptions."""
    return canonical(_outline(schema, text))


def _outline(schema: Schema, text: bool) -> Any:
    parts: dict[str, Any] = {
        "kind": [schema.kind, schema.nullable],
        "values": schema.values and list(schema.values),
        "options": [_outline(option, text) for option in schema.options],
        "prefix": [_outline(part, text) for part in schema.prefix],
        "items": schema.items and _outline(schema.items, text),
        "properties": {key: _outline(part, text) for key, part in schema.properties.items()},
        "required": sorted(schema.required),
        "additional": schema.additional and _outline(schema.additional, text),
        "facts": facts(schema, constraints=True) | {key: v for key, v in schema.facts.items() if key == "default"},
        "description": schema.description if text else "",
    }
    return {key: part for key, part in parts.items() if part}


def wording(schema: Schema) -> str:
    """A type in a few words, as a message shows it."""
    if schema.values is not None:
        words = " | ".join(canonical(value) for value in schema.values)
    elif schema.kind == "union":
        words = " | ".join(wording(option) for option in schema.options)
    elif schema.kind == "array" and schema.prefix:
        words = f"[{', '.join(wording(part) for part in schema.prefix)}]"
    elif schema.kind == "array" and schema.items is not None:
        words = f"array of {wording(schema.items)}"
    elif schema.kind == "object" and schema.properties:
        words = f"object with {', '.join(schema.properties)}"
    else:
        words = {"never": "nothing", "recursion": "a recursive reference"}.get(schema.kind, schema.kind)
    return f"{words} | null" if schema.nullable else words


def renames(old: Mapping[str, T], new: Mapping[str, T], *keys: Callable[[T], str | None]) -> dict[str, str]:
    """Which `old` name that is gone is which `new` one: where exactly one out and one in have the same key.

    The keys are tried in turn, the most exact one first; a key of None pairs nothing.
    """
    found: dict[str, str] = {}
    for key in keys:
        gone = _by_key(((name, value) for name, value in old.items() if name not in new and name not in found), key)
        taken = set(found.values())
        come = _by_key(((name, value) for name, value in new.items() if name not in old and name not in taken), key)
        found |= {gone[k][0]: come[k][0] for k in gone if len(gone[k]) == len(come.get(k, ())) == 1}
    return found


def _by_key(named: Iterable[tuple[str, T]], key: Callable[[T], str | None]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for name, value in named:
        found = key(value)
        if found is not None:
            groups[found].append(name)
    return groups


def differs(old: Any, new: Any) -> bool:
    """Whether two JSON values differ as JSON Schema sees it."""
    return identity(old) != identity(new)


def identity(value: Any) -> str:
    """A text that is equal for equal JSON values: 1 and 1.0 are the same, 1 and true are not."""
    return canonical(_plain(value))


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value
