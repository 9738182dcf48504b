"""The old and the new schema of one place, and the steps by which a comparison walks down both trees at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orl_codegen.drift.change import Change, Place
from orl_codegen.schema.tree import Schema

ANY = Schema(kind="any")


@dataclass(frozen=True)
class Pair:
    """The old and the new schema of one place.

    Attributes:
        old: The old schema.
        new: The new schema.
        at: Where they are.
        above: The pairs around this one, outermost first.
        followed: The recursive definitions that were already compared, shared by the pairs of one tool.
    """

    old: Schema
    new: Schema
    at: Place
    above: tuple[Pair, ...] = ()
    followed: set[tuple[str, str]] = field(default_factory=set, compare=False)

    def child(self, old: Schema | None, new: Schema | None, *parts: str | int) -> Pair:
        """The pair one step deeper; None stands for a schema that accepts anything."""
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
        """The definitions that recursive references lead back to; None if these two were already compared."""
        old = _definition(self.old, [pair.old for pair in self.above])
        new = _definition(self.new, [pair.new for pair in self.above])
        pointers = (old.pointer, new.pointer)
        around = {(pair.old.pointer, pair.new.pointer) for pair in self.above}
        if "recursion" in (old.kind, new.kind) or pointers in around | self.followed:
            return None
        self.followed.add(pointers)
        return self.with_schemas(old, new)


def _definition(schema: Schema, above: Sequence[Schema]) -> Schema:
    """The schema around a recursive reference that it refers to; any other schema is its own definition."""
    if schema.kind != "recursion":
        return schema
    found = next((outer for outer in reversed(above) if outer.pointer == schema.pointer), None)
    if found is None or found.kind == "recursion":
        return schema
    return replace(found, nullable=found.nullable or schema.nullable, facts={**found.facts, **schema.facts})
