"""Which parameter that is gone is which new one."""

from __future__ import annotations

from collections.abc import Mapping

from orl_codegen.drift.comparison.outlines import bare_outline, full_outline, outline
from orl_codegen.drift.comparison.renames import Way, equal, match_renamed, similar, spelled_alike
from orl_codegen.drift.comparison.similarity import Words, words_in
from orl_codegen.schema.tree import Schema

Parameters = Mapping[str, Schema]


def match_renamed_parameters(old: Parameters, new: Parameters) -> dict[str, str]:
    """The new name of each renamed parameter by its old one, given all those of one object."""
    words: Way[Schema] = similar(lambda: (_words(old), _words(new)))
    return match_renamed(old, new, equal(full_outline), spelled_alike, words, equal(bare_outline))


def _words(parameters: Parameters) -> dict[str, Words]:
    return {name: words_in(outline(schema)) for name, schema in parameters.items()}
