"""Schemas that contain themselves: a reference back is a loop, even behind `allOf`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from orl_codegen.errors import SchemaError
from orl_codegen.schema.expansion import expand
from orl_codegen.schema.flattening import Around
from orl_codegen.schema.tree import Schema

PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "manager": {"$ref": "#/$defs/Person"}}}


def _parameter(schema: dict[str, Any], **definitions: Any) -> Schema:
    return expand({"properties": {"p": schema}, "$defs": definitions}, "t").properties["p"]


def _managers(schema: Schema) -> Iterator[str]:
    while "manager" in schema.properties:
        schema = schema.properties["manager"]
        yield schema.kind


def test_a_definition_does_not_appear_inside_itself() -> None:
    """The manager of a person is the same type again, by its pointer."""
    person = _parameter({"$ref": "#/$defs/Person"}, Person=PERSON)
    manager = person.properties["manager"]
    assert (manager.kind, manager.pointer) == ("recursion", person.pointer)


def test_a_merged_definition_appears_inside_once_more() -> None:
    """An employee is a person and more, so their manager is a person with everything that a person has."""
    employee = {"allOf": [{"$ref": "#/$defs/Person"}, {"properties": {"salary": {"type": "number"}}}]}
    assert list(_managers(_parameter(employee, Person=PERSON))) == ["object", "recursion"]


def test_keywords_beside_a_reference_merge_like_all_of() -> None:
    """The same employee, as draft 2020-12 can write it."""
    employee = {"$ref": "#/$defs/Person", "properties": {"salary": {"type": "number"}}}
    assert list(_managers(_parameter(employee, Person=PERSON))) == ["object", "recursion"]


def test_a_loop_inside_all_of_is_kept_as_a_fact() -> None:
    """It cannot be merged, so the model is shown the reference."""
    schema = _parameter(
        {"$ref": "#/$defs/Node"},
        Node={"properties": {"next": {"allOf": [{"$ref": "#/$defs/Node"}, {"title": "Next", "type": "object"}]}}},
    )
    assert schema.properties["next"].facts["allOf"] == [{"$ref": "#/$defs/Node"}]


@pytest.mark.parametrize("target", ["#/properties/p", "#/$defs/A"])
def test_a_reference_that_leads_only_to_itself_is_refused(target: str) -> None:
    """There is nothing that such a schema could mean."""
    with pytest.raises(SchemaError, match="leads only to itself"):
        _parameter({"$ref": target}, A={"$ref": "#/$defs/A"})


@pytest.mark.parametrize("beside", [{"allOf": 5}, {"allOf": 5, "pattern": "b"}])
def test_all_of_beside_a_reference_that_is_no_list_is_left_out(beside: dict[str, Any]) -> None:
    """It is left out like any other value of the wrong shape, before anything is merged with it."""
    target = {"pattern": "a", "allOf": [{"pattern": "c"}, {"$ref": "#/$defs/A"}]}
    without = {key: value for key, value in beside.items() if key != "allOf"}
    assert _parameter({"$ref": "#/$defs/A", **beside}, A=target) == _parameter(
        {"$ref": "#/$defs/A", **without}, A=target
    )


def test_what_is_merged_repeatedly_runs_out() -> None:
    """Each merge of one definition inside the other leaves it one repetition less, until it is a loop."""
    around = Around()
    for left in (1, 0, 0):
        around = around.with_merged({"/$defs/A": 0})
        assert around.repeats == {"/$defs/A": left}
    assert around.loops_to("/$defs/A")
