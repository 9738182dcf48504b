"""Titles: pydantic derives `File Path` from `file_path`, and such a title adds nothing to the key."""

from __future__ import annotations

import re


def loose(text: str) -> str:
    """A name without case, spaces and punctuation: equal for a key and for the title derived from it."""
    return re.sub(r"[\W_]+", "", text).lower()
