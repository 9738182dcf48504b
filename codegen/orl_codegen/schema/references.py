"""Where the references inside one `input_schema` lead, as pointers: `$ref`, `$dynamicRef` and `$recursiveRef`.

They name their target by pointer, by anchor, or by the URI of a schema with an `$id`. Nothing outside the document is
looked at. Where emitters disagree with the specification, both readings are tried, its own first.

The library `referencing` does not fit: it returns what a reference leads to without its pointer, by which loops are
found; it reads a document as one draft only; and of 2,000 documents with malformed identifiers and keywords, it failed
on 1,970 with an error that is not its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from orl_codegen.schema.pointer import index, join, look_up, unescape

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

MAX_IDENTIFIER = 2_000
"""The longest `$id` that is read: each is joined to the one around it, and thousands of long ones would fill memory."""

MAX_SLASHES = 16
"""How many slashes a key may have that an emitter forgot to escape."""

MAX_LEVELS = 8
"""How many levels deep the definitions may be in a keyword that JSON Schema does not know."""

IDENTIFIERS = ("$id", "id")

ANCHORS = ("$anchor", "$dynamicAnchor")

VALUES = frozenset({"default", "const", "enum", "example", "examples"})
"""Keywords that hold values: what looks like an identifier in them is none."""

NAMES = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})
"""Keywords that hold schemas by name: what looks like a keyword in them is a name."""

Keys = tuple[Any, ...]
"""The keys that lead to a place, as pairs of those around it and its own: a pointer is only made of few of them."""


class Outside(LookupError):
    """A reference leads out of the document."""


class References:
    """The references of one document.

    Every schema belongs to the resource of the nearest `$id` around it, or else to the document, whose URI is empty
    unless it has an `$id` itself. URIs and names of anchors are relative to that resource.
    """

    def __init__(self, root: object) -> None:
        self._root = root
        self._resources: dict[str, Keys] = {"": ()}
        self._anchors: dict[tuple[str, str], Keys] = {}
        self._dynamic: dict[tuple[str, str], Keys] = {}
        self._owners: dict[int, str] = {}  # by identity: a schema that is merged elsewhere keeps its resource
        self._references: list[tuple[Mapping[str, Any], str]] = []
        for schema, keys, owner in self._schemas():
            self._owners[id(schema)] = owner
            self._enter_anchors(schema, keys, owner)
            self._references += [(schema, name) for name in REFERENCES if isinstance(schema.get(name), str)]

    def target(self, schema: object, keyword: str, scope: Iterable[str] = ()) -> str:
        """The pointer that a reference leads to.

        Args:
            schema: The schema that holds it.
            keyword: The one of `REFERENCES` that it is.
            scope: The pointers of the schemas around it, outermost first, where dynamic references look.

        Raises:
            Outside: It leads out of the document.
            LookupError: It leads to nothing in the document.
        """
        assert isinstance(schema, Mapping)
        reference, owner = schema[keyword], self._owner(schema)
        for base in dict.fromkeys([owner, self._owner(self._root)]):
            uri, fragment = _parsed(base, reference)
            if uri not in self._resources:
                raise Outside(reference)
            if keyword != "$ref" and (uri, fragment) in self._dynamic:
                return self._outermost(fragment, uri, scope)
            found = self._find(uri, fragment)
            if found is not None:
                return found
            if not reference.startswith("#"):
                break  # only what is local to a resource is often meant for the document
        raise LookupError(reference)

    def holds_definitions(self, value: object, levels: int = MAX_LEVELS) -> bool:
        """Whether a value holds targets of references and nothing else."""
        if id(value) in self._targets:
            return True
        parts = list(value.values()) if isinstance(value, Mapping) else []
        if any(id(part) in self._targets for part in parts):
            return all(isinstance(part, (Mapping, bool)) for part in parts)  # those that nothing refers to, too
        return bool(parts) and levels > 0 and all(self.holds_definitions(part, levels - 1) for part in parts)

    @cached_property
    def _targets(self) -> dict[int, object]:
        """Whatever a reference of the document leads to, by identity."""
        found: dict[int, object] = {}
        for schema, keyword in self._references:
            try:
                target = look_up(self._root, self.target(schema, keyword))
            except LookupError:
                continue
            found[id(target)] = target
        return found

    def _schemas(self) -> Iterator[tuple[Mapping[str, Any], Keys, str]]:
        """Every object that may be a schema, its place and its resource; outer ones first."""
        waiting: deque[tuple[object, Keys, str, bool]] = deque([(self._root, (), "", False)])
        while waiting:
            value, keys, owner, by_name = waiting.popleft()
            if isinstance(value, Mapping) and not by_name:
                owner = self._enter_resource(value, keys, owner)
                yield value, keys, owner
            parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
            for key, part in parts:
                if isinstance(part, (Mapping, list)) and (by_name or key not in VALUES):
                    waiting.append((part, (keys, key), owner, not by_name and key in NAMES))

    def _enter_resource(self, schema: Mapping[str, Any], keys: Keys, owner: str) -> str:
        """The resource that a schema belongs to, its own where it has an identifier."""
        identifier = next((schema[name] for name in IDENTIFIERS if isinstance(schema.get(name), str)), "")
        if not 0 < len(identifier) <= MAX_IDENTIFIER:
            return owner
        try:
            uri, name = _parsed(owner, identifier)
        except Outside:
            return owner
        if name:  # an anchor, as drafts before 2019-09 write it
            self._anchors.setdefault((uri, name), keys)
            return owner
        self._resources.setdefault(uri, keys)
        return uri

    def _enter_anchors(self, schema: Mapping[str, Any], keys: Keys, owner: str) -> None:
        for keyword in ANCHORS:
            if isinstance(schema.get(keyword), str):
                self._anchors.setdefault((owner, schema[keyword]), keys)
        if isinstance(schema.get("$dynamicAnchor"), str):
            self._dynamic.setdefault((owner, schema["$dynamicAnchor"]), keys)
        if schema.get("$recursiveAnchor") is True and self._resources[owner] == keys:
            self._dynamic.setdefault((owner, ""), keys)

    def _owner(self, schema: object) -> str:
        """The URI of the resource that a schema belongs to."""
        return self._owners.get(id(schema)) or self._owners.get(id(self._root), "")

    def _outermost(self, name: str, uri: str, scope: Iterable[str]) -> str:
        """The dynamic anchor of a name in the outermost of the resources around, or else in the one at `uri`."""
        for pointer in ("", *scope):
            try:
                owner = self._owner(look_up(self._root, pointer))
            except LookupError:  # what was merged has no place in the document
                continue
            if (owner, name) in self._dynamic:
                return _pointer(self._dynamic[owner, name])
        return _pointer(self._dynamic[uri, name])

    def _find(self, uri: str, fragment: str) -> str | None:
        """The pointer of a fragment of a resource."""
        resource = _pointer(self._resources[uri])
        if not fragment:
            return resource
        if not fragment.startswith("/"):
            anchor = self._anchors.get((uri, unquote(fragment)))
            return None if anchor is None else _pointer(anchor)
        schema = look_up(self._root, resource)
        for most in (1, MAX_SLASHES):
            for text in dict.fromkeys([unquote(fragment), fragment]):
                keys = _keys(schema, text.split("/")[1:], most)
                if keys is not None:
                    return join(resource, *keys)
        return None


def _parsed(base: str, reference: str) -> tuple[str, str]:
    """The URI of the resource that a reference names, and the fragment in it, still escaped.

    Raises:
        Outside: It is not a URI reference.
    """
    if reference.startswith("#"):
        return base, reference[1:]
    try:
        uri, fragment = urldefrag(urljoin(base, reference))
    except ValueError as error:
        raise Outside(reference) from error
    return uri, fragment


def _pointer(keys: Keys) -> str:
    parts: list[str | int] = []
    while keys:
        keys, key = keys
        parts.append(key)
    return join("", *reversed(parts))


def _keys(found: object, parts: Sequence[str], most: int) -> list[str | int] | None:
    """The keys that the parts of a pointer spell, where up to `most` of them are one key with unescaped slashes."""
    keys: list[str | int] = []
    at = 0
    while at < len(parts):
        for width in range(min(most, len(parts) - at), 0, -1):
            key = _key(found, "/".join(parts[at : at + width]))
            if key is not None:
                break
        else:
            return None
        keys.append(key)
        found = found[key]  # type: ignore[index]
        at += width
    return keys


def _key(found: object, spelled: str) -> str | int | None:
    """The key of an object, or the index into a list, that is spelled so, escaped or not."""
    if isinstance(found, list):
        return index(spelled, found)
    if not isinstance(found, Mapping):
        return None
    return next((key for key in (unescape(spelled), spelled) if key in found), None)
