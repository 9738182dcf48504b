"""Merging schemas that must all hold (`allOf`, and the keywords beside a `$ref`) into one set of keywords.

Where two parts cannot be merged into one keyword (two patterns, say), the later one is kept under `allOf`, so that the
model is told it in words: nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from orl_codegen.schema.json_values import same
from orl_codegen.schema.keywords import MERGES
from orl_codegen.schema.merges import APART, keep_first

Keywords = dict[str, Any]


def merge_all(parts: Iterable[Keywords]) -> Keywords:
    """The keywords of a schema that asks for all `parts`.

    Of two annotations the first one is kept; descriptions are joined.
    """
    merged: Keywords = {}
    for part in parts:
        merged = _merge(merged, part)
    return merged


def _merge(first: Keywords, second: Keywords) -> Keywords:
    merged = dict(first)
    left_over: Keywords = {}
    for keyword, value in second.items():
        if keyword not in merged:
            merged[keyword] = value
        elif not same(merged[keyword], value):
            both = MERGES.get(keyword, keep_first)(merged[keyword], value)
            if both is APART:
                left_over[keyword] = value
            else:
                merged[keyword] = both
    if left_over:
        merged["allOf"] = [*merged.get("allOf", []), left_over]
    return merged
