"""A model that obeys what it is shown of a tool, and knows nothing else: it draws calls from that.

It reads a schema as `fidelity.facts_of` does. A fact counts as told if the schema that is shown states it, as a keyword
or in words; what is told is obeyed, and what is not is drawn without it. So two ways of showing the same tool differ
only in what they tell, and it does not matter in which form they tell it.
"""

from __future__ import annotations

import functools
import json
import random
import string
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.fidelity import alias_of, shown_types, states
from orl_codegen.schema.tree import Schema

Visible = dict[str, Any]

OMITTED = 0.5  # how often an optional parameter is left out
NULL = 0.1  # how often null is written where it is told to be allowed
WORDS = "alpha beta gamma delta 2026-01-31 notes.txt main hello".split()
FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "a@example.org",
    "uri": "https://example.org/a",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}
KINDS = {
    "string": ("string", "text", "str"),
    "integer": ("integer", "int", "whole number"),
    "number": ("number", "float"),
    "boolean": ("boolean", "bool", "true", "false"),
    "array": ("array", "list"),
    "object": ("object", "dict", "fields"),
}
"""The words in which the type of a nested value is told."""


@dataclass(frozen=True)
class Reader:
    """Draws calls.

    Attributes:
        shown: What `get_json_schema`, or a bridge, shows of the tool.
        dice: Where chance comes from.
    """

    shown: Visible
    dice: random.Random

    def arguments(self, schema: Schema) -> dict[str, Any]:
        """Arguments that the model could write, under the names that it is shown.

        Args:
            schema: The input of the tool, worked out: what there is to be told.
        """
        parameters = self.shown["function"]["parameters"]
        properties, required = parameters.get("properties", {}), parameters.get("required", [])
        keys = {alias_of(key, properties): key for key in [*schema.properties, *sorted(schema.required)]}
        written = {}
        for name, view in properties.items():
            if name in required or self.dice.random() > OMITTED:
                part = schema.properties.get(keys.get(name, ""), Schema("any"))
                written[name] = self._parameter(part, view)
        return written

    def _parameter(self, schema: Schema, view: Visible) -> Any:
        types = sorted(shown_types(view) & KINDS.keys())
        text = json.dumps(view, ensure_ascii=False)
        if ("null" in shown_types(view) or _tells_null(schema, text)) and self.dice.random() < NULL:
            return None
        told = self.dice.choice(types) if types else None
        return self._value(schema, view, text, told or self._kind(schema, text))

    def _value(self, schema: Schema, view: Visible, text: str, kind: str) -> Any:
        schema = next((option for option in schema.options if option.kind == kind), schema)
        values = [value for value in schema.values or () if states(view, text, value)]
        if values:
            return self.dice.choice(values)
        if schema.kind not in (kind, "any", "union") and (schema.kind, kind) != ("number", "integer"):
            schema = Schema("any")  # the type that is shown is not the type that is wanted: nothing else applies
        limits = {key: value for key, value in schema.facts.items() if states(view, text, value)}
        if kind in ("integer", "number"):
            return self._number(limits, kind)
        if kind == "array":
            return self._array(schema, view, text, limits)
        if kind == "object":
            return self._object(schema, view, text)
        return self.dice.random() < 0.5 if kind == "boolean" else self._string(limits)

    def _kind(self, schema: Schema, text: str) -> str:
        """The type of a value, where words tell it; otherwise a string, as most values are."""
        kinds = [part.kind for part in schema.options or (schema,) if part.kind in KINDS]
        told = [kind for kind in kinds if any(word in text.lower() for word in KINDS[kind])]
        if not told and any(states({}, text, value) for value in schema.values or ()):
            told = kinds
        return self.dice.choice(told) if told else "string"

    def _number(self, limits: Mapping[str, Any], kind: str) -> float:
        low, high = limits.get("minimum", limits.get("exclusiveMinimum")), None
        high = limits.get("maximum", limits.get("exclusiveMaximum"))
        low = low if isinstance(low, int | float) else -10 if high is None else high - 10
        high = high if isinstance(high, int | float) else low + 1000
        step = limits.get("multipleOf")
        drawn: float = self.dice.randint(_above(low, "exclusiveMinimum" in limits), int(high))
        if kind == "number" and self.dice.random() < 0.5 and high > low:
            drawn = self.dice.uniform(low, high)
        if isinstance(step, int | float) and step:
            drawn = round(drawn / step) * step
            drawn = drawn + step if drawn < low else drawn - step if drawn > high else drawn
        return int(drawn) if kind == "integer" else drawn

    def _string(self, limits: Mapping[str, Any]) -> str:
        if isinstance(limits.get("pattern"), str):
            return self.dice.choice(_examples(limits["pattern"]))
        if limits.get("format") in FORMATS:
            return FORMATS[limits["format"]]
        text = self.dice.choice(WORDS)
        short, long = limits.get("minLength", 0), limits.get("maxLength", 10**6)
        return (text + "".join(self.dice.choices(string.ascii_lowercase, k=max(0, short - len(text)))))[:long]

    def _array(self, schema: Schema, view: Visible, text: str, limits: Mapping[str, Any]) -> list[Any]:
        least, most = limits.get("minItems", 0), limits.get("maxItems", 10**6)
        if schema.prefix:
            return [self._value(part, view, text, self._kind(part, text)) for part in schema.prefix]
        count = min(max(least, self.dice.randint(0, 3)), most)
        inner: Visible = view["items"] if isinstance(view.get("items"), dict) else {}
        items = schema.items or Schema("any")
        types = sorted(shown_types(inner) & KINDS.keys())
        kind = self.dice.choice(types) if types else self._kind(items, text)
        drawn = [self._value(items, inner, text, kind) for _ in range(count * 3)]
        different = [value for place, value in enumerate(drawn) if value not in drawn[:place]]
        return (different + drawn)[:count]

    def _object(self, schema: Schema, view: Visible, text: str) -> dict[str, Any]:
        told = {key: part for key, part in schema.properties.items() if states(view, text, key)}
        written = {}
        for key, part in told.items():
            needed = key in schema.required and "required" in text
            if needed or self.dice.random() > OMITTED:
                null = _tells_null(part, text) and self.dice.random() < NULL
                written[key] = None if null else self._value(part, view, text, self._kind(part, text))
        return written


def _above(low: float, exclusive: bool) -> int:
    whole = int(low) if low == int(low) else int(low) + 1
    return whole + 1 if exclusive and whole == low else whole


def _tells_null(schema: Schema, text: str) -> bool:
    return schema.nullable and "null" in text.lower()


@functools.cache
def _examples(pattern: str) -> list[str]:
    """A few texts that match a pattern."""
    from hypothesis import strategies as st
    from hypothesis.errors import NonInteractiveExampleWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NonInteractiveExampleWarning)
        try:
            return [st.from_regex(pattern, fullmatch=True).example() for _ in range(3)]
        except Exception:  # not a pattern of Python's
            return WORDS
