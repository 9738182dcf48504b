"""Titles: pydantic makes `File Path` of `file_path`, which tells nobody anything."""

from __future__ import annotations

import re


def loose(text: str) -> str:
    """A name without case, spaces and punctuation: equal for a key and for the title made of it."""
    return re.sub(r"[\W_]+", "", text).lower()
