"""Whether a schema accepts whatever another one accepts, so that a union is called wider or narrower only where it is.

The answer is no where it cannot be told. As for the rules about parameters, a field that only the wider schema lists
is no obstacle, unless it is required.
"""

from __future__ import annotations

from dataclasses import replace

from orl_codegen.drift.change import Place
from orl_codegen.drift.comparison.constraints import compare_constraints
from orl_codegen.drift.comparison.pairs import ANY, Pair
from orl_codegen.schema.json_values import identity, json_type
from orl_codegen.schema.tree import Schema

_MOST_COMPARED = 2_000
"""How many pairs of schemas one answer may take; two hostile unions have millions."""

_WIDENING = ("-removed", "-loosened")


def includes(wide: Schema, narrow: Schema) -> bool:
    """Whether `wide` accepts whatever `narrow` accepts, null at the top aside."""
    return _Inclusion().holds(replace(wide, nullable=True), narrow)


class _Inclusion:
    """One question, within its limit."""

    def __init__(self) -> None:
        self._left = _MOST_COMPARED

    def holds(self, wide: Schema, narrow: Schema) -> bool:
        self._left -= 1
        if self._left < 0 or not _null_holds(wide, narrow):
            return False
        if narrow.kind in ("null", "never"):
            return True
        if narrow.values is not None:
            return all(_accepts(wide, value) for value in narrow.values)
        if wide.values is not None or not _constraints_hold(wide, narrow):
            return False
        return wide.kind == "any" or self._kinds_hold(wide, narrow)

    def _kinds_hold(self, wide: Schema, narrow: Schema) -> bool:
        if narrow.kind == "union":
            return all(self.holds(wide, option) for option in narrow.options)
        if wide.kind == "union":
            return any(self.holds(option, replace(narrow, nullable=False)) for option in wide.options)
        if narrow.kind == wide.kind == "object":
            return self._object_holds(wide, narrow)
        if narrow.kind == wide.kind == "array":
            return self._array_holds(wide, narrow)
        return narrow.kind == wide.kind or (narrow.kind, wide.kind) == ("integer", "number")

    def _object_holds(self, wide: Schema, narrow: Schema) -> bool:
        others = wide.additional or ANY
        return (
            wide.required <= narrow.required
            and self.holds(others, narrow.additional or ANY)
            and all(self.holds(wide.properties.get(key, others), part) for key, part in narrow.properties.items())
        )

    def _array_holds(self, wide: Schema, narrow: Schema) -> bool:
        items = wide.items or ANY
        if wide.prefix and len(wide.prefix) != len(narrow.prefix):
            return False
        prefix = wide.prefix or (items,) * len(narrow.prefix)
        return self.holds(items, narrow.items or ANY) and all(map(self.holds, prefix, narrow.prefix))


def _null_holds(wide: Schema, narrow: Schema) -> bool:
    return _allows_null(wide) or not _allows_null(narrow)


def _allows_null(schema: Schema) -> bool:
    return schema.nullable or schema.kind == "null" or (schema.kind == "any" and schema.values is None)


def _accepts(schema: Schema, value: object) -> bool:
    """Whether a schema accepts a listed value; limits are not evaluated."""
    if schema.values is not None:
        return identity(value) in map(identity, schema.values)
    if schema.kind == "union":
        return any(_accepts(option, value) for option in schema.options)
    kinds = {json_type(value), "any"} | ({"number"} if json_type(value) == "integer" else set())
    return schema.kind in kinds and _constraints_hold(schema, ANY)


def _constraints_hold(wide: Schema, narrow: Schema) -> bool:
    changes = compare_constraints(Pair(narrow, wide, Place()))
    return all(change.rule.endswith(_WIDENING) for change in changes)
