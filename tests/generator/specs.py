"""Hypothesis strategies for what a hostile or sloppy server may send: whole lists of tool specs."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NASTY = [
    *["Args:", "Returns:", "Raises:", "\nArgs:\n    q: x\n", "\n\nReturns:\n    x", "(choices: [1])", "(choices: a)"],
    *['"""', "'''", "\\", '"', "\t", "\r\n", "\x00", "\x0b", "\u2028", "\u202e", "\u200b", "\xa0"],
    *["{{ 1 }}", "{% x %}", "{# #}", "# type: ignore", "\nimport os\n", "<|im_end|>", "%s", "\\N{DIGIT ONE}", "  "],
    *["q: x", "\nq: x\n", "a (b): c", ":param q: x"],
]

TEXT = st.lists(
    st.text(max_size=12) | st.sampled_from(NASTY) | st.sampled_from(["word", "two words. "]), max_size=8
).map("".join)

NAMES = st.text(max_size=6) | st.sampled_from(
    [
        *["q", "z", "self", "from", "class", "__x", "_x", "file-path", "x.y", "2nd", "größe", "", "Returns", "Args"],
        *["title", "type", "properties", "items", "default", "description", "UNSET", "str", "tool", "Any", "ﬁ", "fi"],
        *["a\nb", '"', "N0", "f0", "v0"],
    ]
)

TOOL_NAMES = NAMES | st.sampled_from(
    ["reset", "reward", "_call", "print", "Run", "run", "read-file", "read_file", "get_reward"]
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)

ANNOTATIONS: dict[str, st.SearchStrategy[Any]] = {
    "title": TEXT,
    "description": TEXT,
    "default": VALUES,
    "examples": st.lists(VALUES, max_size=2),
    "minimum": st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    "exclusiveMaximum": st.integers() | st.booleans(),
    "minLength": st.integers(0, 9),
    "maxItems": st.integers(0, 9),
    "uniqueItems": st.booleans(),
    "pattern": TEXT,
    "format": TEXT,
    "deprecated": st.booleans(),
    "x-vendor": VALUES,
    "nullable": st.booleans(),
    "not": st.just({"type": "string"}),
}


def _leaf() -> st.SearchStrategy[Any]:
    types = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object", "any"])
    return st.one_of(
        st.booleans(),
        st.just({}),
        types.map(lambda name: {"type": name}),
        st.lists(types, min_size=1, max_size=3, unique=True).map(lambda names: {"type": names}),
        st.lists(VALUES, min_size=1, max_size=3).map(lambda values: {"enum": values}),
        VALUES.map(lambda value: {"const": value}),
        st.sampled_from(["#/$defs/A", "#/$defs/B", "#", "#/$defs/A/properties/q"]).map(lambda target: {"$ref": target}),
    )


def _inner(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    properties = st.dictionaries(NAMES, schemas, max_size=3)
    some = st.lists(schemas, min_size=1, max_size=3)
    return st.one_of(
        schemas.map(lambda items: {"type": "array", "items": items}),
        some.map(lambda items: {"prefixItems": items}),
        some.map(lambda items: {"type": "array", "items": items}),
        some.map(lambda options: {"anyOf": options}),
        some.map(lambda options: {"oneOf": options}),
        some.map(lambda parts: {"allOf": parts}),
        schemas.map(lambda values: {"type": "object", "additionalProperties": values}),
        st.builds(_object, properties, st.lists(NAMES, max_size=2)),
        st.builds(
            lambda schema, more: {**schema, **more} if isinstance(schema, dict) else schema, schemas, _annotations()
        ),
    )


def _annotations() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=ANNOTATIONS).map(lambda found: dict(list(found.items())[:4]))


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


SCHEMAS = st.recursive(_leaf(), _inner, max_leaves=6)


@st.composite
def input_schemas(draw: st.DrawFn) -> Any:
    """An `input_schema`: an object whose references, where there are any, stay inside it."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([None, {}, {"type": "object"}, True]))
    found = draw(st.dictionaries(NAMES, SCHEMAS, max_size=5))
    required = draw(st.lists(st.sampled_from([*found, "ghost"]), max_size=3))
    definitions = {
        "A": _object({"q": {"type": "string"}, "again": {"$ref": "#/$defs/A"}}, ["q"]),
        "B": draw(SCHEMAS.filter(lambda schema: schema != {"$ref": "#/$defs/B"})),
    }
    return {**_object(found, required), "$defs": definitions, **draw(_annotations())}


def tool_specs() -> st.SearchStrategy[list[dict[str, Any]]]:
    """The tools of one environment, each name once."""
    spec = st.fixed_dictionaries({"name": TOOL_NAMES, "description": TEXT | st.none(), "input_schema": input_schemas()})
    return st.lists(spec, min_size=1, max_size=3, unique_by=lambda tool: str(tool["name"]))
