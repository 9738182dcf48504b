"""Whether orl-codegen wrote a text. Each file is judged by itself: a file of ours says nothing about the one beside it.

A file that was edited by hand, half merged or cut off is still ours, as long as it begins like one.
"""

from __future__ import annotations

import json
import re
from typing import Any

from orl_codegen.generator.output.context import BANNER

_CONFLICT = r"(?:<{7}[^\n]*\n)?"  # where two versions differ, a merge that failed puts its mark before them
_MODULE = re.compile(rf"\ufeff?{_CONFLICT}{re.escape(BANNER)}")
_SNAPSHOT = re.compile(rf'\ufeff?{_CONFLICT}\{{\s*"format":\s*\d+,\s*{_CONFLICT}\s*"digest":\s*"sha256:')
_NOT_JSON = object()


def is_module(text: str) -> bool:
    """Whether a text is a module of ours."""
    return _MODULE.match(text) is not None


def is_snapshot(text: str) -> bool:
    """Whether a text is a snapshot of ours, whatever happened to it."""
    return _SNAPSHOT.match(text) is not None or bool(recorded_target(text))


def recorded_target(text: str) -> str:
    """The target that a snapshot of ours names, even if it was edited by hand; empty for any other text."""
    match _json(text):
        case {"format": int(), "digest": str(digest), "target": str(target)} if digest.startswith("sha256:"):
            return target
    return ""


def may_replace(suffix: str, text: str, module: str | None) -> bool:
    """Whether nothing of anybody's is lost if a file is replaced.

    Args:
        suffix: `.py` or `.json`.
        text: What it holds now. Nothing at all is what a power failure leaves of a file.
        module: The text of the module of the same name: if that is ours, the snapshot that it names was ours too, and a
            text that is not even JSON is what became of it.
    """
    if suffix == ".py":
        return not text.strip() or is_module(text)
    damaged = _json(text) is _NOT_JSON and is_module(module or "")
    return not text.strip() or is_snapshot(text) or damaged


def _json(text: str) -> Any:
    """The value of a JSON text, or `_NOT_JSON`."""
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except ValueError:
        return _NOT_JSON
    except RecursionError:  # it may be JSON, but is none of ours
        return None
