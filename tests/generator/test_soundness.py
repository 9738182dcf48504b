"""The model may send whatever the environment accepts: no type is narrower than its schema."""

from __future__ import annotations

import os
from typing import Any

import jsonschema
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from transformers.utils import get_json_schema

from orl_codegen.generator.contract.contract import build
from orl_codegen.generator.output.rendering import render
from orl_codegen.generator.snapshot import Snapshot
from tests.generator import golden

KEYS = st.sampled_from(["a", "b", "file-path", "from"])
VALUES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, "x", "y", ""])


def _schemas() -> st.SearchStrategy[dict[str, Any]]:
    types = ["string", "integer", "number", "boolean", "null", "array", "object"]
    leaves = st.one_of(
        st.sampled_from(types).map(lambda name: {"type": name}),
        st.lists(st.sampled_from(types), min_size=1, max_size=3, unique=True).map(lambda names: {"type": names}),
        st.lists(VALUES, min_size=1, max_size=3, unique_by=repr).map(lambda values: {"enum": values}),
        VALUES.map(lambda value: {"const": value}),
        st.just({}),
    )
    return st.recursive(leaves, _inside, max_leaves=5)


def _inside(schemas: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    some = st.lists(schemas, min_size=1, max_size=3)
    return st.one_of(
        schemas.map(lambda items: {"type": "array", "items": items, "maxItems": 3}),
        some.map(lambda options: {"anyOf": options}),
        st.tuples(schemas, schemas).map(lambda parts: {"allOf": list(parts)}),
        schemas.map(lambda values: {"type": "object", "additionalProperties": values, "maxProperties": 2}),
        st.dictionaries(KEYS, schemas, min_size=1, max_size=2).map(
            lambda properties: {"type": "object", "properties": properties, "additionalProperties": False}
        ),
    )


def _instances(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a schema may allow; validation filters out those that it does not."""
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    options = schema.get("anyOf") or schema.get("allOf")
    if options:
        return st.one_of([_instances(option) for option in options])
    named = schema.get("type", ["string", "integer", "null"])
    return st.one_of([_of_type(name, schema) for name in (named if isinstance(named, list) else [named])])


def _of_type(name: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    if name == "array":
        return st.lists(_instances(schema.get("items", {})), max_size=3)
    if name == "object" and "properties" in schema:
        return st.fixed_dictionaries({}, optional={key: _instances(part) for key, part in schema["properties"].items()})
    if name == "object":
        return st.dictionaries(KEYS, _instances(schema.get("additionalProperties", {})), max_size=2)
    scalars = {"string": st.sampled_from(["x", ""]), "integer": st.integers(-3, 3), "boolean": st.booleans()}
    return {**scalars, "number": st.sampled_from([0.5, 2]), "null": st.none()}[name]


@st.composite
def schemas_with_a_value(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    """A schema, and a value that it allows."""
    schema = draw(_schemas())
    value = draw(_instances(schema))
    assume(jsonschema.Draft202012Validator(schema).is_valid(value))
    return schema, value


@settings(
    max_examples=int(os.environ.get("ORL_EXAMPLES", "100")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
@given(schemas_with_a_value())
def test_what_the_environment_takes_the_model_may_give(example: tuple[dict[str, Any], Any]) -> None:
    """A value that is valid under the wire schema is valid under the schema that the model sees."""
    schema, value = example
    spec = {"name": "t", "description": "", "input_schema": {"type": "object", "properties": {"p": schema}}}
    made = build(Snapshot("http://127.0.0.1:1", "v", "train", tools=(spec,)))
    function = golden.tools_of(golden.adapter_of(render(made, "adapter"), made))["t"]
    shown = get_json_schema(function)["function"]["parameters"]["properties"]["p"]
    jsonschema.validate(value, _plain(shown))


def _plain(shown: dict[str, Any]) -> dict[str, Any]:
    """A shown schema without `nullable`, which JSON Schema does not know."""
    plain = {
        key: _plain(part) if isinstance(part, dict) else [_plain(p) if isinstance(p, dict) else p for p in part]
        if key in ("anyOf", "prefixItems") else part
        for key, part in shown.items()
        if key not in ("nullable", "description")
    }  # fmt: skip
    return {"anyOf": [plain, {"type": "null"}]} if shown.get("nullable") else plain
