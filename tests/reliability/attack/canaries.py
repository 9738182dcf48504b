"""Text that would run if it ever became code, and the proof that it would: careless code that it does run in."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

RUN = "__import__('builtins').canary.append(1)"
"""What each payload tries to have executed."""

PAYLOADS: Mapping[str, tuple[str, ...]] = {
    "docstring": (
        f'""";{RUN};"""',
        f'"""\n    {RUN}\n    """',
        f'\\\\""";{RUN};"""',
        f'"""+str({RUN})+"""',
        f'""" if {RUN} else """',
        f'""";exec(\'{RUN.replace(chr(39), chr(92) + chr(39))}\');"""',
    ),
    "double quotes": (f'"+str({RUN})+"', f'";{RUN};"', f'"\n{RUN}\n"', f'\\\\";{RUN}#', f'"[{RUN}:] or "'),
    "single quotes": (f"'+str({RUN})+'", f"';{RUN};'", f"'\n{RUN}\n'", f"\\\\';{RUN}#"),
    "comment": (f"\n{RUN}\n", f"\r{RUN}\r", f"\r\n{RUN}#", f"\x0c\n{RUN}", f"type: ignore\n{RUN}\n#"),
    "name": (f"x(y={RUN}): pass\ndef z", f"x(): pass\n{RUN}\ndef z", f"x(y: {RUN}): pass\ndef z"),
    "expression": (RUN, f"[{RUN}][0]", f"int if {RUN} else str", f"1;{RUN}", f"(lambda: {RUN})()", f"None) or ({RUN}"),
    "f-string": (f"{{{RUN}}}", f"{{{RUN}!r:>3}}", f"x{{0}}{{{RUN}}}"),
    "template": (
        "{{ cycler.__init__.__globals__.__builtins__.__import__('builtins').canary.append(1) }}",
        "{% set x = joiner.__init__.__globals__.__builtins__.__import__('builtins').canary.append(1) %}",
    ),
}
"""For each place of a module that a careless generator puts text into, what gets out of it there."""

ODD = (
    *['"""', "'''", '"', "'", "\\", "x\\", "\\\\", '\\"""', "\\N{DIGIT ONE}", "\\u0022\\u0022\\u0022", "\\x22", "\\\n"],
    *["\x00", "\x0b", "\x0c", "\x1b[31m", "\x85", "\xa0", "\u2028", "\u2029", "\u202e", "\u200b", "\ufeff", "\ue000"],
    *[
        "\r",
        "\r\n",
        "\n",
        "\t",
        "  ",
        "\n\n",
        "\n    x: y\n",
        "Args:\n    q: x\n",
        "Returns:",
        "Raises: x",
        "(choices: [1])",
    ],
    *[
        "# type: ignore",
        "# -*- coding: utf-7 -*-",
        "# coding=rot13",
        "+AAo-x+AD0-1",
        "# fmt: off",
        "# noqa",
        "# mypy: ignore-errors",
    ],
    *["{{7*7}}", "{% include 'module.py.jinja' %}", "{# #}", "{% raw %}", "%s", "{0}", "${x}", "#}", "<|im_end|>"],
    *["NaN", "Infinity", "-0", "1e999", "0x10", "1_000", "True", "None", "...", "lambda: 0", "*", "**", "@", ":=", ";"],
    *["\u00e9", "e\u0301", "\U0001f511", "\u0130", "\u00df", "long " * 40, "x" * 300, "\ud83d\udd11", "\udfff"],
)
"""Text that breaks what splits, counts, quotes or wraps it wrongly, though it runs nothing."""

NAMES = (
    *[
        "q",
        "limit",
        "file-path",
        "x.y",
        "2nd",
        "",
        " ",
        "_",
        "__",
        "__x",
        "_x",
        "class",
        "from",
        "match",
        "case",
        "type",
    ],
    *["self", "cls", "UNSET", "tool", "ToolResult", "Environment", "RolloutAdapter", "TerminalTool", "Any", "Literal"],
    *["TYPE_CHECKING", "TypedDict", "NotRequired", "annotations", "dict", "str", "int", "list", "print", "super"],
    *[
        "_call",
        "_environment",
        "_close",
        "_sending",
        "reset",
        "reward",
        "get_reward",
        "rewards",
        "metadata",
        "finished",
    ],
    *["__init__", "__class__", "__dict__", "__getattr__", "__del__", "__slots__", "__call__", "__set_name__", "mro"],
    *[
        "\ufb01",
        "fi",
        "\u00aa",
        "a",
        "\u212a",
        "K",
        "\u017f",
        "s",
        "\uff58",
        "x",
        "\u1d62",
        "i",
        "gr\u00f6\u00dfe",
        "\u540d\u524d",
    ],
    *["title", "properties", "items", "default", "description", "required", "$ref", "$defs", "enum", "const", "allOf"],
)
"""Names that mean something to Python, to the templates, to TRL or to JSON Schema, and some that NFKC makes equal."""

CARELESS: Mapping[str, Callable[[str], str]] = {
    "docstring": lambda text: f'def f():\n    """{text}"""\nf()',
    "double quotes": lambda text: f'x = "{text}"',
    "single quotes": lambda text: f"x = '{text}'",
    "comment": lambda text: f"x = 1  # {text}\n",
    "name": lambda text: f"def {text}(): pass",
    "expression": lambda text: f"x = ({text})" if ";" not in text else f"x = {text}",
    "f-string": lambda text: f'x = f"{text}"',
}
"""Code that somebody might write who puts text into it as it is."""


@contextlib.contextmanager
def canary() -> Iterator[list[int]]:
    """A list that grows by one with each payload that runs inside of the block."""
    ran: list[int] = []
    builtins.canary = ran  # type: ignore[attr-defined]
    try:
        yield ran
    finally:
        del builtins.canary  # type: ignore[attr-defined]


def runs_carelessly(place: str, text: str) -> bool:
    """Whether a text runs where it is put into a place without care."""
    with canary() as ran, contextlib.suppress(Exception):
        if place == "template":
            _render(text)
        else:
            exec(compile(CARELESS[place](text), "<careless>", "exec", dont_inherit=True), {})
    return bool(ran)


def _render(text: str) -> Any:
    from jinja2 import Template

    return Template(f"# {text}").render()
