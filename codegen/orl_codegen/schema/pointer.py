"""JSON pointers: where something stands in a document, as in `/properties/a~1b/items`."""

from __future__ import annotations

from collections.abc import Mapping


def escape(key: str) -> str:
    """A key as a part of a pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def unescape(part: str) -> str:
    """The key that a part of a pointer stands for."""
    return part.replace("~1", "/").replace("~0", "~")


def join(pointer: str, *keys: str | int) -> str:
    """The pointer to what stands under `keys`, one inside the other, from `pointer` on."""
    return "".join([pointer, *(f"/{escape(str(key))}" for key in keys)])


def split(pointer: str) -> list[str]:
    """The keys that lead from the document to where a pointer points."""
    return [unescape(part) for part in pointer.split("/")[1:]]


def look_up(document: object, pointer: str) -> object:
    """What stands at a pointer.

    Raises:
        LookupError: Nothing does.
    """
    found = document
    for key in split(pointer):
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif isinstance(found, list) and _is_index(key) and int(key) < len(found):
            found = found[int(key)]
        else:
            raise LookupError(pointer)
    return found


def _is_index(key: str) -> bool:
    return key.isdecimal() and len(key) < 20  # Python refuses to read an integer of thousands of digits
