"""`diff` of two snapshots whose schemas mean the same but are written differently: nothing has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orl_codegen.generator.snapshot import dump
from tests.drift.cases import FORMS
from tests.support.cli import orl_codegen

SPELLINGS: list[tuple[Any, Any]] = [
    ({"type": "integer", "maximum": 10}, {"type": "integer", "maximum": 10.0}),
    ({"type": "integer", "exclusiveMinimum": 2}, {"type": "integer", "minimum": 3}),
    ({"type": "integer", "exclusiveMaximum": 2}, {"type": "integer", "maximum": 1}),
    ({"type": "integer", "minimum": 2, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 2}),
    ({"type": "string", "minLength": 0}, {"type": "string"}),
    ({"type": "array", "minItems": 0, "items": {}}, {"type": "array"}),
    ({"type": "object", "default": {"a": 1, "b": 2.0}}, {"type": "object", "default": {"b": 2, "a": 1}}),
    ({"properties": {"k": {}}, "additionalProperties": True}, {"properties": {"k": {}}}),
    ({"type": "integer", "minimum": "1"}, {"type": "integer", "minimum": 1}),
    ({"type": "str", "format": None}, {"type": "string"}),
    ({"if": {"minLength": 1}, "then": {"minLength": 2}}, {"then": {"minLength": 2.0}, "if": {"minLength": 1}}),
]


@pytest.mark.parametrize(("one", "other"), SPELLINGS)
def test_another_spelling_is_not_a_change(one: Any, other: Any, tmp_path: Path) -> None:
    """In either direction there is no finding, as the model is told the same."""
    paths = [tmp_path / name for name in ("one.json", "other.json")]
    for path, schema in zip(paths, (one, other), strict=True):
        path.write_text(dump(FORMS["x"](schema)))
    for old, new in (paths, paths[::-1]):
        outcome = orl_codegen("diff", old, new)
        assert outcome.status == 0, outcome.out
        assert "tool-text-changed" not in outcome.out
