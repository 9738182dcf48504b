"""What Python types cannot carry to the model, in words: nested fields, defaults, limits, patterns, formats.

`transformers` shows the model the name, type and line of text of a parameter, and nothing else. So whatever a schema
says beyond its type is written into that line, compactly: "How many to return. From 1 to 50. Default: 10." The text of
one nested field reads `max_minutes (integer, at least 1, default 30): how long it may take`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orl_codegen.generator.contract.clauses import capital, general, json_text, limits, word
from orl_codegen.generator.contract.python_types import is_literal, object_keys
from orl_codegen.schema.keywords import TOLD_AS_JSON, TOLD_IN_WORDS
from orl_codegen.schema.titles import loose
from orl_codegen.schema.tree import Schema

Names = Mapping[str, str]
"""What to call the schemas around the one at hand, by pointer: a schema may contain itself."""


def parameter_text(key: str, schema: Schema, more: str = "") -> str:
    """The line of a parameter: its description, then everything that its annotation does not show.

    Args:
        key: Its wire key.
        schema: Its schema.
        more: What the description of the tool says about it.
    """
    names = _named({"": "the whole input"}, schema, word(key))
    texts = _as_sentences(schema.description, more, _title(key, schema))
    return " ".join([*texts, *_sentences(schema, names)]) or as_sentence(capital(_noun(schema, names, values=False)))


def tool_text(schema: Schema) -> str:
    """What the top level of an `input_schema` says about the call as a whole."""
    clauses = [clause.sentence for clause in general(schema)]
    return "\n".join(filter(None, [schema.description.strip(), " ".join(clauses)]))


def told_title(key: str, schema: Schema) -> str:
    """The title of a part of the input, where the model is told it: it says more than the key and the description."""
    title = _title(key, schema)
    return "" if _contains(schema.description, title) else title


def unworded(schema: Schema) -> set[str]:
    """The keywords anywhere in a schema that the model does not learn of."""
    found = set(schema.facts) - TOLD_IN_WORDS - TOLD_AS_JSON
    return found.union(*(unworded(part) for part in parts_of(schema)))


def parts_of(schema: Schema) -> Iterator[Schema]:
    """The schemas directly inside one."""
    yield from schema.properties.values()
    yield from schema.options
    yield from schema.prefix
    yield from (part for part in (schema.items, schema.additional) if part is not None)


def _sentences(schema: Schema, names: Names) -> Iterator[str]:
    if schema.kind == "never":
        yield "Must not be given."
    if schema.values is not None and not is_literal(schema):
        yield f"{'One of' if len(schema.values) > 1 else 'Must be'} {_listed(schema.values)}."
    yield from (clause.sentence for clause in limits(schema))
    if schema.kind == "object" and object_keys(schema):
        yield f"Fields: {_fields(schema, names)}."
    yield from (f"{capital(others)}." for others in _others(schema, names))
    yield from (f"{capital(inner)}." for inner in _inner(schema, names))
    yield from (clause.sentence for clause in general(schema))


def _others(schema: Schema, names: Names) -> Iterator[str]:
    """What an object allows besides the fields that it lists."""
    if schema.kind != "object" or schema.additional is None:
        return
    if schema.additional.kind == "never":
        yield "no other fields" if object_keys(schema) or "patternProperties" in schema.facts else "no fields"
    elif schema.properties and schema.additional.kind == "any":
        yield "other fields are allowed"
    elif schema.properties and not _has_detail(schema.additional):
        yield f"other fields are {_plural(schema.additional, names)}"


def _inner(schema: Schema, names: Names) -> Iterator[str]:
    """The items, values or branches inside, where there is more to say about them than their type."""
    own = names.get(schema.pointer, "it")
    if schema.prefix and any(map(_has_detail, schema.prefix)):
        yield "items in order: " + ", ".join(_detail(part, names) for part in schema.prefix)
    if schema.items is not None and _has_detail(schema.items):
        item = _detail(schema.items, _named(names, schema.items, f"an item of {own}"))
        yield f"each {'further ' if schema.prefix else ''}item {item}"
    if schema.kind == "object" and schema.additional is not None and _has_detail(schema.additional):
        value = _detail(schema.additional, _named(names, schema.additional, f"a value of {own}"))
        yield f"each {'other ' if schema.properties else ''}value {value}"
    # Before 5.24, transformers shows no more of a union than the names of its types.
    shaped = not is_literal(schema) and any(map(_is_shaped, schema.options))
    if schema.kind == "union" and (shaped or any(map(_has_detail, schema.options))):
        for i, option in enumerate(schema.options, 1):
            names = _named(names, option, f"kind {i} of {own}")
        yield "either " + " or ".join(_detail(option, names) for option in schema.options)


def _is_shaped(schema: Schema) -> bool:
    return schema.values is not None or schema.items is not None or schema.additional is not None


def _has_detail(schema: Schema) -> bool:
    return bool(
        (schema.values is not None and not is_literal(schema))
        or schema.description.strip()
        or _title("", schema)
        or (schema.kind == "object" and object_keys(schema))
        or [*limits(schema), *general(schema), *_others(schema, {})]
        or any(map(_has_detail, parts_of(schema)))
    )


def _detail(schema: Schema, names: Names, key: str = "", required: bool = False) -> str:
    """`(integer, required, from 1 to 9, default 3): what it is {its fields}`."""
    facts = [_noun(schema, names), *(["required"] if required else [])]
    facts += [clause.inline for clause in limits(schema)]
    facts += [*_others(schema, names), *(clause.inline for clause in general(schema))]
    text = " ".join(" ".join(_as_sentences(schema.description, _title(key, schema))).split()).rstrip(".; ")
    inner = [f"{{{_fields(schema, names)}}}"] if schema.kind == "object" and object_keys(schema) else []
    inner += [f"[{part}]" for part in _inner(schema, names)]
    return f"({', '.join(facts)}){f': {text}' if text else ''}{''.join(f' {part}' for part in inner)}"


def _fields(schema: Schema, names: Names) -> str:
    fields = [(key, schema.properties.get(key, Schema("any"))) for key in object_keys(schema)]
    return "; ".join(
        f"{word(key)} {_detail(field, _named(names, field, word(key)), key, key in schema.required)}"
        for key, field in fields
    )


def _named(names: Names, schema: Schema, name: str) -> Names:
    """The names, with one for a schema that may contain itself."""
    return names if schema.kind == "recursion" else {**names, schema.pointer: name}


def _noun(schema: Schema, names: Names, values: bool = True) -> str:
    """The type of a value in a few words: `string`, `"thai" or "italian"`, `list of integers or null`."""
    noun = _listed(schema.values) if values and schema.values is not None else _bare_noun(schema, names)
    return f"{noun} or null" if schema.nullable else noun


def _bare_noun(schema: Schema, names: Names) -> str:
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
            return _tuple_noun(schema, names)
        case "array":
            return "list" if schema.items is None else f"list of {_plural(schema.items, names)}"
        case "object" if schema.additional is not None and not schema.properties and schema.additional.kind != "never":
            return f"object with {_plural(schema.additional, names)} as values"
        case kind:
            return kind


def _tuple_noun(schema: Schema, names: Names) -> str:
    parts = [_bracketed(_noun(part, names)) for part in schema.prefix]
    if schema.items is not None:
        closed = schema.items.kind == "never"
        parts.append("nothing else" if closed else f"any number of {_plural(schema.items, names)}")
    return f"list of {', then '.join(parts)}"


def _plural(schema: Schema, names: Names) -> str:
    noun = _noun(schema, names)
    if noun in ("string", "integer", "number", "boolean", "object", "list"):
        return f"{noun}s"
    if noun.startswith("list of ") and " or " not in noun:
        return f"lists of {noun.removeprefix('list of ')}"
    return _bracketed(noun)


def _bracketed(noun: str) -> str:
    return f"({noun})" if " or " in noun or ", then " in noun else noun


def _title(key: str, schema: Schema) -> str:
    """The title, where it says more than the key or the name of a definition."""
    title = schema.facts.get("title")
    known = {loose(key), loose(schema.pointer.rpartition("/")[2])}
    return title if isinstance(title, str) and title.strip() and loose(title) not in known else ""


def _as_sentences(*texts: str) -> list[str]:
    """Texts as sentences, without those that an earlier one contains word for word."""
    sentences: list[str] = []
    for text in texts:
        if text.strip() and not any(_contains(earlier, text) for earlier in sentences):
            sentences.append(as_sentence(text))
    return sentences


def _contains(text: str, other: str) -> bool:
    words, wanted = (re.findall(r"[^\s.,;:]+", part.lower()) for part in (text, other))
    return f" {' '.join(wanted)} " in f" {' '.join(words)} "


def as_sentence(text: str) -> str:
    """A text as the line of a parameter has it: single blanks, and a full stop if it ends without one."""
    text = re.sub(r"(?:\r\n|[ \t\n])+", " ", text.strip())
    return text if text.endswith((".", "!", "?", ":", "…", "。", ")", '"', "`")) else f"{text}."


def _listed(values: Sequence[Any]) -> str:
    *first, last = map(json_text, values)
    return f"{', '.join(first)} or {last}" if first else last
