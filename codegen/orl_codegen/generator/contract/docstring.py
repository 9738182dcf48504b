"""Docstrings that `transformers` cannot misread, made from text that a server wrote.

Its parser looks for `Args:`, `Returns:` and `Raises:` anywhere, even in mid-sentence, and takes a line that begins with
`word:` for a parameter (we read versions 5.2 to 5.24; they differ in what indentation means). The usual ORS description
is itself a Google docstring. So its `Args:` lines are given to the parameters that they name, every such word that is
left loses its colon (see `_without_sections`), and a line is never broken where the rest would look like a parameter.
`plain` and `plain_line` are the intended text: what the parser returns.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

WIDTH = 84
"""Characters in a line of a parameter: a generated line has 100, and 16 of them may be indentation."""

_SECTION = r"Args|Returns|Raises"
_NEXT_SECTION = r"Returns|Raises"
_CHOICES = re.compile(r"(\(choices): ?", re.IGNORECASE)
_ARGS_HEADER = re.compile(r"[ \t]*(?:Args|Arguments|Parameters|Params):[ \t]*")
_ENTRY = re.compile(r"\*{0,2}(?P<name>[^\s:(]+)[ \t]*(?P<type>\([^)\n]*\))?[ \t]*:(?:[ \t]+|$)(?P<text>.*)")
_BREAK = re.compile(r"(?<=\S) (?=\S)")
_LIKE_PARAMETER = re.compile(r"\s*\w+(?:[ \t]*\([^()\n]*\))?:")


@dataclass(frozen=True)
class Description:
    """A tool's description, separated into its text and what it says about single parameters."""

    text: str
    parameters: Mapping[str, str]


def take_apart(description: str, keys: Collection[str]) -> Description:
    """Give the lines of the `Args:` section of a Google docstring to the parameters that they name.

    Lines that do not name a parameter, and all other sections, stay in the text.
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
    """The first line after a section: one that is not indented deeper than its header."""
    indent = _indent(lines[header])
    end = header + 1
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > indent):
        end += 1
    return end if any(line.strip() for line in lines[header + 1 : end]) else header


def _take_entries(lines: Sequence[str], keys: Collection[str], found: dict[str, str]) -> list[str]:
    """Move the entries that name a key into `found`; return the remaining lines."""
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
    """What an entry has in parentheses, unless it only repeats the annotation, as `(str, optional)` does."""
    known = r"\(\s*[\w\[\]|., ]{0,40}\s*\)"
    return "" if group is None or re.fullmatch(known, group) else group


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def plain(text: str) -> str:
    """The text of a tool as the parser returns it: dedented, without tabs, and without section headings."""
    # Twice, because a docstring whose later lines are all indented loses that indentation when it is read.
    dedented = inspect.cleandoc(inspect.cleandoc(text.replace("\r\n", "\n")))
    return "\n".join(line.rstrip(" ") for line in _without_sections(dedented, _SECTION).split("\n")).strip()


def plain_line(text: str) -> str:
    """The text of a parameter as the parser returns it: one line."""
    line = re.sub(r"\s*\n+\s*", " ", text.replace("\r\n", "\n").expandtabs()).strip()
    return _CHOICES.sub(r"\1 — ", _without_sections(line, _NEXT_SECTION)).strip()


def _without_sections(text: str, words: str) -> str:
    """Take the colon from section words, because the parser would cut the text there, and keep the words.

    A heading on a line of its own is still read as one without its colon, as in NumPy docstrings; elsewhere
    `Returns: the rows` reads best as `Returns — the rows`.
    """
    text = re.sub(rf"^([ \t]*)({words}):[ \t]*$", r"\1\2", text, flags=re.MULTILINE)
    return re.sub(rf"({words}): ?", "\\1 — ", text)


def compose(text: str, parameters: Sequence[tuple[str, str]]) -> str:
    """The docstring of a method.

    Args:
        text: The text of the tool, made by `plain`.
        parameters: Name and text of each parameter; the texts are made by `plain_line`.
    """
    if not parameters:
        return text
    lines = [line for name, words in parameters for line in _entry(f"{name}: {words}")]
    return "\n".join([text, "", "Args:", *lines])


def _entry(line: str) -> list[str]:
    return [f"{'    ' if i == 0 else '        '}{part}" for i, part in enumerate(_wrap(line))]


def _wrap(line: str) -> list[str]:
    """Break at single spaces, which the parser restores, and never before something that looks like a parameter."""
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
    """The source of a docstring. It evaluates to the text, indented, and nothing in the text ends it early."""
    lines = docstring.split("\n")
    margin = " " * indent
    body = "\n".join(margin + _escaped(line) if line and i else _escaped(line) for i, line in enumerate(lines))
    body = re.sub(r'"""|"\Z', lambda quotes: r"\"" * len(quotes[0]), body)
    # Black sets a quote apart from those around it.
    body = f" {body}" if body.startswith('"') else body
    if len(lines) > 1:
        return f'"""{body}\n{margin}"""'
    return f'"""{body} """' if body.endswith('"') else f'"""{body}"""'


def _escaped(line: str) -> str:
    """Double the backslashes; make what does not print (controls, bidi marks, odd spaces) a visible escape."""
    if line.isprintable():
        return line.replace("\\", "\\\\")
    return "".join(
        "\\\\" if character == "\\"
        else character if character.isprintable()
        else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in line
    )  # fmt: skip
