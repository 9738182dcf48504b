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
    assert [nested.name for nested in made.nested] == ["HireFirst", "FireFirst"]
    assert made.parameters[0] == {"first": "HireFirst", "second": "HireFirst"}


def test_no_tools_have_no_types() -> None:
    """The type generator is not asked for nothing."""
    assert annotate([], ()).nested == ()


LEG = {"type": "object", "properties": {"from": {"type": "string"}, "stop": {"$ref": "#/$defs/Stop"}}}
STOP = {"type": "object", "properties": {"city": {"type": "string", "minLength": 1}}}
NODE = {"type": "object", "properties": {"leg": {"$ref": "#/$defs/Leg"}, "next": {"$ref": "#/$defs/Node"}}}


def _written(named: dict[str, str], inline: bool) -> Any:
    """A tool whose definitions have these names, and all but the recursive one are written out where they are used."""
    definitions = {"Leg": LEG, "Stop": STOP, "Node": NODE}

    def write(value: Any) -> Any:
        if isinstance(value, dict) and "$ref" in value:
            key = value["$ref"].removeprefix("#/$defs/")
            return write(definitions[key]) if inline and key != "Node" else {"$ref": f"#/$defs/{named[key]}"}
        return {key: write(part) for key, part in value.items()} if isinstance(value, dict) else value

    used = {"out": "Leg", "back": "Leg", "node": "Node", "stop": "Stop", "again": "Node"}
    properties = {key: {"$ref": f"#/$defs/{name}"} for key, name in used.items()}
    kept = {named[key]: write(definition) for key, definition in definitions.items()}
    return {"properties": write(properties), "$defs": kept}


def test_a_definition_that_is_renamed_or_written_out_keeps_its_type() -> None:
    """Types are named by place, and what is alike shares one, so nothing depends on how the server spells it."""
    same = {name: name for name in ("Leg", "Stop", "Node")}
    renamed = {"Leg": "a", "Stop": "z/Stop~", "Node": "m"}
    first, *others = [
        annotate([(Identifier("book"), expand(_written(names, inline), "t"))], ())
        for names in (same, renamed)
        for inline in (False, True)
    ]
    assert [nested.name for nested in first.nested] == ["BookOut", "BookOutStop", "BookNode"]
    assert others == [first] * 3


def test_a_title_names_a_type_where_no_other_has_it() -> None:
    """Two types with one title are named by their places, and so is one whose title is a sentence."""

    def titled(title: str, *keys: str) -> dict[str, Any]:
        return {"title": title, "type": "object", "properties": {key: {"type": "string"} for key in keys}}

    properties = {
        "a": titled("Flight Leg", "x"),
        "b": titled("Place", "x"),
        "c": titled("Place", "y"),
        "d": titled("The place to go to next.", "x"),
        "e": titled("Flight Leg", "x"),
    }
    made = annotate([(Identifier("book"), expand({"properties": properties}, "t"))], ())
    assert [nested.name for nested in made.nested] == ["BookFlightLeg", "BookB", "BookC", "BookD"]
    assert made.parameters[0]["e"] == "BookFlightLeg"
