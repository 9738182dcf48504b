"""What Python types cannot carry to the model, in words: nested fields, defaults, limits, patterns, formats.

`transformers` shows the model a parameter's name, type and line of text, and nothing else. So whatever a schema says
beyond its type is written into that line, compactly: "How many to return. From 1 to 50. Default: 10." The text of one
nested field reads `max_minutes (integer, at least 1, default 30): how long it may take`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orl_codegen.generator.contract.annotations import is_literal, object_keys
from orl_codegen.generator.contract.schema import Schema

IN_WORDS = frozenset(
    "description title default example examples format pattern minimum maximum exclusiveMinimum exclusiveMaximum "
    "multipleOf minLength maxLength minItems maxItems uniqueItems minProperties maxProperties deprecated readOnly "
    "writeOnly contentEncoding contentMediaType discriminator type alternatives".split()
)
"""Keywords with words of their own."""

AS_JSON = frozenset(
    "allOf anyOf oneOf not if then else contains minContains maxContains propertyNames patternProperties dependencies "
    "dependentRequired dependentSchemas unevaluatedProperties unevaluatedItems contentSchema".split()
)
"""Keywords that are told as they stand, in JSON."""


@dataclass(frozen=True)
class Clause:
    """One thing said of a value: `from 1 to 50`, or a label and a value as in `default 10`."""

    text: str
    value: str | None = None

    @property
    def inline(self) -> str:
        return self.text if self.value is None else f"{self.text} {self.value}"

    @property
    def sentence(self) -> str:
        text = _capital(self.text)
        return f"{text}." if self.value is None else f"{text}: {self.value}."


def parameter_text(key: str, schema: Schema, more: str = "") -> str:
    """The line of a parameter: its description, then everything that its annotation does not show.

    Args:
        key: Its wire key.
        schema: Its schema.
        more: What the tool's own description says about it.
    """
    texts: list[str] = []
    for text in (schema.description, more, _title(key, schema)):
        if text.strip() and not any(_says(other, text) for other in texts):
            texts.append(_ended(text))
    names = {schema.pointer: _word(key), "": "the whole input"}
    return " ".join([*texts, *_sentences(schema, names)]) or _ended(_capital(_noun(schema, names)))


def tool_text(schema: Schema) -> str:
    """What the top level of an `input_schema` says about the call as a whole."""
    description = schema.description.strip()
    clauses = [clause.sentence for clause in _general(schema)]
    return "\n".join(filter(None, [description, " ".join(clauses)]))


def unworded(schema: Schema) -> set[str]:
    """The keywords anywhere in a schema that reach the model neither by type nor in words."""
    known = IN_WORDS | AS_JSON
    found = {keyword for keyword in schema.facts if keyword not in known}
    for part in parts_of(schema):
        found |= unworded(part)
    return found


def parts_of(schema: Schema) -> Iterator[Schema]:
    """The schemas directly inside one."""
    yield from schema.properties.values()
    yield from schema.options
    yield from schema.prefix
    yield from (part for part in (schema.items, schema.additional) if part is not None)


def _sentences(schema: Schema, names: Mapping[str, str]) -> Iterator[str]:
    if schema.kind == "never":
        yield "Must not be given."
    if schema.values is not None and not is_literal(schema):
        yield f"One of {_listed(schema.values)}."
    yield from (clause.sentence for clause in _limits(schema))
    if schema.kind == "object" and object_keys(schema):
        yield f"Fields: {_fields(schema, names)}."
    yield from (f"{_capital(inner)}." for inner in _inner(schema, names))
    yield from (clause.sentence for clause in _general(schema))


def _inner(schema: Schema, names: Mapping[str, str]) -> Iterator[str]:
    """What is said of the items, values or branches inside, where their type alone does not say it."""
    if schema.prefix and any(_has_detail(part) for part in schema.prefix):
        yield "items in order: " + ", ".join(_detail(part, names) for part in schema.prefix)
    if schema.items is not None and _has_detail(schema.items):
        yield f"each item {_detail(schema.items, names)}"
    if schema.kind == "object" and schema.additional is not None and _has_detail(schema.additional):
        yield f"each {'other ' if schema.properties else ''}value {_detail(schema.additional, names)}"
    # Before 5.24, transformers shows no more of a union than the names of its types.
    if schema.kind == "union" and any(_has_detail(option) or _is_shaped(option) for option in schema.options):
        yield "either " + " or ".join(_detail(option, names) for option in schema.options)


def _is_shaped(schema: Schema) -> bool:
    return schema.values is not None or schema.items is not None or schema.additional is not None


def _has_detail(schema: Schema) -> bool:
    literal = schema.values is not None and not is_literal(schema)
    return bool(
        literal
        or schema.description.strip()
        or (schema.kind == "object" and object_keys(schema))
        or [*_limits(schema), *_general(schema)]
        or any(_has_detail(part) for part in parts_of(schema))
    )


def _detail(schema: Schema, names: Mapping[str, str], required: bool = False) -> str:
    """`(integer, required, from 1 to 9, default 3): what it is {its fields}`."""
    facts = [_noun(schema, names), *(["required"] if required else [])]
    facts += [clause.inline for clause in (*_limits(schema), *_general(schema))]
    text = " ".join(schema.description.split())
    text = f": {text.rstrip('.; ')}" if text else ""
    inner = [f"{{{_fields(schema, names)}}}"] if schema.kind == "object" and object_keys(schema) else []
    inner += [f"[{part}]" for part in _inner(schema, names)]
    return f"({', '.join(facts)}){text}{''.join(f' {part}' for part in inner)}"


def _fields(schema: Schema, names: Mapping[str, str]) -> str:
    missing = Schema("any")
    return "; ".join(
        f"{_word(key)} {_detail(field, {**names, field.pointer: _word(key)}, key in schema.required)}"
        for key, field in ((key, schema.properties.get(key, missing)) for key in object_keys(schema))
    )


def _noun(schema: Schema, names: Mapping[str, str]) -> str:
    """The type of a value in a few words: `string`, `"thai" or "italian"`, `list of integers or null`."""
    noun = _bare_noun(schema, names)
    return f"{noun} or null" if schema.nullable else noun


def _bare_noun(schema: Schema, names: Mapping[str, str]) -> str:
    if schema.values is not None:
        return _listed(schema.values)
    match schema.kind:
        case "any":
            return "anything"
        case "never":
            return "not allowed"
        case "union":
            return " or ".join(dict.fromkeys(_noun(option, names) for option in schema.options))
        case "recursion":
            return f"the same as {names[schema.pointer]}" if schema.pointer in names else "anything"
        case "array" if schema.prefix:
            return f"list of {', then '.join(_noun(part, names) for part in schema.prefix)}"
        case "array":
            return "list" if schema.items is None else f"list of {_plural(schema.items, names)}"
        case "object" if schema.additional is not None and not schema.properties and schema.additional.kind != "never":
            return f"object with {_plural(schema.additional, names)} as values"
        case kind:
            return kind


def _plural(schema: Schema, names: Mapping[str, str]) -> str:
    noun = _noun(schema, names)
    if noun in ("string", "integer", "number", "boolean", "object", "list"):
        return f"{noun}s"
    if noun.startswith("list of "):
        return f"lists of {noun.removeprefix('list of ')}"
    return noun


def _limits(schema: Schema) -> Iterator[Clause]:
    """What a value must satisfy beyond its type."""
    facts = schema.facts
    if "type" in facts:
        yield Clause("type", ", ".join(map(str, facts["type"])))
    yield from _range(facts)
    if _is_number(facts.get("multipleOf")):
        yield Clause(f"a multiple of {_json(facts['multipleOf'])}")
    for unit, of in (("character", "Length"), ("item", "Items"), ("field", "Properties")):
        yield from _count(facts.get(f"min{of}"), facts.get(f"max{of}"), unit)
    if facts.get("uniqueItems") is True:
        yield Clause("unique items")
    for label, keyword in (("pattern", "pattern"), ("format", "format")):
        if isinstance(facts.get(keyword), str):
            yield Clause(label, _code(facts[keyword]) if keyword == "pattern" else _word(facts[keyword]))


def _general(schema: Schema) -> Iterator[Clause]:
    """What is said about a value whatever its type."""
    facts = schema.facts
    if schema.properties and schema.additional is not None and schema.pointer:
        yield Clause("no other fields" if schema.additional.kind == "never" else "other fields are allowed")
    for label, keyword in (("encoding", "contentEncoding"), ("media type", "contentMediaType")):
        if isinstance(facts.get(keyword), str):
            yield Clause(label, _word(facts[keyword]))
    for keyword, text in (("readOnly", "read only"), ("writeOnly", "write only"), ("deprecated", "deprecated")):
        if facts.get(keyword) is True:
            yield Clause(text)
    if "default" in facts:
        yield Clause("default", _json(facts["default"]))
    examples = facts.get("examples", [facts["example"]] if "example" in facts else [])
    if examples:
        yield Clause("for example", ", ".join(map(_json, examples)) if isinstance(examples, list) else _json(examples))
    for keyword, how in (("alternatives", "one of"), ("anyOf", "at least one of"), ("oneOf", "exactly one of")):
        groups = _required_groups(facts.get(keyword))
        if groups:
            yield Clause(f"give {how}", " | ".join(groups))
    discriminator = facts.get("discriminator")
    if isinstance(discriminator, Mapping) and isinstance(discriminator.get("propertyName"), str):
        yield Clause("told apart by", _word(discriminator["propertyName"]))
    also = {key: value for key, value in facts.items() if key in AS_JSON and not _required_groups(value)}
    if also:
        yield Clause("also", _json(also))


def _required_groups(options: Any) -> list[str]:
    """`a with b` for each branch that only says which fields go together; nothing where a branch says more."""
    if not isinstance(options, list) or not all(isinstance(option, Mapping) for option in options):
        return []
    if not all(isinstance(option.get("required"), list) for option in options):
        return []
    if any(option.keys() - {"required", "title", "description"} for option in options):
        return []
    return [
        " with ".join(map(_word, option["required"]))
        + (f" ({option['description']})" if "description" in option else "")
        for option in options
    ]


def _range(facts: Mapping[str, Any]) -> Iterator[Clause]:
    low, high = facts.get("minimum"), facts.get("maximum")
    above, below = facts.get("exclusiveMinimum"), facts.get("exclusiveMaximum")
    if above is True:  # draft 4 says with a boolean that the bound itself is left out
        low, above = None, low
    if below is True:
        high, below = None, high
    if _is_number(low) and _is_number(high):
        yield Clause(f"from {_json(low)} to {_json(high)}")
    elif _is_number(low) or _is_number(high):
        yield Clause(f"at least {_json(low)}" if _is_number(low) else f"at most {_json(high)}")
    if _is_number(above):
        yield Clause(f"greater than {_json(above)}")
    if _is_number(below):
        yield Clause(f"less than {_json(below)}")


def _count(low: object, high: object, unit: str) -> Iterator[Clause]:
    if _is_number(low) and _is_number(high):
        count = f"exactly {low}" if low == high else f"{low} to {high}"
        yield Clause(f"{count} {unit}{'' if low == high == 1 else 's'}")
    elif _is_number(low):
        yield Clause(f"at least {low} {unit}{'' if low == 1 else 's'}")
    elif _is_number(high):
        yield Clause(f"at most {high} {unit}{'' if high == 1 else 's'}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _title(key: str, schema: Schema) -> str:
    """The title, where it says more than the key (pydantic makes `File Path` of `file_path`)."""
    title = schema.facts.get("title")
    return title if isinstance(title, str) and _loose(title) != _loose(key) and schema.kind != "object" else ""


def _loose(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()


def _says(text: str, other: str) -> bool:
    """Whether a text already says, word for word, what another one does."""
    return _loose(other) in _loose(text)


def _ended(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?", ":", "…", "。", ")", '"', "`")) else f"{text}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _listed(values: Sequence[Any]) -> str:
    *first, last = map(_json, values)
    return f"{', '.join(first)} or {last}" if first else last


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _code(text: str) -> str:
    return _json(text) if "`" in text or text != " ".join(text.split()) else f"`{text}`"


def _word(text: str) -> str:
    """A name as it stands, or as a JSON string where it has spaces or signs that would blur the sentence."""
    return text if re.fullmatch(r"[\w.$/-]+", text) else _json(text)
