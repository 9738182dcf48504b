"""A change, as data, and the place where it happened."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from orl_codegen.errors import printable
from orl_codegen.schema.json_values import canonical
from orl_codegen.schema.pointer import escape, split, unescape

_EXCERPT = 80
"""How many characters of an old or new value a message shows."""


@dataclass(frozen=True)
class Change:
    """One difference.

    Attributes:
        rule: Id of the rule that names it.
        tool: Wire name of the tool; None if the environment or a file changed.
        path: JSON pointer into the tool's spec, or into the snapshot if `tool` is None. References are resolved, so it
            leads through a definition at the place where it is used.
        old: The old value as JSON; None if there was none.
        new: The new value as JSON; None if there is none.
    """

    rule: str
    tool: str | None
    path: str
    old: Any = None
    new: Any = None

    @property
    def fingerprint(self) -> str:
        """Twelve hex digits that identify this change on every machine, whatever else changed."""
        text = canonical([self.rule, self.tool, self.path, self.old, self.new])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def what(self) -> str:
        """What changed, as a person would call it: `filters.cuisine` of `search`."""
        if self.tool is None:
            return quoted(self._place.key)
        inside = spoken(self.path)
        return f"{quoted(inside)} of {quoted(self.tool)}" if inside else quoted(self.tool)

    @property
    def _place(self) -> Place:
        return Place(self.tool, self.path)

    @property
    def _around(self) -> Change:
        """The change as one of what its keyword stands in: a limit limits the schema around it."""
        return replace(self, path=self.path.rpartition("/")[0])

    @property
    def _was(self) -> Change:
        """The change at the old name, of something that was renamed."""
        return replace(self, path=f"{self.path.rpartition('/')[0]}/{escape(shown(self.old))}")

    def sentence(self, template: str) -> str:
        """One sentence about the change; the server's values are escaped and cut to where they differ."""
        old, new = _contrast(shown(self.old), shown(self.new))
        text = template.format(
            what=self.what, around=self._around.what, was=self._was.what, old=old, new=new, path=quoted(self._place.key)
        )
        return text[0].upper() + text[1:]


Changes = Iterator[Change]


@dataclass(frozen=True)
class Place:
    """Where a comparison is. `place / "properties" / name` goes deeper."""

    tool: str | None = None
    path: str = ""

    def __truediv__(self, part: str | int) -> Place:
        return Place(self.tool, f"{self.path}/{escape(str(part))}")

    @property
    def key(self) -> str:
        """The last part of the path."""
        return unescape(self.path.rpartition("/")[2])

    def change(self, rule: str, old: Any = None, new: Any = None) -> Change:
        """A change that happened here."""
        return Change(rule, self.tool, self.path, old, new)


def spoken(path: str) -> str:
    """A pointer into a tool's spec as people write it: `/input_schema/properties/a/items/properties/b` is `a[].b`."""
    words, rest = "", split(path)
    while rest:
        keyword, *rest = rest
        if keyword == "properties" and rest:
            words += ("." if words else "") + rest.pop(0)
        elif keyword in _STEPS:
            words += _STEPS[keyword].format(rest.pop(0) if rest and "{" in _STEPS[keyword] else "")
    return words


_STEPS: Mapping[str, str] = MappingProxyType(
    {"items": "[]", "prefixItems": "[{}]", "additionalProperties": "[*]", "anyOf": "<{}>"}
)


def shown(value: Any) -> str:
    """A value for a message: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else canonical(value)


def _contrast(old: str, new: str) -> tuple[str, str]:
    """Both texts, quoted and cut to fit a line, starting shortly before the first difference."""
    common = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    start = max(0, common - 20) if max(len(old), len(new)) > _EXCERPT else 0
    return _excerpt(old, start), _excerpt(new, start)


def _excerpt(text: str, start: int) -> str:
    return quoted(f"{'…' if start else ''}{text[start:]}", _EXCERPT + bool(start))


def quoted(text: str, limit: int = 200) -> str:
    """Server text between backticks. Those inside it are replaced, so that Markdown finds where it ends: outside, it
    could become a link or a mention."""
    return f"`{printable(text, limit).replace('`', chr(39))}`"
