"""The edits of which the tables are made: functions that change a schema in place.

An edit returns None, or what it has chosen by name (the name of a parameter, the place of a branch), which stands for
the same name in braces in the pointer of the finding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

Schema = dict[str, Any]
Chosen = Mapping[str, str | int] | None
Edit = Callable[[Schema, Random], Chosen]

LIMITS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern"),
    *("format", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "contentEncoding", "not"),
    *("propertyNames", "contains"),
)

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "junco", "knoll", "larch")


def nothing(schema: Schema, rng: Random) -> None:
    """Change nothing."""


def put(**keywords: Any) -> Edit:
    """Set keywords."""

    def edit(schema: Schema, rng: Random) -> None:
        schema.update(keywords)

    return edit


def drop(*names: str) -> Edit:
    """Remove keywords."""

    def edit(schema: Schema, rng: Random) -> None:
        for name in names:
            schema.pop(name, None)

    return edit


def limits(**keywords: Any) -> Edit:
    """Set limits, and remove all others, and the default, which they might refuse."""

    def edit(schema: Schema, rng: Random) -> None:
        drop(*LIMITS, "default", "examples")(schema, rng)
        schema.update(keywords)

    return edit


def become(**keywords: Any) -> Edit:
    """Keep the words alone, and set keywords."""

    def edit(schema: Schema, rng: Random) -> None:
        kept = {key: schema[key] for key in ("title", "description") if key in schema}
        schema.clear()
        schema.update(kept | keywords)

    return edit


def words(rng: Random, count: int = 5) -> str:
    """A sentence that no server says."""
    return " ".join(rng.sample(WORDS, count)).capitalize() + "."


def describe(schema: Schema, rng: Random) -> None:
    """Set a description."""
    schema["description"] = words(rng)


def reword(schema: Schema, rng: Random) -> None:
    """Add a sentence to the description, replace it, or leave out its last word."""
    text = schema["description"].strip()
    shorter = text.rpartition(" ")[0].strip()
    schema["description"] = rng.choice([f"{text} {words(rng)}", words(rng), shorter or words(rng)])


def entitle(schema: Schema, rng: Random) -> None:
    """Set a title that says more than the name."""
    schema["title"] = words(rng, 2).rstrip(".")


# --- parameters ----------------------------------------------------------------------------------------------------


def fresh(schema: Schema, rng: Random) -> str:
    """A name that no property has."""
    return rng.choice([f"{a}_{b}" for a in WORDS for b in WORDS[:3] if f"{a}_{b}" not in schema.get("properties", {})])


def any_of_its(schema: Schema, rng: Random) -> str:
    """The name of one of the properties."""
    return rng.choice(sorted(schema["properties"]))


def add_property(required: bool) -> Edit:
    """Add a property."""

    def edit(schema: Schema, rng: Random) -> Chosen:
        name, properties = fresh(schema, rng), dict(schema.get("properties", {}))
        kind = rng.choice(["string", "integer", "boolean", "array"])
        added = {"type": kind, "description": words(rng)}
        place = rng.randint(0, len(properties))
        schema["properties"] = dict(
            [*list(properties.items())[:place], (name, added), *list(properties.items())[place:]]
        )
        if required:
            schema["required"] = [*schema.get("required", []), name]
        return {"name": name}

    return edit


def remove_property(schema: Schema, rng: Random) -> Chosen:
    """Remove a property."""
    name = any_of_its(schema, rng)
    del schema["properties"][name]
    _require(schema, [other for other in schema.get("required", []) if other != name])
    return {"name": name}


def rename_property(schema: Schema, rng: Random) -> Chosen:
    """Give a property another name, in the same place."""
    old, new = any_of_its(schema, rng), fresh(schema, rng)
    schema["properties"] = {new if name == old else name: part for name, part in schema["properties"].items()}
    _require(schema, [new if name == old else name for name in schema.get("required", [])])
    return {"old": old, "name": new}


def rename_and(edit: Edit) -> Edit:
    """Give a property another name, and edit it."""

    def both(schema: Schema, rng: Random) -> Chosen:
        chosen = rename_property(schema, rng)
        assert chosen is not None
        edit(schema["properties"][chosen["name"]], rng)
        return chosen

    return both


def move_property(schema: Schema, rng: Random) -> None:
    """Put the first property last."""
    first, *others = schema["properties"].items()
    schema["properties"] = dict([*others, first])


def require(schema: Schema, rng: Random) -> Chosen:
    """Require a property that may be left out."""
    name = rng.choice(optional(schema))
    _require(schema, [*schema.get("required", []), name])
    return {"name": name}


def relax(schema: Schema, rng: Random) -> Chosen:
    """Let a required property be left out."""
    name = rng.choice(required(schema))
    _require(schema, [other for other in schema["required"] if other != name])
    return {"name": name}


def optional(schema: Schema) -> list[str]:
    """The properties that may be left out."""
    return sorted(schema.get("properties", {}).keys() - set(schema.get("required", ())))


def required(schema: Schema) -> list[str]:
    """The properties that must be given."""
    return sorted(schema.get("properties", {}).keys() & set(schema.get("required", ())))


def _require(schema: Schema, names: list[str]) -> None:
    schema["required"] = names
    if not names:
        del schema["required"]


# --- values --------------------------------------------------------------------------------------------------------


def choices(count: int) -> Edit:
    """Allow some texts alone."""

    def edit(schema: Schema, rng: Random) -> None:
        limits(enum=rng.sample(WORDS, count))(schema, rng)

    return edit


def add_value(schema: Schema, rng: Random) -> None:
    """Allow another value."""
    schema["enum"] = [*schema["enum"], _other_value(schema)]


def remove_value(schema: Schema, rng: Random) -> None:
    """Allow one value less."""
    gone = rng.randrange(len(schema["enum"]))
    schema["enum"] = [value for i, value in enumerate(schema["enum"]) if i != gone]


def replace_value(schema: Schema, rng: Random) -> None:
    """Allow another value in the place of one."""
    place = rng.randrange(len(schema["enum"]))
    schema["enum"] = [_other_value(schema) if i == place else value for i, value in enumerate(schema["enum"])]


def turn_values(schema: Schema, rng: Random) -> None:
    """Put the first value last."""
    schema["enum"] = [*schema["enum"][1:], schema["enum"][0]]


def _other_value(schema: Schema) -> Any:
    return 4711 if all(isinstance(value, int) for value in schema["enum"]) else "quartz"


def default(schema: Schema, rng: Random) -> None:
    """Set a default."""
    schema["default"] = a_value(schema, rng)


def other_default(schema: Schema, rng: Random) -> None:
    """Set another default."""
    values = [value for value in (a_value(schema, rng) for _ in range(20)) if not _same(value, schema["default"])]
    schema["default"] = values[0] if values else ["another"]


def _same(value: object, other: object) -> bool:
    return type(value) is type(other) and value == other


def a_value(schema: Schema, rng: Random) -> Any:
    """A value that fits the type."""
    if schema.get("enum"):
        return rng.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type")
    values = {
        "string": rng.choice(WORDS),
        "integer": rng.randint(1, 40),
        "number": rng.randint(1, 40) + 0.5,
        "boolean": rng.random() < 0.5,
        "array": [],
        "object": {},
    }
    return values.get(kind if isinstance(kind, str) else "string", rng.choice(WORDS))


# --- null and unions -----------------------------------------------------------------------------------------------


def allow_null(schema: Schema, rng: Random) -> None:
    """Allow null, in one of the three ways in which that is spelled."""
    spell_nullable(rng.choice(["type", "anyOf", "nullable"]))(schema, rng)


def spell_nullable(how: str) -> Edit:
    """Allow null."""

    def edit(schema: Schema, rng: Random) -> None:
        if how == "type" and "enum" not in schema and "const" not in schema:
            schema["type"] = [schema["type"], "null"]
        elif how == "nullable" and "enum" not in schema and "const" not in schema:
            schema["nullable"] = True
        else:
            branch(schema, [{"type": "null"}])

    return edit


def branch(schema: Schema, others: list[Schema], combination: str = "anyOf") -> None:
    """Make a schema the first branch of a union; its words stay outside."""
    words = {key: schema.pop(key) for key in ("title", "description", "default", "examples") if key in schema}
    inner = dict(schema)
    schema.clear()
    schema.update({combination: [inner, *others], **words})


def or_else(*others: Schema) -> Edit:
    """Make a schema one branch of a union."""

    def edit(schema: Schema, rng: Random) -> None:
        branch(schema, [dict(other) for other in others])

    return edit


def combination_of(schema: Schema) -> str:
    """The keyword of a union."""
    return "anyOf" if "anyOf" in schema else "oneOf"


def not_null(schema: Schema) -> list[Schema]:
    """The branches of a union that are not null."""
    return [part for part in schema[combination_of(schema)] if part.get("type") != "null"]


def add_branch(schema: Schema, rng: Random) -> Chosen:
    """Add a branch of a type that no other has."""
    kinds = {part.get("type") for part in not_null(schema)}
    kind = rng.choice([kind for kind in ("boolean", "array", "string", "object", "integer") if kind not in kinds])
    place = len(not_null(schema))
    schema[combination_of(schema)] = [*schema[combination_of(schema)], {"type": kind}]
    return {"place": place}


def remove_branch(schema: Schema, rng: Random) -> Chosen:
    """Remove a branch."""
    place = rng.randrange(len(not_null(schema)))
    gone = not_null(schema)[place]
    schema[combination_of(schema)] = [part for part in schema[combination_of(schema)] if part is not gone]
    return {"place": place}


def turn_branches(schema: Schema, rng: Random) -> None:
    """Put the first branch last."""
    first, *others = schema[combination_of(schema)]
    schema[combination_of(schema)] = [*others, first]
