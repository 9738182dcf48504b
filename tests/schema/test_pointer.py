"""JSON pointers: what is written can be read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orl_codegen.schema.pointer import escape, join, look_up, split, unescape

KEYS = st.text(max_size=6) | st.sampled_from(["", "~", "/", "~1", "~0", "~01", "a/b", "0", "01"])


@given(KEYS)
def test_a_key_survives_escaping(key: str) -> None:
    """What `escape` wrote, `unescape` reads; no slash is left that would split it in two."""
    assert unescape(escape(key)) == key
    assert "/" not in escape(key)


@given(st.lists(KEYS, max_size=4))
def test_a_pointer_splits_into_the_keys_it_was_made_of(keys: list[str]) -> None:
    """`split` is the inverse of `join`, one key at a time or all at once."""
    pointer = join("", *keys)
    assert split(pointer) == keys
    assert join(join("", *keys[:1]), *keys[1:]) == pointer


@given(st.lists(KEYS, max_size=4), st.integers())
def test_what_stands_at_a_pointer_is_found(keys: list[str], value: int) -> None:
    """A pointer leads through objects, whatever their keys look like."""
    document: object = value
    for key in reversed(keys):
        document = {key: document}
    assert look_up(document, join("", *keys)) == value


def test_a_pointer_leads_into_lists_by_index() -> None:
    """Items are counted from 0, as in `#/allOf/1`."""
    assert look_up({"allOf": ["a", "b"]}, "/allOf/1") == "b"


@pytest.mark.parametrize("pointer", ["/b", "/a/2", "/a/x", "/a/-1", "/a/0/b", "/a/" + "9" * 5000])
def test_a_pointer_that_leads_nowhere_is_an_error(pointer: str) -> None:
    """A missing key, an index beyond the end or a step into a value has nothing to return."""
    with pytest.raises(LookupError):
        look_up({"a": [1, 2]}, pointer)
