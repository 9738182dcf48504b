"""One `input_schema` as a document: what its references lead to, and how much of it may be worked out.

A server can nest schemas without end, and a few references can expand to billions of schemas, so whoever walks a
document calls `count` for every schema and `deeper` for every level.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import NoReturn

from orl_codegen.errors import SchemaError, printable
from orl_codegen.schema.pointer import look_up
from orl_codegen.schema.references import Outside, References

MAX_DEPTH = 64
"""How deep schemas may nest once references are followed."""

MAX_SCHEMAS = 20_000
"""How many schemas one tool may hold once references are followed."""

MAX_TEXT = 4_000_000
"""How many characters of JSON one tool may hold once references are followed."""


class Document:
    """The `input_schema` of a tool. Its faults are raised as `SchemaError`, with the pointer to the place."""

    def __init__(self, root: object, tool: str) -> None:
        self._root = root
        self._tool = tool
        self._schemas = 0
        self._depth = 0
        self._text = 0
        self._lengths: dict[str, int] = {}

    def count(self, pointer: str) -> None:
        """One schema more, within the limit."""
        self._schemas += 1
        if self._schemas > MAX_SCHEMAS:
            self.refuse(pointer, f"it holds more than {MAX_SCHEMAS:,} schemas once its references are followed")

    @contextmanager
    def deeper(self, pointer: str) -> Iterator[None]:
        """One level deeper, within the limit."""
        if self._depth >= MAX_DEPTH:
            self.refuse(pointer, f"it nests more than {MAX_DEPTH} levels deep, references counted")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def target_of(self, schema: object, keyword: str, pointer: str, scope: Iterable[str]) -> str:
        """The pointer that a reference leads to.

        Args:
            schema: The schema that holds the reference, as the server sent it.
            keyword: `$ref`, `$dynamicRef` or `$recursiveRef`.
            pointer: Where the schema is.
            scope: The pointers of the schemas around it, outermost first.
        """
        reference = schema.get(keyword) if isinstance(schema, Mapping) else None
        try:
            target = self.references.target(schema, keyword, scope) if isinstance(reference, str) else None
        except Outside:
            target = None
        except LookupError:
            self.refuse(pointer, f"its reference {printable(reference)!r} leads nowhere")
        if target is None:
            self.refuse(
                pointer,
                f"its reference {printable(reference)!r} leaves the document, and orl-codegen reads neither files nor "
                "addresses that a server names; only references such as '#/$defs/Name' are followed",
            )
        if target == pointer:
            self.refuse(pointer, "a reference leads only to itself")
        return target

    @cached_property
    def references(self) -> References:
        """The references of the document, once the first one is met."""
        return References(self._root)

    def at(self, target: str) -> object:
        """What is at the pointer that a reference leads to, as long as that does not become too much."""
        found = look_up(self._root, target)
        if target not in self._lengths:
            self._lengths[target] = len(json.dumps(found, ensure_ascii=False))
        self._text += self._lengths[target]
        if self._text > MAX_TEXT:
            self.refuse(target, f"it holds more than {MAX_TEXT:,} characters once its references are followed")
        return found

    def refuse(self, pointer: str, why: str) -> NoReturn:
        """Refuse the tool because of what is at `pointer`."""
        raise SchemaError(
            f"The tool {printable(self._tool)!r} is refused: at {printable('#' + pointer)!r} of its input_schema, "
            f"{why}. Fix the tool on the server, or leave it out with --allow-partial."
        )
