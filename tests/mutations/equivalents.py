# ruff: noqa: E501 - a row is a line
"""The table of equivalents: other spellings of the same tool, of which nothing may be reported above documented info."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.mutations import edits
from tests.mutations.edits import Edit, Schema, branch, choices, drop, limits, nothing, put
from tests.mutations.kinds import LISTS, MAPS, NUMBERS, TEXTS, anywhere, of, plain, with_, without
from tests.mutations.sites import Part, Site
from tests.mutations.tools import Tool


@dataclass(frozen=True)
class Equivalent:
    """Another spelling.

    Attributes:
        name: What is spelled differently.
        fits: Which sites it fits; or which tools, if it is about the tool as a whole.
        after: What the new side gets.
        before: What both sides get first.
        part: Which part of the site the edits get.
        allows: The rules that may name it, all of them documented as info.
        whole: Whether it is about the tool as a whole.
    """

    name: str
    fits: Callable[..., object]
    after: Callable[[Any, Random], object]
    before: Edit = nothing
    part: Part = "core"
    allows: tuple[str, ...] = ()
    whole: bool = False


def _schemas(schema: Any) -> list[Schema]:
    """A schema and those inside it."""
    if not isinstance(schema, dict):
        return []
    inner = [schema.get("items"), schema.get("additionalProperties")]
    for name in ("properties", "$defs", "definitions"):
        inner += list(schema.get(name, {}).values())
    for name in ("anyOf", "oneOf", "allOf", "prefixItems"):
        inner += list(schema.get(name, ()))
    return [schema, *(found for part in inner for found in _schemas(part))]


def _shuffle(schema: Schema, rng: Random, keys: list[str]) -> None:
    rng.shuffle(keys)
    for key in keys:
        schema[key] = schema.pop(key)


def shuffle_keys(tool: Tool, rng: Random) -> None:
    """Shuffle the keys of every schema, but not the parameters, whose order the model sees."""
    for schema in _schemas(tool["input_schema"]):
        _shuffle(schema, rng, list(schema))
    _shuffle(tool, rng, list(tool))


def shuffle_required(tool: Tool, rng: Random) -> None:
    """Shuffle the names in every `required`."""
    for schema in _schemas(tool["input_schema"]):
        if isinstance(schema.get("required"), list):
            schema["required"] = rng.sample(schema["required"], len(schema["required"]))


def floats(tool: Tool, rng: Random) -> None:
    """Write every number in limits and defaults as a float."""
    for schema in _schemas(tool["input_schema"]):
        for key, value in schema.items():
            if type(value) is int and (key in edits.LIMITS or key == "default"):
                schema[key] = float(value)


def has_numbers(tool: Tool) -> bool:
    """Whether `floats` changes anything."""
    found = [schema.get(key) for schema in _schemas(tool["input_schema"]) for key in (*edits.LIMITS, "default")]
    return any(type(value) is int for value in found)


def define(tool: Tool, rng: Random) -> None:
    """Move one parameter into a definition."""
    whole = tool["input_schema"]
    name = rng.choice(sorted(whole["properties"]))
    whole.setdefault("$defs", {})["Quarry"] = whole["properties"][name]
    whole["properties"][name] = {"$ref": "#/$defs/Quarry"}


def define_nested(tool: Tool, rng: Random) -> None:
    """Move a schema with fields into a definition."""
    whole = tool["input_schema"]
    outer = rng.choice([s for s in _schemas(whole)[1:] if _nested(s)])
    keyword = "properties" if "properties" in outer else "items"
    name = rng.choice(sorted(outer["properties"])) if keyword == "properties" else None
    part = outer["properties"][name] if name is not None else outer["items"]
    whole.setdefault("$defs", {})["Quarry"] = part
    if name is not None:
        outer["properties"][name] = {"$ref": "#/$defs/Quarry"}
    else:
        outer["items"] = {"$ref": "#/$defs/Quarry"}


def _nested(schema: Schema) -> bool:
    return bool(schema.get("properties")) or isinstance(schema.get("items"), dict)


def has_nested(tool: Tool) -> bool:
    """Whether `define_nested` finds one."""
    return any(map(_nested, _schemas(tool["input_schema"])[1:]))


def rename_definitions(tool: Tool, rng: Random) -> None:
    """Give every definition another key."""
    whole = tool["input_schema"]
    whole["$defs"] = {f"{name}Renamed": part for name, part in whole["$defs"].items()}
    for schema in _schemas(whole):
        if "$ref" in schema:
            schema["$ref"] += "Renamed"


def inline(tool: Tool, rng: Random) -> None:
    """Write out every definition where it is used."""
    whole = tool["input_schema"]
    definitions = whole.pop("$defs")
    for schema in _schemas(whole):
        if "$ref" in schema:
            schema.update(definitions[schema.pop("$ref").rpartition("/")[2]])


def has_definitions(tool: Tool) -> bool:
    """Whether there are definitions, none of which uses another, and references lead to nothing else."""
    whole = tool["input_schema"]
    named = {f"#/$defs/{name}" for name in whole.get("$defs", {})}
    inside = [schema for part in whole.get("$defs", {}).values() for schema in _schemas(part)]
    used = {schema["$ref"] for schema in _schemas(whole) if "$ref" in schema}
    return bool(named) and used <= named and not any("$ref" in schema for schema in inside)


def _spelled(schema: Schema, rng: Random) -> None:
    """Spell nullable in another way: before, it is a type list."""
    schema["type"] = schema["type"][0]
    edits.spell_nullable(rng.choice(["anyOf", "nullable"]))(schema, rng)


def _double_blank(schema: Schema, rng: Random) -> None:
    schema["description"] = schema["description"].replace(" ", "  ", 1)


def _full_stop(schema: Schema, rng: Random) -> None:
    text = schema["description"]
    schema["description"] = text[:-1] if text.endswith(".") else f"{text}."


def _ends_plainly(site: Site, schema: Schema) -> bool:
    text = schema.get("description", "")
    plain_end = text[-1:].isalnum() or (text.endswith(".") and text[-2:-1].isalnum())
    return anywhere(site, schema) and isinstance(text, str) and plain_end


def _spaced(site: Site, schema: Schema) -> bool:
    return anywhere(site, schema) and " " in str(schema.get("description", "")).strip()


def _wrap(schema: Schema, rng: Random) -> None:
    inner = dict(schema)
    schema.clear()
    schema["allOf"] = [inner]


def _as_any_of(schema: Schema, rng: Random) -> None:
    kinds = schema.pop("type")
    schema["anyOf"] = [{"type": kind} for kind in kinds]


def _as_one_of(schema: Schema, rng: Random) -> None:
    schema["oneOf"] = schema.pop("anyOf")


def _whole(edit: Edit) -> Callable[[Tool, Random], object]:
    return lambda tool, rng: edit(tool["input_schema"], rng)


def _always(tool: Tool) -> bool:
    return True


def _titles(tool: Tool, rng: Random) -> None:
    """Add the title that pydantic makes of a name."""
    for name, part in tool["input_schema"]["properties"].items():
        if isinstance(part, dict) and "$ref" not in part and "title" not in part:
            part["title"] = name.replace("_", " ").title()


# fmt: off
EQUIVALENTS: tuple[Equivalent, ...] = (
    Equivalent("key order",              _always, shuffle_keys, whole=True),
    Equivalent("order of required",      _always, shuffle_required, whole=True),
    Equivalent("1.0 for 1",              has_numbers, floats, whole=True),
    Equivalent("parameter defined",      lambda tool: tool["input_schema"].get("properties"), define, whole=True),
    Equivalent("nested schema defined",  has_nested, define_nested, whole=True),
    Equivalent("definitions renamed",    has_definitions, rename_definitions, whole=True),
    Equivalent("definitions inlined",    has_definitions, inline, whole=True),
    Equivalent("title of the input",     _always, _whole(put(title="act_input")), whole=True),
    Equivalent("$schema",                _always, _whole(put(**{"$schema": "http://json-schema.org/draft-07/schema#"})), whole=True),
    Equivalent("$comment",               anywhere, put(**{"$comment": "checked"})),
    Equivalent("empty required",         lambda tool: "required" not in tool["input_schema"], _whole(put(required=[])), whole=True),
    Equivalent("no properties",          lambda tool: not tool["input_schema"].get("properties"), _whole(lambda s, r: s.pop("properties", None) or s), whole=True),
    Equivalent("input opened by name",   lambda tool: "additionalProperties" not in tool["input_schema"], _whole(put(additionalProperties=True)), whole=True),
    Equivalent("object opened by name",  lambda s, w: of("object")(s, w) and "additionalProperties" not in w, put(additionalProperties=True)),
    Equivalent("object opened by {}",    lambda s, w: of("object")(s, w) and "additionalProperties" not in w, put(additionalProperties={})),
    Equivalent("items of any type",      lambda s, w: of("array")(s, w) and "items" not in w, put(items={})),
    Equivalent("readOnly: false",        without("readOnly"), put(readOnly=False), part="words"),
    Equivalent("writeOnly: false",       without("writeOnly"), put(writeOnly=False), part="words"),
    Equivalent("deprecated: false",      without("deprecated"), put(deprecated=False), part="words"),
    Equivalent("nullable: false",        lambda s, w: plain("string", "integer", "object")(s, w), put(nullable=False)),
    Equivalent("no examples",            without("examples", "example"), put(examples=[]), part="words"),
    Equivalent("minLength: 0",           TEXTS, put(minLength=0), before=limits()),
    Equivalent("minItems: 0",            LISTS, put(minItems=0), before=limits()),
    Equivalent("minProperties: 0",       MAPS, put(minProperties=0), before=limits()),
    Equivalent("uniqueItems: false",     LISTS, put(uniqueItems=False), before=limits()),
    Equivalent("integer above 2",        of("integer"), limits(exclusiveMinimum=2), before=limits(minimum=3)),
    Equivalent("integer below 10",       of("integer"), limits(maximum=9), before=limits(exclusiveMaximum=10)),
    Equivalent("exclusive as in draft 4", NUMBERS, limits(minimum=2, exclusiveMinimum=True), before=limits(exclusiveMinimum=2)),
    Equivalent("order of values",        TEXTS, edits.turn_values, before=choices(3), allows=("enum-order-changed",)),
    Equivalent("const for one value",    TEXTS, lambda s, r: s.update(const=s.pop("enum")[0]), before=choices(1)),
    Equivalent("null listed, but no type", TEXTS, lambda s, r: s.update(enum=s["enum"][:-1]), before=limits(type="string", enum=["flint", "quartz", None])),
    Equivalent("null typed, but not listed", TEXTS, lambda s, r: s.update(type="string"), before=limits(type=["string", "null"], enum=["flint", "quartz"])),
    Equivalent("default, keys in another order", MAPS, put(default={"b": 2, "a": 1}), before=put(default={"a": 1, "b": 2})),
    Equivalent("type repeated by values", lambda s, w: w.get("type") == "string" and len(w.get("enum", ())) > 1, drop("type")),
    Equivalent("values twice",           TEXTS, lambda s, r: s.update(enum=[*s["enum"], s["enum"][0]]), before=choices(3)),
    Equivalent("order of types",         plain("string"), put(type=["integer", "string"]), before=put(type=["string", "integer"]), allows=("union-order-changed",)),
    Equivalent("null first",             plain("string", "integer", "boolean"), lambda s, r: s.update(type=s["type"][::-1]), before=edits.spell_nullable("type")),
    Equivalent("types as branches",      plain("string"), _as_any_of, before=put(type=["string", "integer"])),
    Equivalent("oneOf for anyOf",        plain("string"), _as_one_of, before=edits.or_else({"type": "integer"})),
    Equivalent("order of branches",      plain("string", "integer"), edits.turn_branches, before=edits.or_else({"type": "boolean"}), allows=("union-order-changed",)),
    Equivalent("null branch first",      plain("string", "integer"), edits.turn_branches, before=edits.or_else({"type": "null"})),
    Equivalent("same branch twice",      plain("string"), lambda s, r: s["anyOf"].append(dict(s["anyOf"][0])), before=edits.or_else({"type": "integer"})),
    Equivalent("union of one",           plain("string", "integer", "boolean"), lambda s, r: branch(s, [])),
    Equivalent("nullable spelled",       plain("string", "integer", "boolean", "number"), _spelled, before=edits.spell_nullable("type")),
    Equivalent("allOf of one",           plain("string", "integer", "boolean", "number", "array", "object"), _wrap),
    Equivalent("double blank",           _spaced, _double_blank, part="words"),
    Equivalent("blanks around",          with_("description"), lambda s, r: s.update(description=f" {s['description']}\n"), part="words"),
    Equivalent("final full stop",        _ends_plainly, _full_stop, part="words"),
    Equivalent("empty description",      without("description"), put(description=""), part="words"),
    Equivalent("description of the tool, blanks around", lambda tool: tool.get("description"), lambda t, r: t.update(description=f"{t['description']} \n"), whole=True),
    Equivalent("titles that repeat the names", lambda tool: tool["input_schema"].get("properties"), _titles, whole=True),
    Equivalent("null for no keyword",    without("anyOf", "pattern", "not"), put(pattern=None, anyOf=None, **{"not": None})),
    Equivalent("null for no required",   lambda tool: "required" not in tool["input_schema"], _whole(put(required=None)), whole=True),
)
# fmt: on
