"""JSON values: when they are written alike, when they are equal, and what is a number."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orl_codegen.schema.json_values import differs, identity, is_number, same
from orl_codegen.schema.titles import loose

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize(
    ("a", "b", "alike", "equal"),
    [
        (1, 1.0, False, True),
        (1, True, False, False),
        (0, False, False, False),
        ([1.0, {"a": 2.0}], [1, {"a": 2}], False, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, True),
        ([1, 2], [2, 1], False, False),
        ("1", 1, False, False),
        (None, False, False, False),
    ],
)
def test_equality_is_that_of_json(a: Any, b: Any, alike: bool, equal: bool) -> None:
    """A number is equal however it is written, true is not a number, and the order of keys means nothing."""
    assert same(a, b) == alike
    assert differs(a, b) == (not equal)


@given(JSON)
def test_values_that_are_written_alike_are_equal(value: Any) -> None:
    """A value has one identity, as a tuple, too."""
    assert not differs(value, value)
    assert identity([value]) == identity((value,))


@pytest.mark.parametrize(("value", "number"), [(1, True), (0.5, True), (True, False), ("1", False), (None, False)])
def test_true_is_not_a_number(value: Any, number: bool) -> None:
    """Python counts booleans as integers, JSON does not."""
    assert is_number(value) == number


def test_a_title_made_of_a_key_is_recognised() -> None:
    """pydantic's title differs from the key in case and punctuation only."""
    assert loose("file_path") == loose("File Path") != loose("Path of the file")
