"""Nested types: what their fields keep of the schema."""

from __future__ import annotations

from typing import Any

from orl_codegen.generator.contract.naming import Identifier
from orl_codegen.generator.contract.python_types import Field, NestedType
from orl_codegen.generator.contract.type_generator import annotate
from orl_codegen.schema.expansion import expand


def _nested(properties: dict[str, Any], required: list[str]) -> tuple[NestedType, ...]:
    options = {"type": "object", "properties": properties, "required": required}
    schema = expand({"properties": {"options": options}}, "t")
    return annotate([(Identifier("t"), schema)], ()).nested


def test_a_field_keeps_its_description() -> None:
    """As one line, whatever breaks the server put in; a field without a description has an empty one."""
    properties = {
        "cuisine": {"type": "string", "description": "  Where the dish\n\tcomes from.\u2028 "},
        "limit": {"type": "integer"},
    }
    (nested,) = _nested(properties, ["cuisine", "ghost"])
    assert nested.fields == (
        Field("cuisine", "str", True, "Where the dish comes from."),
        Field("limit", "int", False),
        Field("ghost", "Any", True),
    )


def test_two_tools_with_the_same_definition_have_types_of_their_own() -> None:
    """A definition is shared within one tool; another tool may define something else by the same name."""
    person = {"type": "object", "properties": {"name": {"type": "string"}}}
    properties = {key: {"$ref": "#/$defs/Person"} for key in ("first", "second")}
    schema = expand({"properties": properties, "$defs": {"Person": person}}, "t")
    made = annotate([(Identifier("hire"), schema), (Identifier("fire"), schema)], ())
    assert [nested.name for nested in made.nested] == ["HirePerson", "FirePerson"]
    assert made.parameters[0] == {"first": "HirePerson", "second": "HirePerson"}


def test_no_tools_have_no_types() -> None:
    """The type generator is not asked for nothing."""
    assert annotate([], ()).nested == ()
