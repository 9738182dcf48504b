"""What the value of each keyword has to be, and how a value that is nearly that is read.

Servers write `"1"` for 1, `[]` for `{}`, `str` for `string`. Each function here takes the value of a keyword and
returns what is meant by it: `ABSENT` where that limits and tells nothing, `UNREADABLE` where nobody can know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, get_args

from orl_codegen.schema.json_values import JSONType, canonical, is_number, whole_as_int

TYPE_NAMES = get_args(JSONType)

PLAIN_TYPE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        **{name: name for name in TYPE_NAMES},
        **dict.fromkeys(("str",), "string"),
        **dict.fromkeys(("int", "long"), "integer"),
        **dict.fromkeys(("float", "double"), "number"),
        **dict.fromkeys(("bool",), "boolean"),
        **dict.fromkeys(("none",), "null"),
        **dict.fromkeys(("list", "tuple"), "array"),
        **dict.fromkeys(("dict", "map"), "object"),
    }
)
"""Names of types, in lower case, that can only mean one of JSON Schema's."""

READABLE_BELOW = 1e21
"""Whole floats below it are written as integers, as JavaScript does; 1e+300 would have 301 digits."""

SCHEMA = "a schema"
SCHEMAS = "a list of schemas"
NAMED_SCHEMAS = "an object of schemas"


class _Marker:
    """The type of `ABSENT` and `UNREADABLE`."""


ABSENT: Final = _Marker()
UNREADABLE: Final = _Marker()


class Wanted(NamedTuple):
    """What a keyword wants.

    Attributes:
        noun: In words, for notes: "a number".
        read: From a value to what is meant by it.
    """

    noun: str
    read: Callable[[Any], Any]


def value(given: Any) -> Any:
    """Any JSON value; the keys of an object get one order, as theirs says nothing."""
    whole = whole_as_int(given, READABLE_BELOW)
    return json.loads(canonical(whole)) if isinstance(whole, (list, dict)) else whole


def number(given: Any) -> Any:
    if isinstance(given, str) and re.fullmatch(r"\s*-?(0|[1-9]\d{0,14})(\.\d{1,15})?\s*", given):
        given = json.loads(given)
    finite = is_number(given) and abs(given) < float("inf")  # which NaN is not, either
    return whole_as_int(given, READABLE_BELOW) if finite else UNREADABLE


def exclusive_limit(given: Any) -> Any:
    """A number; in draft 4, whether the limit beside it is exclusive."""
    meant = truth(given)
    return number(given) if meant is UNREADABLE else ABSENT if meant is False else meant


def count(given: Any) -> Any:
    meant = number(given)
    return meant if isinstance(meant, int) and meant >= 0 else UNREADABLE


def least_count(given: Any) -> Any:
    """A count from which on a size is allowed: every size is at least 0."""
    meant = number(given)
    return ABSENT if is_number(meant) and meant <= 0 else count(given)


def flag(given: Any) -> Any:
    """True or false; false is also what holds without the keyword."""
    meant = truth(given)
    return ABSENT if meant is False else meant


def truth(given: Any) -> Any:
    """True or false, also as a text."""
    if isinstance(given, str):
        return {"true": True, "false": False}.get(given.strip().lower(), UNREADABLE)
    return given if isinstance(given, bool) else UNREADABLE


def text(given: Any) -> Any:
    """A text; a blank one tells nothing."""
    return UNREADABLE if not isinstance(given, str) else given if given.strip() else ABSENT


def lines(given: Any) -> Any:
    """A text, or a list of its lines."""
    if isinstance(given, list) and all(isinstance(line, str) for line in given):
        given = "\n".join(given)
    return text(given)


def type_names(given: Any) -> Any:
    """A name or a list of names; those that JSON Schema does not have stay, and are told in words."""
    if not isinstance(given, list):
        return plain_type(given) if isinstance(given, str) else UNREADABLE
    names = [plain_type(name or "null") for name in given if isinstance(name, str) or name is None]
    return names if names else UNREADABLE if given else ABSENT


def plain_type(given: str) -> str:
    """The type of JSON Schema that a name can only mean; any other name as it is."""
    return PLAIN_TYPE_NAMES.get(given.strip().lower(), given)


def values(given: Any) -> Any:
    """A list of values; one value without a list, unless it looks like several in one text."""
    if isinstance(given, list):
        return value(given) if given else UNREADABLE
    several = isinstance(given, str) and re.search(r"[,;|\n]", given)
    return UNREADABLE if several or isinstance(given, dict) else [value(given)]


def names(given: Any) -> Any:
    """A list of names; in draft 3, whether the property with the keyword is required."""
    if isinstance(given, list):
        return given if all(map(_is_text, given)) else [name for name in given if _is_text(name)]
    return truth(given)


def _is_text(given: Any) -> bool:
    return isinstance(given, str)


def schema(given: Any) -> Any:
    return {} if given == [] else given if isinstance(given, (dict, bool)) else UNREADABLE


def schema_inside(given: Any) -> Any:
    """The schema of items or properties: it is worked out like any other, so it may also be the name of a type."""
    meant = truth(given)
    return meant if meant is not UNREADABLE else given if isinstance(given, str) else schema(given)


def items(given: Any) -> Any:
    """A schema; in drafts before 2020-12, also a list of them."""
    return given if isinstance(given, list) and given else schema_inside(given)


def schemas(given: Any) -> Any:
    """A list of schemas; a single one stands for a list of one."""
    if not isinstance(given, list):
        return [given] if isinstance(given, dict) else UNREADABLE
    branches = [branch for branch in given if branch is not None] if None in given else given
    return branches if branches else ABSENT


def schemas_in_order(given: Any) -> Any:
    """A list of schemas in which each has its place, so that none is left out."""
    return given if isinstance(given, list) and given else ABSENT if given == [] else UNREADABLE


def named_schemas(given: Any) -> Any:
    """An object of schemas; a list of names says no more than that they exist."""
    if isinstance(given, list) and all(map(_is_text, given)):
        return {name: {} for name in given}
    return given if isinstance(given, dict) else UNREADABLE


def mapping(given: Any) -> Any:
    """An object, which tells nothing if it is empty."""
    return ABSENT if given in ([], {}) else given if isinstance(given, dict) else UNREADABLE


# fmt: off
WANTED: Mapping[str, Wanted] = MappingProxyType({
    **dict.fromkeys(("default", "const", "examples", "example"),        Wanted("a value", value)),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"),               Wanted("a number", number)),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"),           Wanted("a number", exclusive_limit)),
    **dict.fromkeys(("minLength", "minItems", "minProperties"),         Wanted("a count", least_count)),
    **dict.fromkeys(("maxLength", "maxItems", "maxProperties"),         Wanted("a count", count)),
    **dict.fromkeys(("minContains", "maxContains"),                     Wanted("a count", count)),
    **dict.fromkeys(("uniqueItems", "deprecated"),                      Wanted("true or false", flag)),
    **dict.fromkeys(("readOnly", "writeOnly"),                          Wanted("true or false", flag)),
    "nullable":                                                         Wanted("true or false", truth),
    **dict.fromkeys(("title", "pattern", "format"),                     Wanted("a text", text)),
    **dict.fromkeys(("contentEncoding", "contentMediaType"),            Wanted("a text", text)),
    "description":                                                      Wanted("a text", lines),
    "type":                                                             Wanted("the name of a type", type_names),
    "enum":                                                             Wanted("a list of values", values),
    "required":                                                         Wanted("a list of names", names),
    **dict.fromkeys(("additionalProperties", "additionalItems"),        Wanted(SCHEMA, schema_inside)),
    "items":                                                            Wanted(SCHEMA, items),
    **dict.fromkeys(("contains", "contentSchema", "propertyNames"),     Wanted(SCHEMA, schema)),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"),      Wanted(SCHEMA, schema)),
    **dict.fromkeys(("not", "if", "then", "else"),                      Wanted(SCHEMA, schema)),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"),                        Wanted(SCHEMAS, schemas)),
    "prefixItems":                                                      Wanted(SCHEMAS, schemas_in_order),
    "properties":                                                       Wanted(NAMED_SCHEMAS, named_schemas),
    **dict.fromkeys(("patternProperties", "dependentSchemas"),          Wanted(NAMED_SCHEMAS, mapping)),
    **dict.fromkeys(("dependencies", "dependentRequired"),              Wanted("an object", mapping)),
    "discriminator":                                                    Wanted("an object", mapping),
})
# fmt: on
"""What each keyword wants, other than references, bookkeeping and `alternatives`, which no server writes."""

MAY_BE_NULL = frozenset({"default", "const", "example"})
"""The keywords whose value may be null; for every other one, null is what some servers write for its absence."""
