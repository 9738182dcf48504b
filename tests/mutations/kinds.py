# ruff: noqa: E501 - a row is a line
"""The table of changes: what is done to a schema, and the one finding that it must yield.

A row says which sites it fits, what both sides get first (`before`: a limit to tighten, a union to extend), what the
new side alone gets (`after`), the rule that must name it, and where: the pointer of the site and `at`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tests.mutations import edits
from tests.mutations.edits import Edit, Schema, become, choices, drop, limits, nothing, or_else, put
from tests.mutations.sites import Part, Site

Accepts = Literal["less", "more", "other", "same"]
Fits = Callable[[Site, Schema], bool]


@dataclass(frozen=True)
class Kind:
    """A kind of change.

    Attributes:
        name: What happens.
        findings: The rule that must name it, and where, below the pointer of the site; what the edit chose stands in
            braces. There are several where something is renamed and changed.
        fits: Which sites it fits.
        after: What the new side gets.
        before: What both sides get first.
        part: Which part of the site the edits get: where its words are, or its type.
        accepts: Which values the new schema accepts, against the old; None where values do not tell.
    """

    name: str
    findings: tuple[tuple[str, str], ...]
    fits: Fits
    after: Edit
    before: Edit = nothing
    part: Part = "core"
    accepts: Accepts | None = "same"


def _row(name: str, rule: str, at: str, fits: Fits, after: Edit, **more: Any) -> Kind:
    return Kind(name, ((rule, at),), fits, after, **more)


# --- where -----------------------------------------------------------------------------------------------------------


def anywhere(site: Site, schema: Schema) -> bool:
    """Everywhere below the input as a whole."""
    return site.role != "input"


def of(*kinds: str) -> Fits:
    """Types, without a list of values."""
    return lambda site, schema: (
        site.kind in kinds and not ({"enum", "const"} & schema.keys()) and anywhere(site, schema)
    )


def plain(*kinds: str) -> Fits:
    """Types that stand alone: without null, limits or a list of values, the type and the words in one place."""

    def fits(site: Site, schema: Schema) -> bool:
        alone = site.plain and not site.nullable and site.role != "branch"
        return alone and of(*kinds)(site, schema) and not schema.keys() & {*edits.LIMITS}

    return fits


def with_(*keywords: str) -> Fits:
    """Where the schema has some keywords."""
    return lambda site, schema: anywhere(site, schema) and all(schema.get(keyword) for keyword in keywords)


def without(*keywords: str) -> Fits:
    """Where the schema does not have them."""
    return lambda site, schema: anywhere(site, schema) and not any(keyword in schema for keyword in keywords)


def holding(*names: Callable[[Schema], object]) -> Fits:
    """Objects with properties for which all of `names` hold."""
    return lambda site, schema: (
        site.kind == "object" and bool(schema.get("properties")) and all(name(schema) for name in names)
    )


def objects(site: Site, schema: Schema) -> bool:
    """Every object, the input included."""
    return site.kind == "object"


def several(schema: Schema) -> bool:
    """At least two properties."""
    return len(schema["properties"]) > 1


def union_of_at_least(count: int) -> Fits:
    """Unions with so many branches besides null, all told apart by their types."""

    def fits(site: Site, schema: Schema) -> bool:
        if site.kind != "union" or "discriminator" in schema or not {"anyOf", "oneOf"} & schema.keys():
            return False
        kinds = [part.get("type") for part in edits.not_null(schema)]
        return len(kinds) >= count and len({*map(str, kinds)}) == len(kinds) and not {"integer", "number"} <= {*kinds}

    return fits


def tag(site: Site) -> bool:
    """Whether it may be what tells the branches of a union apart."""
    return any("anyOf/" in path for path in site.paths)


NUMBERS, TEXTS, LISTS, MAPS = of("integer", "number"), of("string"), of("array"), of("object")


# --- limits ----------------------------------------------------------------------------------------------------------

_BOUNDS: tuple[tuple[str, Fits, int, int], ...] = (
    ("minimum", NUMBERS, 3, 5),
    ("maximum", NUMBERS, 90, 50),
    ("exclusiveMinimum", of("number"), 3, 5),
    ("exclusiveMaximum", of("number"), 90, 50),
    ("minLength", TEXTS, 1, 4),
    ("maxLength", TEXTS, 60, 20),
    ("minItems", LISTS, 1, 2),
    ("maxItems", LISTS, 9, 3),
    ("minProperties", MAPS, 1, 2),
    ("maxProperties", MAPS, 40, 30),
    ("multipleOf", NUMBERS, 2, 6),
)
"""A keyword, the types that it limits, a wide value and a narrow one."""


def _limits(keyword: str, fits: Fits, wide: Any, narrow: Any) -> tuple[Kind, ...]:
    place = f"/{keyword}"
    at_wide, at_narrow = limits(**{keyword: wide}), limits(**{keyword: narrow})
    return (
        _row(f"{keyword} added", "constraint-added", place, fits, at_wide, before=limits(), accepts="less"),
        _row(f"{keyword} removed", "constraint-removed", place, fits, limits(), before=at_wide, accepts="more"),
        _row(f"{keyword} narrower", "constraint-tightened", place, fits, at_narrow, before=at_wide, accepts="less"),
        _row(f"{keyword} wider", "constraint-loosened", place, fits, at_wide, before=at_narrow, accepts="more"),
    )


def _directionless(keyword: str, rule: str, fits: Fits, one: Any, two: Any, **more: Any) -> tuple[Kind, ...]:
    """A keyword for which it is not known which of two values is narrower."""
    place = f"/{keyword}"
    at_one, at_two = limits(**{keyword: one}), limits(**{keyword: two})
    return (
        _row(f"{keyword} added", f"{rule}-added", place, fits, at_one, before=limits(), **({"accepts": "less"} | more)),
        _row(
            f"{keyword} removed",
            f"{rule}-removed",
            place,
            fits,
            limits(),
            before=at_one,
            **({"accepts": "more"} | more),
        ),
        _row(
            f"{keyword} changed", f"{rule}-changed", place, fits, at_two, before=at_one, **({"accepts": "other"} | more)
        ),
    )


# --- the table -------------------------------------------------------------------------------------------------------

# fmt: off
WORDS: tuple[Kind, ...] = (
    _row("description added",   "param-description-added",   "/description", without("description"), edits.describe, part="words"),
    _row("description changed", "param-description-changed", "/description", with_("description"), edits.reword, part="words"),
    _row("description removed", "param-description-removed", "/description", with_("description"), drop("description"), part="words"),
    _row("title added",         "title-changed", "/title", without("title"), edits.entitle, part="words"),
    _row("title changed",       "title-changed", "/title", anywhere, edits.entitle, before=put(title="Quartz Vessel"), part="words"),
    _row("title removed",       "title-changed", "/title", anywhere, drop("title"), before=put(title="Quartz Vessel"), part="words"),
    _row("deprecated",          "deprecated-added", "/deprecated", without("deprecated"), put(deprecated=True), part="words"),
    _row("no longer deprecated", "deprecated-removed", "/deprecated", anywhere, drop("deprecated"), before=put(deprecated=True), part="words"),
    _row("examples added",      "examples-changed", "/examples", without("examples", "example"), put(examples=["quartz"]), part="words"),
    _row("examples changed",    "examples-changed", "/examples", without("example"), put(examples=["quartz"]), before=put(examples=["flint"]), part="words"),
    _row("examples removed",    "examples-changed", "/examples", without("example"), drop("examples"), before=put(examples=["flint"]), part="words"),
    _row("read only",           "access-changed", "/readOnly", without("readOnly"), put(readOnly=True), part="words"),
    _row("write only no more",  "access-changed", "/writeOnly", anywhere, drop("writeOnly"), before=put(writeOnly=True), part="words"),
    _row("unknown keyword",     "annotation-changed", "/x-order", without("x-order"), put(**{"x-order": 3}), part="words"),
    _row("default added",       "default-added", "/default", lambda s, w: anywhere(s, w) and s.plain and "default" not in w, edits.default, part="words"),
    _row("default changed",     "default-changed", "/default", lambda s, w: anywhere(s, w) and "default" in w, edits.other_default, part="words"),
    _row("default removed",     "default-removed", "/default", lambda s, w: anywhere(s, w) and "default" in w, drop("default"), part="words"),
)

PARAMETERS: tuple[Kind, ...] = (
    _row("required parameter added", "param-added-required",  "/properties/{name}", objects, edits.add_property(required=True), accepts=None),
    _row("optional parameter added", "param-added-optional",  "/properties/{name}", objects, edits.add_property(required=False), accepts=None),
    _row("parameter removed",        "param-removed",         "/properties/{name}", holding(), edits.remove_property, accepts=None),
    _row("parameter renamed",        "param-renamed",         "/properties/{name}", holding(), edits.rename_property, accepts=None),
    _row("parameter became required", "param-became-required", "/properties/{name}", holding(edits.optional), edits.require, accepts="less"),
    _row("parameter became optional", "param-became-optional", "/properties/{name}", holding(edits.required), edits.relax, accepts="more"),
    _row("parameters reordered",     "param-order-changed",   "/properties", holding(several), edits.move_property),
    Kind("parameter renamed and described", (("param-renamed", "/properties/{name}"), ("param-description-changed", "/properties/{name}/description")),
         holding(lambda s: all("description" in part for part in s["properties"].values())), edits.rename_and(edits.reword), accepts=None),
)

TYPES: tuple[Kind, ...] = (
    _row("integer becomes number",        "type-generalized", "", plain("integer"), put(type="number"), accepts="more"),
    _row("number becomes integer",        "type-specialized", "", plain("number"), put(type="integer"), accepts="less"),
    _row("text becomes text or integer",  "type-generalized", "", plain("string"), put(type=["string", "integer"]), accepts="more"),
    _row("text or integer becomes text",  "type-specialized", "", plain("string"), put(type="string"), before=put(type=["string", "integer"]), accepts="less"),
    _row("gains an object beside it",     "type-generalized", "", plain("string", "integer", "boolean"), or_else({"type": "object"}), accepts="more"),
    _row("loses its type",                "type-generalized", "", plain("string", "integer", "number", "boolean"), drop("type"), accepts="more"),
    _row("gets a type",                   "type-specialized", "", plain("string", "integer", "number", "boolean"), put(type="boolean"), before=drop("type", "default"), accepts="less"),
    _row("text becomes integer",          "type-changed", "", plain("string"), put(type="integer"), accepts="other"),
    _row("number becomes text",           "type-changed", "", plain("integer", "number"), put(type="string"), accepts="other"),
    _row("boolean becomes text",          "type-changed", "", plain("boolean"), put(type="string"), accepts="other"),
    _row("text becomes list of texts",    "type-changed", "", plain("string"), become(type="array", items={"type": "string"}), before=limits(), accepts="other"),
    _row("list becomes text",             "type-changed", "", plain("array"), become(type="string"), before=limits(), accepts="other"),
    _row("object becomes text",           "type-changed", "", plain("object"), become(type="string"), before=limits(), accepts="other"),
    _row("number becomes integer or text", "type-changed", "", plain("number"), put(type=["integer", "string"]), accepts="other"),
    _row("items get a type",              "type-specialized", "/items", of("array"), put(items={"type": "string"}), before=drop("items", "default", "prefixItems"), accepts="less"),
    _row("items lose their type",         "type-generalized", "/items", of("array"), drop("items"), before=lambda s, r: (drop("default", "prefixItems")(s, r), put(items={"type": "string"})(s, r))[0], accepts="more"),
    _row("null allowed",                  "nullable-added", "", lambda s, w: plain("string", "integer", "number", "boolean", "array", "object")(s, w) and isinstance(w.get("type"), str), edits.allow_null, accepts="more"),
    _row("null allowed beside an enum",   "nullable-added", "", lambda s, w: s.kind == "string" and "enum" in w and s.plain and not s.nullable and s.role not in ("input", "branch"), edits.spell_nullable("anyOf"), accepts="more"),
    _row("null refused",                  "nullable-removed", "", plain("string", "integer", "number", "boolean"), lambda s, r: _unwrap(s), before=edits.spell_nullable("anyOf"), accepts="less"),
    _row("null no longer listed",         "nullable-removed", "", plain("string"), lambda s, r: s["enum"].pop() and None, before=limits(type=["string", "null"], enum=["flint", "quartz", None]), accepts="less"),
    _row("null refused, from a type list", "nullable-removed", "", plain("string", "integer", "number", "boolean"), lambda s, r: s.update(type=s["type"][0]), before=edits.spell_nullable("type"), accepts="less"),
)

_CLOSED_PAIR = [
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False},
    {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"], "additionalProperties": False},
]

UNIONS: tuple[Kind, ...] = (
    _row("object becomes two closed ones", "type-changed", "", plain("object"), become(anyOf=_CLOSED_PAIR),
         before=become(type="object", properties={"a": {"type": "string"}, "c": {"type": "string"}}, additionalProperties=False), accepts="other"),
    _row("text becomes listed or patterned", "type-specialized", "", plain("string"), become(anyOf=[{"type": "string", "enum": ["flint"]}, {"type": "string", "pattern": "^q"}]),
         before=limits(), accepts="less"),
    _row("branch added",        "union-branch-added",   "/anyOf/{place}", union_of_at_least(2), edits.add_branch, accepts="more"),
    _row("branch added to two", "union-branch-added",   "/anyOf/2", plain("string", "integer"), or_else({"type": "boolean"}, {"type": "array"}), before=or_else({"type": "boolean"}), accepts="more"),
    _row("branch removed",      "union-branch-removed", "/anyOf/{place}", union_of_at_least(3), edits.remove_branch, accepts="less"),
    _row("last of three branches removed", "union-branch-removed", "/anyOf/2", plain("string", "integer"), lambda s, r: s["anyOf"].pop() and None, before=or_else({"type": "boolean"}, {"type": "array"}), accepts="less"),
    _row("change in a branch",  "param-removed", "/anyOf/1/properties/b", plain("string", "integer"), lambda s, r: s["anyOf"][1]["properties"].pop("b") and None,
         before=or_else({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "integer"}}}), accepts=None),
)

VALUES: tuple[Kind, ...] = (
    _row("enum added",        "enum-added", "/enum", plain("string"), choices(3), before=limits(), accepts="less"),
    _row("enum removed",      "enum-removed", "/enum", lambda s, w: len(w.get("enum", ())) > 1 and "type" in w, drop("enum"), accepts="more"),
    _row("value added",       "enum-value-added", "/enum", lambda s, w: len(w.get("enum", ())) > 1, edits.add_value, accepts="more"),
    _row("value removed",     "enum-value-removed", "/enum", lambda s, w: len(w.get("enum", ())) > 1, edits.remove_value, accepts="less"),
    _row("value replaced",    "enum-values-changed", "/enum", lambda s, w: len(w.get("enum", ())) > 1, edits.replace_value, accepts="other"),
    _row("values reordered",  "enum-order-changed", "/enum", lambda s, w: len(w.get("enum", ())) > 1, edits.turn_values),
    _row("const added",       "const-added", "/const", plain("string", "integer"), lambda s, r: s.update(const=edits.a_value(s, r)), before=limits(), accepts="less"),
    _row("const removed",     "const-removed", "/const", plain("string"), drop("const"), before=limits(const="flint"), accepts="more"),
    _row("const changed",     "const-changed", "/const", lambda s, w: plain("string")(s, w) and not tag(s), put(const="quartz"), before=limits(const="flint"), accepts="other"),
    _row("one value becomes two", "enum-value-added", "/enum", lambda s, w: plain("string")(s, w) and not tag(s), lambda s, r: (s.pop("const"), s.update(enum=["flint", "quartz"]))[1], before=limits(const="flint"), accepts="more"),
)

OBJECTS: tuple[Kind, ...] = (
    _row("object closed", "additional-properties-closed", "/additionalProperties", of("object"), put(additionalProperties=False), before=drop("additionalProperties"), accepts="less"),
    _row("object opened", "additional-properties-opened", "/additionalProperties", of("object"), drop("additionalProperties"), before=put(additionalProperties=False), accepts="more"),
    _row("input closed",  "tool-input-closed", "/additionalProperties", lambda s, w: s.role == "input" and objects(s, w), put(additionalProperties=False), before=drop("additionalProperties"), accepts="less"),
    _row("input opened",  "tool-input-opened", "/additionalProperties", lambda s, w: s.role == "input" and objects(s, w), drop("additionalProperties"), before=put(additionalProperties=False), accepts="more"),
    _row("other values get a type",   "type-specialized", "/additionalProperties", of("object"), put(additionalProperties={"type": "string"}), before=drop("additionalProperties"), accepts="less"),
    _row("other values lose their type", "type-generalized", "/additionalProperties", of("object"), drop("additionalProperties"), before=put(additionalProperties={"type": "string"}), accepts="more"),
)

TUPLES: tuple[Kind, ...] = (
    _row("position added",   "tuple-item-added",   "/prefixItems/2", plain("array"), put(prefixItems=[{"type": "string"}, {"type": "integer"}, {"type": "boolean"}]),
         before=become(type="array", prefixItems=[{"type": "string"}, {"type": "integer"}]), accepts="less"),
    _row("position removed", "tuple-item-removed", "/prefixItems/1", plain("array"), put(prefixItems=[{"type": "string"}]),
         before=become(type="array", prefixItems=[{"type": "string"}, {"type": "integer"}], items=False), accepts="less"),
    _row("position changed", "type-changed", "/prefixItems/1", plain("array"), put(prefixItems=[{"type": "string"}, {"type": "boolean"}]),
         before=become(type="array", prefixItems=[{"type": "string"}, {"type": "integer"}]), accepts="other"),
)
# fmt: on

LIMITS: tuple[Kind, ...] = (
    *(kind for bound in _BOUNDS for kind in _limits(*bound)),
    _row(
        "multipleOf neither",
        "constraint-changed",
        "/multipleOf",
        NUMBERS,
        limits(multipleOf=3),
        before=limits(multipleOf=2),
        accepts="other",
    ),
    _row(
        "items must be unique",
        "constraint-added",
        "/uniqueItems",
        LISTS,
        limits(uniqueItems=True),
        before=limits(),
        accepts="less",
    ),
    _row(
        "items need not be unique",
        "constraint-removed",
        "/uniqueItems",
        LISTS,
        limits(),
        before=limits(uniqueItems=True),
        accepts="more",
    ),
    *_directionless("pattern", "pattern", TEXTS, "^[a-m]", "^[n-z]"),
    *_directionless("format", "format", TEXTS, "date", "date-time", accepts=None),
    *_directionless("not", "constraint", TEXTS, {"const": "quartz"}, {"const": "flint"}),
    *_directionless("propertyNames", "constraint", MAPS, {"maxLength": 3}, {"pattern": "^b"}, accepts=None),
    *_directionless("contentEncoding", "constraint", TEXTS, "base64", "base32", accepts=None),
    *_directionless("contains", "constraint", LISTS, {"const": 1}, {"const": 2}, accepts=None),
)


def _unwrap(schema: Schema) -> None:
    inner = schema.pop("anyOf")[0]
    schema.update(inner)


CHANGES: tuple[Kind, ...] = (*WORDS, *PARAMETERS, *TYPES, *UNIONS, *VALUES, *OBJECTS, *TUPLES, *LIMITS)

SEVERITIES = {
    rule: severities
    for severities, rules in {
        ("error", "error"): (
            *("tool-removed", "tool-renamed", "param-added-required", "param-removed", "param-renamed"),
            *("param-became-required", "type-specialized", "type-changed", "nullable-removed", "union-branch-removed"),
            *("tuple-item-added", "tuple-item-removed", "additional-properties-closed", "enum-added"),
            *(
                "enum-value-removed",
                "enum-values-changed",
                "const-added",
                "const-changed",
                "constraint-added",
                "constraint-tightened",
            ),
            *("constraint-changed", "pattern-added", "pattern-changed"),
        ),
        ("info", "error"): ("tool-added",),
        ("warning", "error"): ("default-changed",),
        ("warning", "warning"): ("default-removed", "format-added", "format-changed", "deprecated-added"),
        ("info", "warning"): (
            *("tool-description-added", "tool-description-changed", "tool-description-removed"),
            *("param-description-added", "param-description-changed", "param-description-removed"),
            *("param-added-optional", "param-became-optional", "param-order-changed", "type-generalized"),
            *("nullable-added", "union-branch-added", "additional-properties-opened", "enum-removed"),
            *("enum-value-added", "const-removed", "default-added", "constraint-removed", "constraint-loosened"),
            *("pattern-removed", "format-removed", "examples-changed", "access-changed", "title-changed"),
        ),
        ("info", "info"): (
            *("tool-input-closed", "tool-input-opened", "tool-metadata-changed", "annotation-changed"),
            *("deprecated-removed",),
        ),
        ("off", "info"): ("enum-order-changed", "union-order-changed"),
    }.items()
    for rule in rules
}
"""The severity of each rule, for code and for training, as the rules were agreed on: not read from the catalogue."""
