"""Docstrings that `transformers` cannot misread, out of text that a server wrote.

Its parser looks for `Args:`, `Returns:` and `Raises:` anywhere, even in mid-sentence, and takes a line that begins with
`word:` for a parameter (versions 5.2 to 5.24 were read; they differ in what indentation means). The usual ORS
description is itself a Google docstring. So its `Args:` lines are given to the parameters that they name, every such
word that is left gets a space before its colon, and a line is never broken where the rest would look like a parameter.
`plain` and `plain_line` are the text that is meant: what the parser returns.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

WIDTH = 84
"""Characters of a parameter's line, of the 100 that a generated line has: they are indented by up to 16."""

_SECTION = re.compile(r"(Args|Returns|Raises):")
_NEXT_SECTION = re.compile(r"(Returns|Raises):")
_CHOICES = re.compile(r"(\(choices):", re.IGNORECASE)
_ARGS_HEADER = re.compile(r"[ \t]*(?:Args|Arguments|Parameters|Params):[ \t]*")
_ENTRY = re.compile(r"\*{0,2}(?P<name>[^\s:(]+)[ \t]*(?P<type>\([^)\n]*\))?[ \t]*:(?:[ \t]+|$)(?P<text>.*)")
_BREAK = re.compile(r"(?<=\S) (?=\S)")
_LIKE_PARAMETER = re.compile(r"\s*\w+(?:[ \t]*\([^()\n]*\))?:")


@dataclass(frozen=True)
class Description:
    """A tool's description, with what it says about single parameters taken out."""

    text: str
    parameters: Mapping[str, str]


def split(description: str, keys: Collection[str]) -> Description:
    """Give the lines of the `Args:` section of a Google docstring to the parameters that they name.

    Lines that name no parameter, and all other sections, stay in the text.
    """
    lines = inspect.cleandoc(description.replace("\r\n", "\n")).split("\n")
    found: dict[str, str] = {}
    kept: list[str] = []
    at = 0
    while at < len(lines):
        end = _section_end(lines, at) if _ARGS_HEADER.fullmatch(lines[at]) else at
        if end == at:
            kept.append(lines[at])
            at += 1
            continue
        rest = _take_entries(lines[at + 1 : end], keys, found)
        kept += [lines[at], *rest] if any(line.strip() for line in rest) else []
        at = end
    return Description("\n".join(kept), found)


def _section_end(lines: Sequence[str], header: int) -> int:
    """The first line behind a section: one that is indented no deeper than its header."""
    indent = _indent(lines[header])
    end = header + 1
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > indent):
        end += 1
    return end if any(line.strip() for line in lines[header + 1 : end]) else header


def _take_entries(lines: Sequence[str], keys: Collection[str], found: dict[str, str]) -> list[str]:
    """Move entries that name a key into `found`; return the lines that are left."""
    margin = min(_indent(line) for line in lines if line.strip())
    left: list[str] = []
    current: str | None = None
    for line in lines:
        if line.strip() and _indent(line) == margin:
            entry = _ENTRY.fullmatch(line.strip())
            current = entry["name"] if entry and entry["name"] in keys and entry["name"] not in found else None
            if entry and current is not None:
                found[current] = " ".join(filter(None, [entry["text"].strip(), _type_words(entry["type"])]))
                continue
        if current is None:
            left.append(line)
        elif line.strip():
            found[current] = f"{found[current]} {line.strip()}".strip()
    return left


def _type_words(group: str | None) -> str:
    """`(str, optional)` is said by the annotation already; anything more is kept."""
    known = r"\(\s*[\w\[\]|., ]{0,40}\s*\)"
    return "" if group is None or re.fullmatch(known, group) else group


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def plain(text: str) -> str:
    """The text of a tool as the parser returns it: dedented, without tabs, its section words defused."""
    # Twice, because a docstring whose later lines are all indented loses that when it is read.
    lines = inspect.cleandoc(inspect.cleandoc(text.replace("\r\n", "\n"))).split("\n")
    return _SECTION.sub(r"\1 :", "\n".join(line.rstrip(" ") for line in lines)).strip()


def plain_line(text: str) -> str:
    """The text of a parameter as the parser returns it: one line."""
    line = re.sub(r"\s*\n+\s*", " ", text.replace("\r\n", "\n").expandtabs()).strip()
    return _CHOICES.sub(r"\1 :", _NEXT_SECTION.sub(r"\1 :", line))


def compose(text: str, parameters: Sequence[tuple[str, str]]) -> str:
    """The docstring of a method.

    Args:
        text: The `plain` text of the tool.
        parameters: Name and `plain_line` of each parameter.
    """
    if not parameters:
        return text
    lines = [line for name, words in parameters for line in _entry(f"{name}: {words}")]
    return "\n".join([text, "", "Args:", *lines])


def _entry(line: str) -> list[str]:
    return [f"{'    ' if i == 0 else '        '}{part}" for i, part in enumerate(_wrap(line))]


def _wrap(line: str) -> list[str]:
    """Break at single spaces, which the parser puts back, and never in front of what looks like a parameter."""
    lines: list[str] = []
    start, last = 0, None
    for match in _BREAK.finditer(line):
        if last is not None and match.start() - start > WIDTH:
            lines.append(line[start:last])
            start, last = last + 1, None
        if not _LIKE_PARAMETER.match(line, match.end()):
            last = match.start()
    if last is not None and len(line) - start > WIDTH:
        lines.append(line[start:last])
        start = last + 1
    return [*lines, line[start:]]


def literal(docstring: str, indent: int) -> str:
    """The source of a docstring: what it evaluates to is the text, indented, and nothing in it ends it early."""
    lines = docstring.split("\n")
    margin = " " * indent
    body = "\n".join(margin + _escaped(line) if line and i else _escaped(line) for i, line in enumerate(lines))
    body = re.sub(r'"""|"\Z', lambda quotes: r"\"" * len(quotes[0]), body)
    return f'"""{body}"""' if len(lines) == 1 else f'"""{body}\n{margin}"""'


def _escaped(line: str) -> str:
    """Backslashes doubled; what does not print (controls, bidi marks, odd spaces) as a visible escape."""
    return "".join(
        "\\\\" if character == "\\"
        else character if character.isprintable()
        else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in line
    )  # fmt: skip
