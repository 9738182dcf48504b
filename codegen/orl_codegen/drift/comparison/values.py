"""What changed in the values that are listed one by one (`enum`, `const`), and in the default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orl_codegen.drift.change import Changes
from orl_codegen.drift.comparison.pairs import Pair
from orl_codegen.schema.json_values import differs, identity


def compare_values(pair: Pair) -> Changes:
    """`enum` and `const`; a list of one value is a constant."""
    old, new = pair.old.values, pair.new.values
    if old is None and new is None:
        return
    if old is None or new is None:
        keyword = "const" if len(old or new or ()) == 1 else "enum"
        rule = f"{keyword}-{'removed' if new is None else 'added'}"
        yield (pair.at / keyword).change(rule, _as_json(old), _as_json(new))
    elif len(old) == len(new) == 1:
        if differs(old[0], new[0]):
            yield (pair.at / "const").change("const-changed", old[0], new[0])
    else:
        yield from _enum(pair, old, new)


def _enum(pair: Pair, old: Sequence[Any], new: Sequence[Any]) -> Changes:
    place = pair.at / "enum"
    before, after = ({identity(value): value for value in side} for side in (old, new))
    removed = [value for key, value in before.items() if key not in after]
    added = [value for key, value in after.items() if key not in before]
    if removed or added:
        rule = "enum-values-changed" if removed and added else f"enum-value-{'removed' if removed else 'added'}"
        yield place.change(rule, _one_or_all(removed), _one_or_all(added))
    if [key for key in before if key in after] != [key for key in after if key in before]:
        yield place.change("enum-order-changed", list(old), list(new))


def _one_or_all(values: Sequence[Any]) -> Any:
    """The only value as it is, several as a list; None if there is none."""
    return values[0] if len(values) == 1 else list(values) or None


def _as_json(values: Sequence[Any] | None) -> Any:
    return None if values is None else values[0] if len(values) == 1 else list(values)


def compare_default(pair: Pair) -> Changes:
    """`default`, which may be null."""
    old, new = pair.old.facts, pair.new.facts
    place = pair.at / "default"
    if "default" not in old and "default" not in new:
        return
    if "default" not in old:
        yield place.change("default-added", None, new["default"])
    elif "default" not in new:
        yield place.change("default-removed", old["default"])
    elif differs(old["default"], new["default"]):
        yield place.change("default-changed", old["default"], new["default"])
