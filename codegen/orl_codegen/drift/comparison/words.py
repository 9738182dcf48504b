"""What changed in the words around a schema: its description, its title, its deprecation and other annotations.

Only what the model is told counts: a final full stop, say, is written behind every description that has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import cleandoc
from typing import Any

from orl_codegen.drift.change import Changes, Place
from orl_codegen.drift.comparison.facts import annotations_in
from orl_codegen.drift.comparison.pairs import Pair
from orl_codegen.generator.contract.wording import as_sentence, told_title
from orl_codegen.schema.json_values import differs
from orl_codegen.schema.pointer import split
from orl_codegen.schema.tree import Schema

_RULES = {"examples": "examples-changed", "readOnly": "access-changed", "writeOnly": "access-changed"}
"""The rules of single annotations; all others share `annotation-changed`."""

_ELSEWHERE = frozenset({"default", "deprecated", "title"})
"""The annotations whose rules are not in the table."""


def compare_annotations(pair: Pair) -> Changes:
    """The description, the title, and every other keyword that limits nothing, except the default."""
    old, new = pair.old, pair.new
    form = as_sentence if pair.above else as_paragraphs
    yield from compare_description(pair.at / "description", "param", old.description, new.description, form)
    yield from _title(pair)
    yield from _deprecation(pair)
    yield from _others(pair, _annotations(old), _annotations(new))


def compare_description(at: Place, subject: str, old: str, new: str, form: Callable[[str], str]) -> Changes:
    """The description of a tool or a parameter; `form` makes of a text what the model reads. A blank one is none."""
    old, new = old.strip(), new.strip()
    if form(old) != form(new):
        action = "added" if not old else "removed" if not new else "changed"
        yield at.change(f"{subject}-description-{action}", old or None, new or None)


def as_paragraphs(text: str) -> str:
    """A text as the description of a tool has it, without what is lost there: blanks that end a line, say."""
    lines = cleandoc(text.replace("\r\n", "\n")).split("\n")
    return "\n".join(line.rstrip(" ") for line in lines).strip()


def _title(pair: Pair) -> Changes:
    """The title, which is told beside the description; that of the whole input is not."""
    old, new = pair.old.facts.get("title"), pair.new.facts.get("title")
    if pair.above and differs(old, new):
        before, after = (told_title(_name(pair.at), side) for side in (pair.old, pair.new))
        if as_sentence(before) != as_sentence(after):
            yield (pair.at / "title").change("title-changed", before or None, after or None)


def _name(at: Place) -> str:
    """The name of the parameter or field at a place; empty for items, branches and the like."""
    name, rest = "", split(at.path)[1:]
    while rest:
        keyword, *rest = rest
        name = ""
        if rest and keyword in ("properties", "prefixItems", "anyOf"):
            step, *rest = rest
            name = step if keyword == "properties" else ""
    return name


def _deprecation(pair: Pair) -> Changes:
    old, new = (side.facts.get("deprecated") is True for side in (pair.old, pair.new))
    if old != new:
        yield (pair.at / "deprecated").change("deprecated-added" if new else "deprecated-removed", not new, new)


def _others(pair: Pair, old: Mapping[str, Any], new: Mapping[str, Any]) -> Changes:
    for keyword in sorted(old.keys() | new.keys()):
        if differs(_only(keyword, old), _only(keyword, new)):
            rule = _RULES.get(keyword, "annotation-changed")
            yield (pair.at / keyword).change(rule, old.get(keyword), new.get(keyword))


def _annotations(schema: Schema) -> dict[str, Any]:
    """The annotations that have no rules elsewhere, and of those with a rule only what the model is told."""
    found = {keyword: value for keyword, value in annotations_in(schema).items() if keyword not in _ELSEWHERE}
    if "example" in found:
        example = found.pop("example")
        found.setdefault("examples", [example])
    return {keyword: value for keyword, value in found.items() if keyword not in _RULES or _is_told(keyword, value)}


def _is_told(keyword: str, value: Any) -> bool:
    return bool(value) if keyword == "examples" else value is True


def _only(keyword: str, annotations: Mapping[str, Any]) -> dict[str, Any]:
    """One annotation by itself, so that a missing one differs from one that is null."""
    return {keyword: annotations[keyword]} if keyword in annotations else {}
