"""Schemas as servers really write them: what is meant is read, and what cannot be read is reported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orl_codegen.errors import SchemaError, printable
from orl_codegen.generator.contract.wording import parameter_text
from orl_codegen.schema.expansion import expand, expand_and_note
from orl_codegen.schema.keywords import KEYWORDS
from orl_codegen.schema.normalizing import MAX_READINGS, Normalizer
from orl_codegen.schema.shapes import MAY_BE_NULL, WANTED
from orl_codegen.schema.tree import Schema

NAMES = sorted(keyword.name for keyword in KEYWORDS)

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["str", "1", "true"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*NAMES, "a", "b"]), inner, max_size=3),
    max_leaves=5,
)

SCHEMAS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4)


def _parameter(schema: Any) -> Schema:
    return expand({"properties": {"p": schema}}, "t").properties["p"]


def _notes(schema: Any) -> list[tuple[str, str]]:
    _, readings = expand_and_note({"properties": {"p": schema}}, "t")
    return [(reading.outcome, reading.message) for reading in readings]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (None, {}),
        ([], {}),
        ({"type": "string", "minLength": 1.0}, {"type": "string", "minLength": 1}),
        ({"type": "string", "minLength": 0}, {"type": "string"}),
        ({"type": "array", "minItems": 0}, {"type": "array"}),
        ({"type": "object", "minProperties": 0}, {"type": "object"}),
        ({"type": "array", "uniqueItems": False}, {"type": "array"}),
        ({"type": "string", "readOnly": False, "writeOnly": False, "deprecated": False}, {"type": "string"}),
        ({"type": "integer", "exclusiveMinimum": 2}, {"type": "integer", "minimum": 3}),
        ({"type": "integer", "exclusiveMaximum": 2}, {"type": "integer", "maximum": 1}),
        ({"type": "integer", "exclusiveMinimum": 2.5}, {"type": "integer", "minimum": 3}),
        ({"type": "integer", "exclusiveMinimum": 2, "minimum": 5}, {"type": "integer", "minimum": 5}),
        ({"type": "integer", "exclusiveMinimum": 7, "minimum": 5}, {"type": "integer", "minimum": 8}),
        ({"type": "integer", "minimum": 2, "exclusiveMinimum": True}, {"type": "integer", "minimum": 3}),
        ({"type": "integer", "minimum": 2, "exclusiveMinimum": False}, {"type": "integer", "minimum": 2}),
        ({"type": ["integer", "null"], "exclusiveMinimum": 0}, {"type": ["integer", "null"], "minimum": 1}),
        ({"type": "number", "maximum": 2, "exclusiveMaximum": 2}, {"type": "number", "exclusiveMaximum": 2}),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": 2}, {"type": "number", "maximum": 1}),
        ({"type": "number", "default": {"a": [1.0]}}, {"type": "number", "default": {"a": [1]}}),
        ({"type": "integer", "enum": [1.0, 2.0]}, {"type": "integer", "enum": [1, 2]}),
        ({"type": "object", "additionalProperties": True}, {"type": "object"}),
        ({"type": "object", "additionalProperties": {}}, {"type": "object"}),
        ({"type": "array", "items": {}}, {"type": "array"}),
        ({"type": "object", "patternProperties": []}, {"type": "object"}),
        ({"type": "object", "properties": []}, {"type": "object", "properties": {}}),
        (
            {"allOf": [{"properties": {"a": None}}, {"properties": {"a": {"type": "string"}}}]},
            {"properties": {"a": {"type": "string"}}},
        ),
        ({"type": "string", "anyOf": [], "examples": None}, {"type": "string"}),
        ({"not": {"type": "string", "minLength": 0, "if": None}}, {"not": {"type": "string"}}),
    ],
)
def test_what_means_the_same_is_the_same(written: Any, meant: Any) -> None:
    """Two spellings that JSON Schema holds for equal give one schema, and there is nothing to report."""
    assert _parameter(written) == _parameter(meant)
    assert repr(_parameter(written)) == repr(_parameter(meant))  # in which 1.0 is not 1
    assert not _notes(written)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"type": "integer", "minimum": "1", "maximum": " 5 "}, {"type": "integer", "minimum": 1, "maximum": 5}),
        ({"type": "string", "maxLength": "3"}, {"type": "string", "maxLength": 3}),
        ({"type": "string", "description": ["a", "b"]}, {"type": "string", "description": "a\nb"}),
        ({"type": "string", "deprecated": "True"}, {"type": "string", "deprecated": True}),
        ({"type": "str"}, {"type": "string"}),
        ({"type": "OBJECT"}, {"type": "object"}),
        ({"type": ["int", None]}, {"type": ["integer", "null"]}),
        ({"type": "list", "items": "int"}, {"type": "array", "items": {"type": "integer"}}),
        ({"type": "object", "additionalProperties": "false"}, {"type": "object", "additionalProperties": False}),
        ({"type": "object", "properties": ["a"]}, {"type": "object", "properties": {"a": {}}}),
        ({"type": "object", "required": ["a", 5]}, {"type": "object", "required": ["a"]}),
        ({"enum": "a"}, {"enum": ["a"]}),
        ({"allOf": {"type": "string"}}, {"allOf": [{"type": "string"}]}),
        ({"anyOf": [None, {"type": "string"}]}, {"anyOf": [{"type": "string"}]}),
        ("string", {"type": "string"}),
        ("What to do.", {"description": "What to do."}),
    ],
)
def test_what_is_plain_is_read_as_it_is_meant(written: Any, meant: Any) -> None:
    """A value of the wrong type, or a name that JSON Schema does not have, is told as meant; the report says so."""
    assert _parameter(written) == _parameter(meant)
    assert {outcome for outcome, _ in _notes(written)} == {"corrected"}


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("minimum", "2024-01-01"),
        ("minimum", True),
        ("exclusiveMinimum", True),
        ("maxLength", -1),
        ("minLength", 1.5),
        ("type", 5),
        ("type", [{"type": "string"}]),
        ("enum", "a, b"),
        ("enum", {"A": 1}),
        ("enum", []),
        ("required", "yes"),
        ("description", 5),
        ("description", ["a", 5]),
        ("pattern", ["a"]),
        ("deprecated", "use another"),
        ("properties", "none"),
        ("items", 5),
        ("additionalProperties", 5),
        ("anyOf", "string"),
        ("prefixItems", {}),
        ("not", "string"),
        ("dependentRequired", ["a"]),
    ],
)
def test_what_cannot_be_read_is_reported(keyword: str, value: Any) -> None:
    """A keyword whose value nobody can understand is as good as absent, except that the report names it."""
    assert _parameter({"title": "T", keyword: value}) == _parameter({"title": "T"})
    ((outcome, message),) = _notes({"title": "T", keyword: value})
    assert outcome == "not shown" and f"`{keyword}`" in message and "#/properties/p" in message


@pytest.mark.parametrize("schema", [5, 0.5, [1], ["string"]])
def test_a_schema_that_says_nothing_sensible_is_refused(schema: Any) -> None:
    """A number is no schema, and neither is a list."""
    with pytest.raises(SchemaError, match=r"#/properties/p'.*must be an object, true or false"):
        _parameter(schema)


@pytest.mark.parametrize(
    ("schema", "kind", "values", "nullable"),
    [
        ({"type": ["string", "null"], "enum": ["a", "b"]}, "string", ("a", "b"), False),
        ({"type": ["string", "null"], "enum": ["a", None]}, "string", ("a",), True),
        ({"type": ["string", "null"], "const": "a"}, "string", ("a",), False),
        ({"type": ["string", "null"], "enum": [None]}, "null", None, False),
        ({"type": ["string", "null"]}, "string", None, True),
        ({"type": "string", "nullable": True, "enum": ["a"]}, "string", ("a",), True),
    ],
)
def test_null_is_shown_where_it_validates(schema: Any, kind: str, values: Any, nullable: bool) -> None:
    """A type may allow null, and the list of values beside it not."""
    found = _parameter(schema)
    assert (found.kind, found.values, found.nullable) == (kind, values, nullable)


@given(st.sampled_from(sorted({*NAMES} - MAY_BE_NULL)), SCHEMAS)
def test_null_is_absent(keyword: str, schema: dict[str, Any]) -> None:
    """A keyword that is null is one that is not there, whatever is beside it."""
    schema.pop(keyword, None)
    plain, with_null = Normalizer(), Normalizer()
    assert repr(with_null.plain({**schema, keyword: None}, "")) == repr(plain.plain(schema, ""))
    assert [*with_null.readings()] == [*plain.readings()]


@given(SCHEMAS)
def test_a_plain_schema_stays_as_it_is(schema: dict[str, Any]) -> None:
    """To make a schema plain twice changes and reports nothing more."""
    once = Normalizer().plain(schema, "")
    again = Normalizer()
    assert repr(again.plain(once, "")) == repr(once)
    assert [reading for reading in again.readings() if reading.outcome == "corrected"] == []


@given(SCHEMAS)
def test_any_value_of_any_keyword_is_told_or_refused(schema: dict[str, Any]) -> None:
    """Whatever a server writes, at the top or in a parameter: a text and printable notes, or a clear refusal."""
    for root in (schema, {"properties": {"p": schema}}):
        try:
            found, readings = expand_and_note(root, "t")
        except SchemaError:
            continue
        assert all(parameter_text(key, part) for key, part in found.properties.items())
        assert all(printable(reading.message, 1000) == reading.message for reading in readings)


def test_every_keyword_has_a_shape() -> None:
    """References and bookkeeping are left as they are, and `alternatives` is ours; all others are read."""
    read = {word.name for word in KEYWORDS if word.role != "bookkeeping" and word.name[0] != "$"} - {"alternatives"}
    assert read == WANTED.keys()


def test_notes_are_few() -> None:
    """Equal notes share a line, and only so many different ones are listed of each kind."""
    same = {f"p{i}": {"type": "str"} for i in range(50)}
    _, readings = expand_and_note({"properties": same}, "t")
    assert [reading.message for reading in readings] == [
        '`type` "str" is read as "string" at \'#/properties/p0\' and 49 more places'
    ]
    different = {f"p{i}": {"minimum": f"from {i}"} for i in range(50)}
    _, readings = expand_and_note({"properties": different}, "t")
    assert len(readings) == MAX_READINGS + 1
    assert readings[-1].message == "40 more like these"


INPUT = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


@pytest.mark.parametrize(
    "wrapped",
    [
        {"name": "t", "parameters": INPUT},
        {"json": INPUT},
        {"inputSchema": INPUT, "type": None, "properties": None},
        {"input_schema": {**INPUT, "type": "object"}},
        {"inputSchema": {"json": INPUT}},
        {"type": "function", "function": {"name": "t", "parameters": INPUT}},
    ],
    ids=json.dumps,
)
def test_a_schema_one_level_too_deep_is_unwrapped(wrapped: dict[str, Any]) -> None:
    """It is the whole schema, with a note; a name beside it stays an unknown keyword."""
    schema, readings = expand_and_note(wrapped, "t")
    assert (schema.properties, schema.required) == (expand(INPUT, "t").properties, {"q"})
    assert {reading.outcome for reading in readings} == {"corrected"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "parameters": INPUT},
        {"properties": {"parameters": INPUT}},
        {"required": ["parameters"], "parameters": INPUT},
        {"parameters": {"q": "string"}},
        {"parameters": INPUT, "json": INPUT},
    ],
    ids=json.dumps,
)
def test_a_schema_that_is_one_itself_is_not_unwrapped(schema: dict[str, Any]) -> None:
    """A tool may have a parameter called `parameters`, and of two schemas nobody knows which one is meant."""
    found, readings = expand_and_note(schema, "t")
    assert "q" not in found.properties and not readings


def test_definitions_around_a_wrapped_schema_are_kept() -> None:
    """References from the inside lead to them."""
    inside = {"type": "object", "properties": {"q": {"$ref": "#/$defs/N"}}}
    schema = expand({"parameters": inside, "$defs": {"N": {"type": "integer"}}}, "t")
    assert schema.properties["q"].kind == "integer"


def test_a_deep_schema_is_refused_and_not_a_crash() -> None:
    """Schemas are looked into ahead of time only to a depth, whatever they nest in."""
    for keyword, wrap in (("anyOf", True), ("not", False), ("oneOf", True), ("items", False)):
        schema: Any = {"type": "string"}
        for _ in range(190):
            schema = {keyword: [schema, {}] if wrap else schema}
        try:
            assert parameter_text("p", _parameter(schema))
        except SchemaError as refused:
            assert "levels deep" in str(refused)
