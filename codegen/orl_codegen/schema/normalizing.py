"""One schema as a server wrote it, made plain before anything else reads it.

Null stands for an absent keyword, values are read as they are meant (see `shapes`), and what says nothing is left out,
so that schemas that mean the same are told in the same words and compare as equal. Whatever had to be read as something
else, or could not be read, is remembered for the report.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from orl_codegen.errors import printable
from orl_codegen.schema.json_values import differs
from orl_codegen.schema.keywords import EXCLUSIVE, STRUCTURE, TOLD_AS_JSON
from orl_codegen.schema.pointer import join
from orl_codegen.schema.shapes import (
    ABSENT,
    MAY_BE_NULL,
    NAMED_SCHEMAS,
    SCHEMA,
    SCHEMAS,
    TYPE_NAMES,
    UNREADABLE,
    WANTED,
    plain_type,
)

MAX_READINGS = 10
"""How many readings of one tool and one outcome are told one by one."""

MAX_TOLD_DEPTH = 16
"""How deep schemas are made plain that are only told as JSON; deeper ones are told as they are."""

TOLD_SCHEMAS = frozenset(TOLD_AS_JSON) - STRUCTURE
"""The keywords whose schemas are told as JSON, and not worked out."""

WRAPPERS = ("parameters", "json", "inputSchema", "input_schema", "function")
"""Keys under which model providers and protocols put the schema of a tool, beside its name."""

Outcome = Literal["not shown", "corrected"]


@dataclass(frozen=True)
class Reading:
    """Something in an `input_schema` that is not JSON Schema. All text is printable.

    Attributes:
        outcome: `corrected` if it was read as something else, `not shown` if it was left out.
        message: What it was, what became of it, and where.
    """

    outcome: Outcome
    message: str


class Normalizer:
    """Makes the schemas of one document plain. To do it twice changes nothing."""

    def __init__(self) -> None:
        self._places: dict[tuple[Outcome, str], dict[str, None]] = {}

    def plain(self, raw: object, pointer: str) -> object:
        """The schema at `pointer`, made plain; what is no schema at all comes back as it is.

        The schemas in it are left for when they are worked out themselves. But whether the branches of `anyOf` make a
        union depends on what is in them, and schemas that are only told as JSON are not worked out.
        """
        keywords = self._alone(raw, pointer)
        if isinstance(keywords, dict):
            for name in keywords:
                if name in ("anyOf", "oneOf"):
                    keywords[name] = self._within(name, keywords[name], pointer, 0)
                elif name in TOLD_SCHEMAS:
                    keywords[name] = self._within(name, keywords[name], pointer, MAX_TOLD_DEPTH)
        return keywords

    def readings(self) -> Iterator[Reading]:
        """What was read as something else or left out: one reading for all places where it was the same."""
        for outcome in get_args(Outcome):
            found = [(what, places) for (kind, what), places in self._places.items() if kind == outcome]
            yield from (Reading(outcome, f"{what} {_at(list(places))}") for what, places in found[:MAX_READINGS])
            if len(found) > MAX_READINGS:
                yield Reading(outcome, f"{len(found) - MAX_READINGS} more like these")

    def note(self, outcome: Outcome, what: str, pointer: str) -> None:
        """Remember what was done at `pointer`."""
        self._places.setdefault((outcome, what), {})[pointer] = None

    def _alone(self, raw: object, pointer: str) -> object:
        """The schema at `pointer`, without the schemas in it."""
        if raw is None or raw == []:
            return {}
        if isinstance(raw, str):
            return self._corrected(raw, _schema_of(raw), "the schema", pointer)
        return self._keywords(raw, pointer) if isinstance(raw, dict) else raw

    def _keywords(self, raw: Mapping[str, Any], pointer: str) -> dict[str, Any]:
        meant = {keyword: self._value(keyword, value, pointer) for keyword, value in raw.items()}
        keywords = {keyword: value for keyword, value in meant.items() if value is not ABSENT}
        for limit, exclusive in EXCLUSIVE.items():
            if keywords.get(exclusive) is True:
                self._draft_4(keywords, limit, exclusive, pointer)
        return keywords

    def _whole(self, raw: object, pointer: str, depth: int) -> object:
        """The schema at `pointer`, with all schemas in it, down to a depth."""
        keywords = self._alone(raw, pointer)
        if depth == 0 or not isinstance(keywords, dict):
            return keywords
        return {name: self._within(name, value, pointer, depth - 1) for name, value in keywords.items()}

    def _within(self, keyword: str, value: Any, pointer: str, depth: int) -> Any:
        """The value of a keyword, with the schemas in it made plain."""
        noun, at = WANTED[keyword].noun if keyword in WANTED else "", join(pointer, keyword)
        if noun == NAMED_SCHEMAS:
            return {key: self._whole(part, join(at, key), depth) for key, part in value.items()}
        if noun in (SCHEMA, SCHEMAS) and isinstance(value, list):
            return [self._whole(part, join(at, i), depth) for i, part in enumerate(value)]
        return self._whole(value, at, depth) if noun == SCHEMA else value

    def _value(self, keyword: str, value: Any, pointer: str) -> Any:
        if value is None and keyword not in MAY_BE_NULL:
            return ABSENT
        if keyword not in WANTED:
            return value
        noun, read = WANTED[keyword]
        meant = read(value)
        if meant is UNREADABLE:
            self.note("not shown", f"`{keyword}` {_shown(value)}, which is not {noun},", pointer)
            return ABSENT
        return meant if meant is ABSENT or value == [] else self._corrected(value, meant, f"`{keyword}`", pointer)

    def _corrected(self, value: Any, meant: Any, what: str, pointer: str) -> Any:
        if meant is not value and meant != value and differs(value, meant):  # the last one is slow
            self.note("corrected", f"{what} {_shown(value)} is read as {_shown(meant)}", pointer)
        return meant

    def _draft_4(self, keywords: dict[str, Any], limit: str, exclusive: str, pointer: str) -> None:
        """In draft 4, `exclusiveMinimum: true` makes the `minimum` beside it exclusive."""
        if limit in keywords:
            keywords[exclusive] = keywords.pop(limit)
        else:
            del keywords[exclusive]
            self.note("not shown", f"`{exclusive}` true, without a `{limit}` beside it,", pointer)


def _schema_of(text: str) -> dict[str, Any]:
    """A text where a schema should be: the name of a type, or else a description."""
    if not text.strip():
        return {}
    return {"type": plain_type(text)} if plain_type(text) in TYPE_NAMES else {"description": text}


def _at(places: Sequence[str]) -> str:
    first, *others = places
    more = f" and {len(others)} more place{'s' if others[1:] else ''}" if others else ""
    return f"at {printable('#' + first)!r}{more}"


def _shown(value: Any) -> str:
    return printable(json.dumps(value, ensure_ascii=False), 60)


def unwrapped(input_schema: object, normalizer: Normalizer) -> object:
    """The schema itself, if it is one level too deep: beside a name, as in the request to a model provider.

    What stands around it, such as definitions and a description, is kept with it.
    """
    wrapper = _wrapper(input_schema)
    if wrapper is None or not isinstance(input_schema, Mapping):
        return input_schema
    normalizer.note("corrected", f"what is in `{wrapper}` is read as the whole schema", "")
    around = {key: value for key, value in input_schema.items() if key not in (wrapper, "type")}
    return unwrapped({**around, **input_schema[wrapper]}, normalizer)


def _wrapper(raw: object) -> str | None:
    """The key under which the schema is, if what is around it is not a schema, too."""
    if not isinstance(raw, Mapping) or any(raw[key] is not None for key in raw.keys() & STRUCTURE - {"type"}):
        return None
    if raw.get("type") not in (None, "function"):
        return None
    inside = [key for key in WRAPPERS if _describes_input(raw.get(key))]
    return inside[0] if len(inside) == 1 else None


def _describes_input(raw: object) -> bool:
    return isinstance(raw, Mapping) and (
        raw.get("type") == "object" or isinstance(raw.get("properties"), Mapping) or _wrapper(raw) is not None
    )
