"""Every keyword that orl-codegen knows, in one table; all other modules take what they need to know from here.

To add a keyword, add its row. A keyword without a row is kept as an annotation, and the report says that the model is
not shown it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from orl_codegen.schema.merges import (
    all_names,
    common_types,
    common_values,
    concatenated,
    each_item,
    each_property,
    greater,
    if_both,
    if_either,
    joined_text,
    keep_apart,
    keep_first,
    lesser,
    other_properties,
)

Role = Literal["structure", "constraint", "annotation", "bookkeeping"]
Told = Literal["by type", "in words", "as JSON", "not at all"]
Limit = Literal["lower", "upper", "other"]
Merge = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Keyword:
    """What there is to know about a keyword.

    Attributes:
        name: How JSON Schema spells it.
        role: `structure` shapes the tree; a `constraint` decides which values are accepted; an `annotation` does not;
            `bookkeeping` is dropped.
        merge: Makes one value of the two that `allOf` brings together.
        told: How the model learns of it: from the Python type, from a clause in words, or from the keyword as JSON.
        limit: How it limits values where it stays with its schema as a fact: as a `lower` limit (greater is narrower),
            as an `upper` one (less is narrower), or in some `other` way; None where it limits nothing, or only shapes
            the tree.
    """

    name: str
    role: Role
    merge: Merge
    told: Told
    limit: Limit | None = None


# fmt: off
KEYWORDS = (
    # Structure. A `type` that JSON Schema does not know, and a combination that makes no union, stay facts.
    Keyword("$ref",                  "structure",   keep_first,       "by type"),
    Keyword("$dynamicRef",           "structure",   keep_first,       "by type"),
    Keyword("$recursiveRef",         "structure",   keep_first,       "by type"),
    Keyword("type",                  "structure",   common_types,     "in words",   "other"),
    Keyword("nullable",              "structure",   if_both,          "by type"),
    Keyword("enum",                  "structure",   common_values,    "by type"),
    Keyword("const",                 "structure",   keep_apart,       "by type"),
    Keyword("properties",            "structure",   each_property,    "by type"),
    Keyword("required",              "structure",   all_names,        "by type"),
    Keyword("additionalProperties",  "structure",   other_properties, "by type"),
    Keyword("items",                 "structure",   each_item,        "by type"),
    Keyword("prefixItems",           "structure",   keep_apart,       "by type"),
    Keyword("additionalItems",       "structure",   keep_first,       "by type"),
    Keyword("allOf",                 "structure",   concatenated,     "as JSON",    "other"),
    Keyword("anyOf",                 "structure",   keep_apart,       "as JSON",    "other"),
    Keyword("oneOf",                 "structure",   keep_apart,       "as JSON",    "other"),

    # Limits.
    Keyword("minimum",               "constraint",  greater,          "in words",   "lower"),
    Keyword("exclusiveMinimum",      "constraint",  greater,          "in words",   "lower"),
    Keyword("maximum",               "constraint",  lesser,           "in words",   "upper"),
    Keyword("exclusiveMaximum",      "constraint",  lesser,           "in words",   "upper"),
    Keyword("minLength",             "constraint",  greater,          "in words",   "lower"),
    Keyword("maxLength",             "constraint",  lesser,           "in words",   "upper"),
    Keyword("minItems",              "constraint",  greater,          "in words",   "lower"),
    Keyword("maxItems",              "constraint",  lesser,           "in words",   "upper"),
    Keyword("minProperties",         "constraint",  greater,          "in words",   "lower"),
    Keyword("maxProperties",         "constraint",  lesser,           "in words",   "upper"),
    Keyword("minContains",           "constraint",  greater,          "as JSON",    "lower"),
    Keyword("maxContains",           "constraint",  lesser,           "as JSON",    "upper"),

    # Other constraints.
    Keyword("multipleOf",            "constraint",  keep_apart,       "in words",   "other"),
    Keyword("pattern",               "constraint",  keep_apart,       "in words",   "other"),
    Keyword("format",                "constraint",  keep_apart,       "in words",   "other"),
    Keyword("uniqueItems",           "constraint",  if_either,        "in words",   "other"),
    Keyword("contentEncoding",       "constraint",  keep_first,       "in words",   "other"),
    Keyword("contentMediaType",      "constraint",  keep_first,       "in words",   "other"),
    Keyword("contentSchema",         "constraint",  keep_first,       "as JSON",    "other"),
    Keyword("contains",              "constraint",  keep_apart,       "as JSON",    "other"),
    Keyword("unevaluatedItems",      "constraint",  keep_apart,       "as JSON",    "other"),
    Keyword("propertyNames",         "constraint",  keep_apart,       "as JSON",    "other"),
    Keyword("patternProperties",     "constraint",  keep_apart,       "as JSON",    "other"),
    Keyword("unevaluatedProperties", "constraint",  keep_apart,       "as JSON",    "other"),
    Keyword("dependencies",          "constraint",  keep_first,       "as JSON",    "other"),
    Keyword("dependentRequired",     "constraint",  keep_apart,       "as JSON",    "other"),
    Keyword("dependentSchemas",      "constraint",  keep_apart,       "as JSON",    "other"),
    Keyword("not",                   "constraint",  keep_apart,       "as JSON",    "other"),
    Keyword("if",                    "constraint",  keep_apart,       "as JSON",    "other"),
    Keyword("then",                  "constraint",  keep_apart,       "as JSON",    "other"),
    Keyword("else",                  "constraint",  keep_apart,       "as JSON",    "other"),
    Keyword("discriminator",         "constraint",  keep_first,       "in words",   "other"),
    Keyword("alternatives",          "constraint",  keep_first,       "in words",   "other"),  # ours: see expansion.py

    # Annotations.
    Keyword("title",                 "annotation",  keep_first,       "in words"),
    Keyword("description",           "annotation",  joined_text,      "in words"),
    Keyword("default",               "annotation",  keep_first,       "in words"),
    Keyword("example",               "annotation",  keep_first,       "in words"),
    Keyword("examples",              "annotation",  keep_first,       "in words"),
    Keyword("deprecated",            "annotation",  keep_first,       "in words"),
    Keyword("readOnly",              "annotation",  keep_first,       "in words"),
    Keyword("writeOnly",             "annotation",  keep_first,       "in words"),

    # Bookkeeping of the document.
    Keyword("$schema",               "bookkeeping", keep_first,       "not at all"),
    Keyword("$vocabulary",           "bookkeeping", keep_first,       "not at all"),
    Keyword("$id",                   "bookkeeping", keep_first,       "not at all"),
    Keyword("id",                    "bookkeeping", keep_first,       "not at all"),
    Keyword("$anchor",               "bookkeeping", keep_first,       "not at all"),
    Keyword("$dynamicAnchor",        "bookkeeping", keep_first,       "not at all"),
    Keyword("$recursiveAnchor",      "bookkeeping", keep_first,       "not at all"),
    Keyword("$comment",              "bookkeeping", keep_first,       "not at all"),
    Keyword("$defs",                 "bookkeeping", keep_first,       "not at all"),
    Keyword("definitions",           "bookkeeping", keep_first,       "not at all"),
)
# fmt: on

STRUCTURE = frozenset(keyword.name for keyword in KEYWORDS if keyword.role == "structure")
"""The keywords that shape the tree."""

BOOKKEEPING = frozenset(keyword.name for keyword in KEYWORDS if keyword.role == "bookkeeping")
"""The keywords that are dropped."""

MERGES: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {keyword.name: keyword.merge for keyword in KEYWORDS}
)
"""How two values of each keyword are merged."""

TOLD_IN_WORDS = frozenset(keyword.name for keyword in KEYWORDS if keyword.told == "in words")
TOLD_AS_JSON = tuple(keyword.name for keyword in KEYWORDS if keyword.told == "as JSON")
"""In the order in which they are told."""

CONSTRAINING = frozenset(keyword.name for keyword in KEYWORDS if keyword.limit is not None)
"""The facts that decide which values are accepted; every other fact is an annotation."""

LOWER_LIMITS = tuple(keyword.name for keyword in KEYWORDS if keyword.limit == "lower")
UPPER_LIMITS = tuple(keyword.name for keyword in KEYWORDS if keyword.limit == "upper")

EXCLUSIVE: Mapping[str, str] = MappingProxyType({"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"})
"""The exclusive form of a limit."""

LOWER = tuple(name for name in LOWER_LIMITS if name not in EXCLUSIVE.values())
UPPER = tuple(name for name in UPPER_LIMITS if name not in EXCLUSIVE.values())
"""The inclusive limits; `LOWER[i]` and `UPPER[i]` limit the same thing."""
