"""The layout of a module, as black would make it, without running black over every line.

The shipped templates write one statement a line. Nearly all that do not fit have one of a few shapes, whose layout is a
matter of counting characters; whatever is rarer, such as an annotation too long for its line, black lays out by itself.
Tests hold that black leaves the result as it is. Modules of other templates pass through black as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import dedent, indent

LINE_LENGTH = 100

INDENT = "    "

_STRING = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_STRINGS = re.compile(_STRING)
_PARTS = re.compile(rf"{_STRING}|[\[\](){{}}]|, ?")
_QUOTE_OR_ESCAPE = re.compile(r'\\.|"')
_OTHER_QUOTES = {'"': '\\"', "\\'": "'"}

_UNBREAKABLE = ("#", '"', "'")
"""What comments, and items of a dict that has only strings, begin with."""

_A_LINE_EACH = ",) -> ToolResult:"
"""How the template asks for a line for each parameter."""

_VALUE = rf"(?:{_STRING}|[\w.-]+)"
_LITERAL = re.compile(rf"(    \w+: Literal)\[({_VALUE}(?:, {_VALUE})+)\]( = UNSET)?,", re.ASCII)
"""A parameter with one of several values: a server may list thousands, and black takes long over them."""

_METHOD = re.compile(r"(def \w+)\((.*)\) -> ToolResult:")
_CALL = re.compile(r"(@tool|return self\._call)\((.*)\)")


def formatted(source: str) -> str:
    """A module, by black."""
    from black import format_str
    from black.mode import Mode, TargetVersion

    return format_str(source, mode=Mode(target_versions={TargetVersion.PY311}, line_length=LINE_LENGTH))


def double_quoted(source: str) -> str:
    """Source whose strings are those of `repr`, with double quotes wherever these do not need more escapes."""
    return _STRINGS.sub(_requoted, source) if "'" in source else source


def _requoted(string: re.Match[str]) -> str:
    body = string[0][1:-1]
    if string[0][0] == '"' or body.count('"') > body.count("'"):
        return string[0]
    changed = _QUOTE_OR_ESCAPE.sub(lambda part: _OTHER_QUOTES.get(part[0], part[0]), body)
    return f'"{changed}"'


def laid_out(source: str) -> str:
    """A module of the shipped templates, whose statements have a line each, as black would lay it out."""
    return "\n".join(_lines(source.split("\n")))


def _lines(lines: Sequence[str]) -> Iterator[str]:
    in_docstring = False
    for line in lines:
        code = line.lstrip(" ")
        if in_docstring or code.startswith('"""'):
            in_docstring = not line.endswith('"""') or (code == '"""' and not in_docstring)
            yield line
        elif code.startswith(_UNBREAKABLE) or code.endswith("(") or _stays(line):
            yield line
        else:
            yield _broken(code, (len(line) - len(code)) // len(INDENT))


def _stays(line: str) -> bool:
    return _fits(line) and not line.endswith(_A_LINE_EACH)


def _broken(code: str, depth: int) -> str:
    """A statement that does not stay in one line."""
    method, call = _METHOD.fullmatch(code), _CALL.fullmatch(code)
    if not code.isascii() and not code.endswith(_A_LINE_EACH):  # it may fit after all: black knows its width
        return _by_black(code, depth)
    if method:
        lines = _method(method[1], method[2], depth)
    elif call:
        lines = _call(call[1], call[2], depth)
    else:
        return _by_black(code, depth)
    whole = indent("\n".join(lines), INDENT * depth)
    return whole if all(map(_fits, whole.split("\n"))) else _by_black(code, depth)


def _method(head: str, parameters: str, depth: int) -> list[str]:
    """The parameters in one line, or each in its own if they end with a comma; black gives `self` alone one."""
    in_one_line = parameters != "self" and not parameters.endswith(",") and _fits(INDENT * (depth + 1) + parameters)
    each = [parameters] if in_one_line else _parts(parameters)
    lines = [line for part in each for line in _parameter(f"{INDENT}{part}", depth)]
    return [f"{head}(", *lines, ") -> ToolResult:"]


def _parameter(line: str, depth: int) -> list[str]:
    """The lines of a parameter, which black lays out if it has a comma and is too long for its own."""
    if _fits(INDENT * depth + line) or not line.endswith(","):
        return [line]
    literal = _LITERAL.fullmatch(line) if line.isascii() else None
    if literal and not _fits(INDENT * (depth + 2) + literal[2]):
        values = [f"{INDENT * 2}{value.rstrip(',')}," for value in _parts(literal[2])]
        return [f"{literal[1]}[", *values, f"{INDENT}]{literal[3] or ''},"]
    method = dedent(_by_black(f"def _(self, *, {line.strip()}) -> ToolResult:", depth))
    return method.split("\n")[3:-1]


def _call(head: str, arguments: str, depth: int) -> list[str]:
    """The arguments in a line of their own, or each in its own; the items of the last one likewise."""
    lines = [f"{head}(", f"{INDENT}{arguments}", ")"]
    name, *rest = _parts(arguments)
    if _fits(INDENT * depth + lines[1]) or not rest:
        return lines
    return [lines[0], f"{INDENT}{name}", *(f"{INDENT}{line}" for line in _dict(rest[0], depth + 1)), ")"]


def _dict(argument: str, depth: int) -> list[str]:
    if _fits(INDENT * depth + argument):
        return [argument]
    words, brace, items = argument.partition("{")
    return [words + brace, *(f"{INDENT}{item}" for item in _parts(items[:-2])), "},"]


def _parts(source: str) -> list[str]:
    """What commas separate, outside of brackets and strings; each part with its comma."""
    parts, start, depth = [], 0, 0
    for found in _PARTS.finditer(source):
        if found[0] in "([{":
            depth += 1
        elif found[0] in ")]}":
            depth -= 1
        elif found[0][0] == "," and depth == 0:
            parts.append(f"{source[start : found.start()]},")
            start = found.end()
    return [*parts, f"{source[start:]},"] if source[start:] else parts


def _fits(line: str) -> bool:
    """Whether a line fits even if each of its characters outside ASCII is two columns wide."""
    return len(line) * (1 if line.isascii() else 2) <= LINE_LENGTH


def _by_black(code: str, depth: int) -> str:
    """A statement, or an argument of one, as black lays it out inside `depth` blocks."""
    before, after = [f"{INDENT * level}class _:" for level in range(depth)], []
    if code.startswith("@"):
        after = [f"{INDENT * depth}def _(): ..."]
    elif code.endswith(":"):
        after = [f"{INDENT * depth}{INDENT}pass"]
    elif code.endswith(","):
        before, after = [*before[:-1], f"{INDENT * (depth - 1)}_("], [f"{INDENT * (depth - 1)})"]
    lines = formatted("\n".join([*before, f"{INDENT * depth}{code}", *after])).rstrip("\n").split("\n")
    return "\n".join(lines[len(before) : len(lines) - len(after)])
