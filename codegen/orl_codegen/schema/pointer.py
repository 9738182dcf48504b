"""JSON pointers: the path to a place in a document, such as `/properties/a~1b/items`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def escape(key: str) -> str:
    """A key as a part of a pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def unescape(part: str) -> str:
    """The key that a part of a pointer spells."""
    return part.replace("~1", "/").replace("~0", "~")


def join(pointer: str, *keys: str | int) -> str:
    """The pointer that leads on from `pointer` through `keys`."""
    return "".join([pointer, *(f"/{escape(str(key))}" for key in keys)])


def split(pointer: str) -> list[str]:
    """The keys that a pointer leads through."""
    return [unescape(part) for part in pointer.split("/")[1:]]


def look_up(document: object, pointer: str) -> object:
    """What is at a pointer.

    Raises:
        LookupError: There is nothing.
    """
    found = document
    for key in split(pointer):
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif isinstance(found, list) and (at := index(key, found)) is not None:
            found = found[at]
        else:
            raise LookupError(pointer)
    return found


def index(key: str, items: Sequence[object]) -> int | None:
    """The index into a list that a key spells; None where it spells none of this list."""
    # Python refuses to read an integer of thousands of digits.
    at = int(key) if key.isdecimal() and len(key) < 20 else len(items)
    return at if at < len(items) else None
