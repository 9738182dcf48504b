"""The table of keywords: complete, and consistent in itself."""

from __future__ import annotations

from collections import Counter

import pytest

from orl_codegen.schema import keywords
from orl_codegen.schema.keywords import KEYWORDS, Keyword
from orl_codegen.schema.merges import APART, keep_apart, keep_first

VOCABULARIES = (
    "$schema $vocabulary $id $anchor $dynamicAnchor $comment $defs $ref $dynamicRef "
    "allOf anyOf oneOf not if then else dependentSchemas "
    "prefixItems items contains properties patternProperties additionalProperties propertyNames unevaluatedItems "
    "unevaluatedProperties type const enum multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength "
    "minLength pattern maxItems minItems uniqueItems maxContains minContains maxProperties minProperties required "
    "dependentRequired title description default deprecated readOnly writeOnly examples format contentEncoding "
    "contentMediaType contentSchema"
).split()
"""What draft 2020-12 defines."""

EACH = pytest.mark.parametrize("keyword", KEYWORDS, ids=lambda keyword: keyword.name)


def test_every_keyword_has_one_row() -> None:
    """No keyword of draft 2020-12 is missing, and none is described twice."""
    rows = Counter(keyword.name for keyword in KEYWORDS)
    assert not set(VOCABULARIES) - rows.keys()
    assert set(rows.values()) == {1}


def test_a_keyword_is_told_in_one_way() -> None:
    """What has words is not repeated as JSON, and only bookkeeping is not told at all."""
    assert not keywords.TOLD_IN_WORDS & {*keywords.TOLD_AS_JSON}
    untold = {keyword.name for keyword in KEYWORDS if keyword.told == "not at all"}
    assert untold == keywords.BOOKKEEPING


@EACH
def test_what_is_only_shown_by_type_is_structure(keyword: Keyword) -> None:
    """A fact stays beside the tree, so the type cannot show it."""
    if keyword.told == "by type":
        assert keyword.role == "structure"


@EACH
def test_constraints_limit_and_annotations_do_not(keyword: Keyword) -> None:
    """The role of a keyword agrees with its limit."""
    if keyword.role != "structure":
        assert (keyword.limit is not None) == (keyword.role == "constraint")


@EACH
def test_what_stays_a_fact_and_limits_is_told(keyword: Keyword) -> None:
    """The model is told every constraint that its type does not show."""
    if keyword.limit is not None:
        assert keyword.told in ("in words", "as JSON")


def test_each_lower_limit_has_an_upper_twin() -> None:
    """`min` and `max` stand at the same place of `LOWER` and `UPPER`, and the exclusive forms are limits, too."""
    assert [name.replace("min", "max", 1) for name in keywords.LOWER] == list(keywords.UPPER)
    assert set(keywords.LOWER_LIMITS) - set(keywords.LOWER) == {keywords.EXCLUSIVE["minimum"]}
    assert set(keywords.UPPER_LIMITS) - set(keywords.UPPER) == {keywords.EXCLUSIVE["maximum"]}


@EACH
def test_limits_merge_to_the_narrower_value(keyword: Keyword) -> None:
    """Of two lower limits the greater one holds, of two upper limits the lesser one."""
    if keyword.limit in ("lower", "upper"):
        assert keyword.merge(1, 2) == keyword.merge(2, 1) == (2 if keyword.limit == "lower" else 1)


@EACH
def test_annotations_never_move_into_all_of(keyword: Keyword) -> None:
    """Two annotations always merge: neither forbids anything."""
    if keyword.role in ("annotation", "bookkeeping"):
        assert keyword.merge("a", "b") is not APART
        assert keyword.merge is not keep_apart


@EACH
def test_a_merge_takes_values_of_any_shape(keyword: Keyword) -> None:
    """A server may send any JSON value for any keyword; only the lists of `allOf` are checked before."""
    values = [None, True, 1, 0.5, "x", ["x"], {"x": 1}]
    for first in values if keyword.name != "allOf" else [["x"]]:
        for second in values if keyword.name != "allOf" else [["y"]]:
            keyword.merge(first, second)


def test_an_unknown_keyword_is_an_annotation() -> None:
    """It merges as one, and nothing is derived from it."""
    assert keywords.MERGES.get("x-vendor", keep_first) is keep_first
