"""What a schema says about a value (its limits, its default, what goes together), as short clauses.

Each reads both ways: as a sentence in the line of a parameter ("From 1 to 50. Default: 10."), and inline after a
nested field (`(integer, from 1 to 50, default 10)`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orl_codegen.schema.json_values import is_number
from orl_codegen.schema.keywords import TOLD_AS_JSON
from orl_codegen.schema.tree import Schema


@dataclass(frozen=True)
class Clause:
    """One thing about a value: `from 1 to 50`, or a label and a value as in `default 10`."""

    text: str
    value: str | None = None

    @property
    def inline(self) -> str:
        return self.text if self.value is None else f"{self.text} {self.value}"

    @property
    def sentence(self) -> str:
        text = capital(self.text)
        return f"{text}." if self.value is None else f"{text}: {self.value}."


def limits(schema: Schema) -> Iterator[Clause]:
    """What a value must satisfy beyond its type."""
    facts = schema.facts
    if "type" in facts:
        yield Clause("type", ", ".join(map(str, facts["type"])))
    yield from _range(facts)
    if is_number(facts.get("multipleOf")):
        yield Clause(f"a multiple of {json_text(facts['multipleOf'])}")
    for unit, of in (("character", "Length"), ("item", "Items"), ("field", "Properties")):
        yield from _count(facts.get(f"min{of}"), facts.get(f"max{of}"), unit)
    if facts.get("uniqueItems") is True:
        yield Clause("unique items")
    for label, keyword in (("pattern", "pattern"), ("format", "format")):
        if isinstance(facts.get(keyword), str):
            yield Clause(label, _code(facts[keyword]) if keyword == "pattern" else word(facts[keyword]))


def general(schema: Schema) -> Iterator[Clause]:
    """What can be said about a value of any type."""
    facts = schema.facts
    for label, keyword in (("encoding", "contentEncoding"), ("media type", "contentMediaType")):
        if isinstance(facts.get(keyword), str):
            yield Clause(label, word(facts[keyword]))
    for keyword, text in (("readOnly", "read only"), ("writeOnly", "write only"), ("deprecated", "deprecated")):
        if facts.get(keyword) is True:
            yield Clause(text)
    if "default" in facts and not _mentions_default(schema.description, facts["default"]):
        yield Clause("default", json_text(facts["default"]))
    examples = facts.get("examples", [facts["example"]] if "example" in facts else [])
    if examples:
        yield Clause(
            "for example", ", ".join(map(json_text, examples)) if isinstance(examples, list) else json_text(examples)
        )
    for keyword, how in (("alternatives", "one of"), ("anyOf", "at least one of"), ("oneOf", "exactly one of")):
        groups = _required_groups(facts.get(keyword))
        if groups:
            yield Clause(f"give {how}", " | ".join(groups))
    discriminator = facts.get("discriminator")
    if isinstance(discriminator, Mapping) and isinstance(discriminator.get("propertyName"), str):
        yield Clause("told apart by", word(discriminator["propertyName"]))
    also = [key for key in TOLD_AS_JSON if key in facts and not _required_groups(facts[key])]
    if also:
        yield Clause("also", f"{{{', '.join(f'{json_text(key)}: {json_text(facts[key])}' for key in also)}}}")


def _mentions_default(description: str, default: Any) -> bool:
    """Whether a description already mentions the default, as many do."""
    spellings = {json_text(default), repr(default), str(default), *([f"{default}.0"] if is_number(default) else [])}
    spelled = "|".join(map(re.escape, sorted(spellings - {""}, key=len, reverse=True)))
    return bool(re.search(rf"(?i)\bdefaults?(?: to| is|:)? ?`?(?:{spelled})(?!\w|\.\w)", description))


def _required_groups(options: Any) -> list[str]:
    """`a with b` for each branch; empty unless all branches only say which fields go together."""
    if not isinstance(options, list) or not all(isinstance(option, Mapping) for option in options):
        return []
    if not all(isinstance(option.get("required"), list) for option in options):
        return []
    if any(option.keys() - {"required", "title", "description", "values"} for option in options):
        return []
    return [_group(option) for option in options]


def _group(option: Mapping[str, Any]) -> str:
    """`kind "mail" with address (what it is)`: names that go together, with the values that they must have."""
    values = option.get("values", {})
    names = [f"{word(key)} {json_text(values[key])}" if key in values else word(key) for key in option["required"]]
    text = option.get("description") or option.get("title")
    return " with ".join(names) + (f" ({' '.join(str(text).split())})" if text else "")


def _range(facts: Mapping[str, Any]) -> Iterator[Clause]:
    low, high = facts.get("minimum"), facts.get("maximum")
    above, below = facts.get("exclusiveMinimum"), facts.get("exclusiveMaximum")
    if is_number(low) and is_number(high):
        yield Clause(f"from {json_text(low)} to {json_text(high)}")
    elif is_number(low) or is_number(high):
        yield Clause(f"at least {json_text(low)}" if is_number(low) else f"at most {json_text(high)}")
    if is_number(above):
        yield Clause(f"greater than {json_text(above)}")
    if is_number(below):
        yield Clause(f"less than {json_text(below)}")


def _count(low: object, high: object, unit: str) -> Iterator[Clause]:
    if is_number(low) and is_number(high):
        count = f"exactly {low}" if low == high else f"{low} to {high}"
        yield Clause(f"{count} {unit}{'' if low == high == 1 else 's'}")
    elif is_number(low):
        yield Clause(f"at least {low} {unit}{'' if low == 1 else 's'}")
    elif is_number(high):
        yield Clause(f"at most {high} {unit}{'' if high == 1 else 's'}")


def json_text(value: Any) -> str:
    """A value in the notation of JSON, and the same text however its keys are ordered."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def word(text: str) -> str:
    """A name verbatim, or as a JSON string where it has spaces or punctuation that would blur the sentence."""
    return text if re.fullmatch(r"[\w.$/-]+", text) else json_text(text)


def capital(text: str) -> str:
    """The text with its first letter capitalised."""
    return text[:1].upper() + text[1:]


def _code(text: str) -> str:
    return json_text(text) if "`" in text or text != " ".join(text.split()) else f"`{text}`"
