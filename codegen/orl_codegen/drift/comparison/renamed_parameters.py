"""Which parameter that is gone is which new one."""

from __future__ import annotations

from collections.abc import Mapping

from orl_codegen.drift.comparison.outlines import bare_outline, full_outline, outline
from orl_codegen.drift.comparison.renames import Way, equal, match_renamed, similar, spelled_alike
from orl_codegen.drift.comparison.similarity import Words, shared, words_in
from orl_codegen.schema.tree import Schema

Parameters = Mapping[str, Schema]

RELATED = 1 / 3
"""How much of the words of two descriptions must be shared if the type alone does not tell the parameters apart.

Chosen on the 1,399 described parameters of real tools: renamed and with one word of the description changed, 99.1 % are
recognised, and 99.9 % with a sentence added to it. If one parameter of a tool is removed and another one added, 4.1 %
of the 11,944 pairs are taken for a rename because of this, and 1.4 % because of their words: `timeMin` and `timeMax`.
"""


def match_renamed_parameters(old: Parameters, new: Parameters) -> dict[str, str]:
    """The new name of each renamed parameter by its old one, given all those of one object."""
    words: Way[Schema] = similar(lambda: (_words(old), _words(new)))
    return match_renamed(old, new, equal(full_outline), spelled_alike, words, _same_type(old, new))


def _words(parameters: Parameters) -> dict[str, Words]:
    return {name: words_in(outline(schema)) for name, schema in parameters.items()}


def _same_type(old: Parameters, new: Parameters) -> Way[Schema]:
    """Both accept the same, and either no other parameter does, or their descriptions do not contradict it."""

    def match(removed: Parameters, added: Parameters) -> dict[str, str]:
        found = equal(bare_outline)(removed, added)
        stayed = {bare_outline(side[name]) for side in (old, new) if found for name in old.keys() & new.keys()}
        return {
            name: now
            for name, now in found.items()
            if bare_outline(added[now]) not in stayed or _may_be_one(removed[name], added[now])
        }

    return match


def _may_be_one(old: Schema, new: Schema) -> bool:
    """Whether one of two parameters is not described, or both are in much the same words."""
    before, after = words_in(old.description), words_in(new.description)
    return not before or not after or shared(before, after) >= RELATED
