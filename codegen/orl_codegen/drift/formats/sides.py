"""The old and the new value of a change, to put side by side: as text, with what differs between them marked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from orl_codegen.drift.change import Change
from orl_codegen.errors import printable_lines

LONGEST = 20_000
"""How many characters are shown of what differs."""

_AROUND = 2_000
"""How many characters are shown before and after it."""


@dataclass(frozen=True)
class Side:
    """A value, safe to print: what both sides begin with, what this one has for itself, what both end with."""

    before: str
    differs: str
    after: str


def sides(change: Change) -> tuple[Side, Side] | None:
    """The old and the new value; None if there is no more to them than the name of the tool."""
    if {value for value in map(_text, (change.old, change.new)) if value} <= {printable_lines(change.tool or "")}:
        return None
    old, new = _text(change.old), _text(change.new)
    start = _alike(old, new)
    end = min(_alike(old[::-1], new[::-1]), len(old) - start, len(new) - start)
    return _side(old, start, end), _side(new, start, end)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)
    return printable_lines(text)


def _alike(old: str, new: str) -> int:
    """How many characters both begin with."""
    return next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _side(text: str, start: int, end: int) -> Side:
    before, differs, after = text[:start], text[start : len(text) - end], text[len(text) - end :]
    return Side(
        f"…{before[-_AROUND:]}" if len(before) > _AROUND else before,
        f"{differs[:LONGEST]}…" if len(differs) > LONGEST else differs,
        f"{after[:_AROUND]}…" if len(after) > _AROUND else after,
    )
