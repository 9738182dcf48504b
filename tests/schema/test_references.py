"""References inside a document: every way to name a definition leads to it, and none leads out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orl_codegen.errors import SchemaError
from orl_codegen.schema.expansion import expand
from orl_codegen.schema.tree import Schema

URI = "https://example.org/schemas/"

NAMES = st.text("aB1", min_size=1, max_size=4)

DEFINITIONS = st.sampled_from(
    [{"type": "integer", "minimum": 1}, {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}]
)

IDENTIFIERS = (
    st.none()
    | st.integers()
    | st.text(max_size=6)
    | st.sampled_from(
        [
            "#",
            "#a",
            "#/",
            "#/$defs/A",
            "http://[",
            "http://x/a",
            "a",
            "",
            "urn:a:b",
            "//[",
            "#/properties/p",
            "%",
            "#%ff",
        ]
    )
)


def _parameter(reference: dict[str, Any], **document: Any) -> Schema:
    return expand({"properties": {"p": reference}, **document}, "t").properties["p"]


@given(NAMES, DEFINITIONS)
def test_every_spelling_of_a_reference_means_the_same(name: str, definition: dict[str, Any]) -> None:
    """By pointer, anchor, identifier or dynamic anchor, a definition is the same."""
    wanted = expand({"properties": {"p": definition}}, "t").properties["p"]
    spaced, slashed = f"{name}%20b", f"{name}/User~"
    spellings: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"$ref": f"#/$defs/{name}"}, {"$defs": {name: definition}}),
        ({"$ref": f"#/components/schemas/{name}"}, {"components": {"schemas": {name: definition}}}),
        ({"$ref": f"#{name}"}, {"$defs": {"D": {"$anchor": name, **definition}}}),
        ({"$ref": f"#{name}"}, {"definitions": {"D": {"$id": f"#{name}", **definition}}}),
        ({"$ref": f"#{name}"}, {"definitions": {"D": {"id": f"#{name}", **definition}}}),
        ({"$ref": f"{URI}{name}"}, {"$defs": {"D": {"$id": f"{URI}{name}", **definition}}}),
        ({"$ref": name}, {"$id": URI, "$defs": {"D": {"$id": f"{URI}{name}", **definition}}}),
        ({"$ref": f"{URI}#/$defs/{name}"}, {"$id": URI, "$defs": {name: definition}}),
        ({"$dynamicRef": f"#{name}"}, {"$defs": {"D": {"$dynamicAnchor": name, **definition}}}),
        ({"$ref": f"#/$defs/{spaced}"}, {"$defs": {spaced: definition}}),
        ({"$ref": f"#/$defs/{name}%2520b"}, {"$defs": {spaced: definition}}),
        ({"$ref": f"#/$defs/{slashed}"}, {"$defs": {slashed: definition}}),
        ({"$ref": f"#/$defs/{name}~1User~0"}, {"$defs": {slashed: definition}}),
    ]
    for reference, document in spellings:
        assert _parameter(reference, **document) == wanted


PARAMETER = ["$id", "id", "$anchor", "$ref", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"]


@given(*[st.dictionaries(st.sampled_from(PARAMETER), IDENTIFIERS | st.just(True)) for _ in range(3)])
def test_any_value_of_a_reference_or_identifier_is_followed_or_refused(
    parameter: dict[str, Any], definition: dict[str, Any], document: dict[str, Any]
) -> None:
    """Whatever stands there, the outcome is a schema or a `SchemaError`."""
    try:
        _parameter(parameter, **{"$defs": {"A": definition}, **document})
    except SchemaError as error:
        assert "input_schema" in str(error)


def test_a_local_pointer_in_a_part_with_an_identifier_leads_into_the_part_first() -> None:
    """As drafts since 2019-09 have it; where the part has no such place, the document is meant."""
    part = {"$id": "part", "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/B"}}}
    part["$defs"] = {"A": {"type": "integer"}}
    found = _parameter(part, **{"$defs": {"A": {"type": "string"}, "B": {"type": "boolean"}}})
    assert {key: schema.kind for key, schema in found.properties.items()} == {"a": "integer", "b": "boolean"}


def test_a_dynamic_reference_leads_to_the_outermost_anchor() -> None:
    """A list that is extended by the document holds what the document says."""
    items = {"$id": "list", "items": {"$dynamicRef": "#T"}, "$defs": {"any": {"$dynamicAnchor": "T"}}}
    own = {"$dynamicAnchor": "T", "type": "integer"}
    found = _parameter({"$ref": "list"}, **{"$defs": {"list": items, "own": own}})
    assert found.items is not None and found.items.kind == "integer"


@pytest.mark.parametrize("reference", ["other.json", "http://json-schema.org/draft-07/schema#", "http://[", 5])
def test_what_is_not_in_the_document_is_not_looked_for(reference: object) -> None:
    """A reference that leads out is refused, whatever identifiers the document has."""
    with pytest.raises(SchemaError, match="leaves the document"):
        _parameter({"$ref": reference}, **{"$id": URI})


def test_thousands_of_identifiers_are_read_once() -> None:
    """A document in which every definition has an identifier and refers to the next one is worked out."""
    count = 3_000
    definitions: dict[str, Any] = {f"{i}": {"$id": f"{URI}{i}", "type": "integer"} for i in range(count)}
    properties = {f"p{i}": {"$ref": f"{URI}{i}"} for i in range(count)}
    found = expand({"properties": properties, "$defs": definitions}, "t")
    assert {schema.kind for schema in found.properties.values()} == {"integer"}


def test_a_place_for_definitions_is_not_a_fact() -> None:
    """A keyword that only holds targets of references says nothing; one that holds more is kept."""
    components = {"schemas": {"N": {"type": "integer"}, "Unused": {"type": "string"}}}
    reference = {"$ref": "#/components/schemas/N"}
    assert "components" not in expand({"properties": {"p": reference}, "components": components}, "t").facts
    more = {**components, "hint": "Use it."}
    assert "components" in expand({"properties": {"p": reference}, "components": more}, "t").facts


def test_a_keyword_that_nests_without_end_is_no_place_for_definitions() -> None:
    """It is kept as a fact, and looking into it ends."""
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"x": deep}
    assert "x-deep" in expand({"properties": {"p": {"type": "string"}}, "x-deep": {"x": deep}}, "t").facts
