"""What the model is told of a call that was refused: what to change, in its own names, without transport noise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from orl_codegen.errors import printable
from orl_codegen.ors.outputs import CallRefused, NotOffered
from orl_codegen.runtime.unanswered import Unanswered
from orl_codegen.runtime.vocabulary import bound_tools

LONGEST = 2000  # characters; a validation error quotes the whole input

_ESCAPE = re.compile(r"\\[\\'\"nrtxuU]")  # those of `repr`


def explained(adapter: type[Any], name: str, refusal: CallRefused) -> Unanswered:
    """The refusal of a call to the tool `name`, for the model."""
    reason = "not_offered" if isinstance(refusal, NotOffered) else refusal.reason or "refused"
    return Unanswered(_explanation(adapter, name, refusal), reason)


def _explanation(adapter: type[Any], name: str, refusal: CallRefused) -> str:
    if isinstance(refusal, NotOffered):
        return _cut(f"Error: {printable(name)} was not called: this task does not offer it. {_offer(adapter, refusal)}")
    problems = list(_problems(str(refusal), _python_names(adapter, name)))
    if problems:
        return _cut(f"Error: {name} was not called, its arguments are not valid: {'; '.join(problems)}.")
    return _cut(f"Error: {refusal}")


def _offer(adapter: type[Any], refusal: NotOffered) -> str:
    """The tools that the model knows and the task offers."""
    offered = [printable(name) for name in bound_tools(adapter) if name in refusal.offered]
    return f"The task offers {', '.join(offered)}." if offered else "The task offers none of your tools."


def _problems(text: str, names: Mapping[str, str]) -> Iterator[str]:
    """`name: what is wrong` for each entry of pydantic's list of errors, which the server quotes as Python source."""
    _, found, source = text.partition("Tool input validation error: ")
    for entry in _literal(source) if found else ():
        if isinstance(entry, dict) and isinstance(entry.get("loc"), tuple):
            first, *rest = [str(step) for step in entry["loc"]] or [""]
            where = ".".join([names.get(first, first), *rest])
            yield f"{where}: {entry.get('msg')}" if where else str(entry.get("msg"))


def _literal(source: str) -> list[Any]:
    if "\\" in _ESCAPE.sub("", source):
        return []  # Python did not write it, and reading it would print a warning that quotes the server
    try:
        value = ast.literal_eval(source)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    return value if isinstance(value, list) else []


def _python_names(adapter: type[Any], name: str) -> dict[str, str]:
    """`{wire key: python name}` of the parameters whose two names differ: the model knows the second only."""
    method = bound_tools(adapter).get(name)
    return {wire: python for python, wire in method.__tool__.aliases.items()} if method is not None else {}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
