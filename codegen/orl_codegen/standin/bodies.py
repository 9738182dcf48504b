"""The bodies of requests, checked as the SDK's server checks them: the same bodies are refused, with the same words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from orl_codegen.ors.unicode import json_of
from orl_codegen.standin.world import JSON, NotServed


class Key(NamedTuple):
    """What stands under a key of a body: its JSON type, and whether it may be left out, or be null."""

    type: str
    optional: bool = False


_OPTIONAL_TEXT, _OPTIONAL_NUMBER = Key("string", True), Key("integer", True)
_SPLIT = {"split": Key("string")}

BODIES: Mapping[str, Mapping[str, Key]] = {
    "tasks": _SPLIT,
    "num_tasks": _SPLIT,
    "task": {**_SPLIT, "index": Key("integer")},
    "task_range": {**_SPLIT, "start": _OPTIONAL_NUMBER, "stop": _OPTIONAL_NUMBER},
    "create": {
        "env_name": _OPTIONAL_TEXT,
        "task_spec": Key("object", True),
        "split": _OPTIONAL_TEXT,
        "index": _OPTIONAL_NUMBER,
        "toolset_name": _OPTIONAL_TEXT,
    },
    "call": {"name": Key("string"), "input": Key("object"), "task_id": _OPTIONAL_TEXT},
    "score_group": {"candidates": Key("array"), "task_id": _OPTIONAL_TEXT},
}
"""The keys of the body of each route."""

_TYPES: Mapping[str, tuple[type, str, str]] = {
    "string": (str, "string_type", "Input should be a valid string"),
    "object": (dict, "dict_type", "Input should be a valid dictionary"),
    "array": (list, "list_type", "Input should be a valid list"),
}

_INTEGER = "Input should be a valid integer"
_EITHER = "Value error, Provide either task_spec or both split and index, not both/neither"


def body_of(route: str, content: bytes, content_type: str) -> JSON:
    """The body of a request to a route, with None for the keys that it leaves out.

    Raises:
        NotServed: It is not what the route takes.
    """
    value = _parsed(content, content_type)
    if value is None:
        raise NotServed(422, [_problem("missing", [], "Field required", None)])
    if not isinstance(value, dict):
        text = "Input should be a valid dictionary or object to extract fields from"
        raise NotServed(422, [_problem("model_attributes_type", [], text, value)])
    keys = BODIES[route]
    read, problems = dict.fromkeys(keys), []
    for name, key in keys.items():
        read[name], found = _read(name, key, value)
        problems += found
    problems += [
        _problem("extra_forbidden", [name], "Extra inputs are not permitted", value[name])
        for name in value.keys() - keys.keys()
    ]
    if not problems and route == "create" and not _names_one_task(read):
        problems = [_problem("value_error", [], _EITHER, value) | {"ctx": {"error": {}}}]
    if problems:
        raise NotServed(422, problems)
    return read


def _parsed(content: bytes, content_type: str) -> Any:
    if not content:
        return None
    if not re.fullmatch(r"application/(.+\+)?json", content_type):
        return content.decode("utf-8", "replace")
    try:
        return json_of(content)
    except json.JSONDecodeError as error:
        reason, at = error.msg, error.pos
    except (ValueError, RecursionError) as error:
        reason, at = str(error), 0
    problem = {"type": "json_invalid", "loc": ["body", at], "msg": "JSON decode error", "input": {}}
    raise NotServed(422, [problem | {"ctx": {"error": reason}}])


def _read(name: str, key: Key, body: JSON) -> tuple[Any, list[JSON]]:
    """The value under a key, and what is wrong with it."""
    if name not in body:
        return None, [] if key.optional else [_problem("missing", [name], "Field required", body)]
    value = body[name]
    if value is None and key.optional:
        return None, []
    if key.type == "integer":
        number, kind, text = _integer(value)
        return number, [] if number is not None else [_problem(kind, [name], text, value)]
    type_, kind, text = _TYPES[key.type]
    return value, [] if isinstance(value, type_) else [_problem(kind, [name], text, value)]


def _integer(value: Any) -> tuple[int | None, str, str]:
    """A whole number, however JSON spells it, or why it is not one."""
    if isinstance(value, float):
        whole = int(value) if value.is_integer() else None
        return whole, "int_from_float", f"{_INTEGER}, got a number with a fractional part"
    if isinstance(value, str):
        number = int(value) if re.fullmatch(r"\s*[+-]?\d{1,4000}\s*", value, re.ASCII) else None
        return number, "int_parsing", f"{_INTEGER}, unable to parse string as an integer"
    return (int(value) if isinstance(value, int) else None), "int_type", _INTEGER


def _names_one_task(body: JSON) -> bool:
    by_index = body["split"] is not None and body["index"] is not None
    return (body["task_spec"] is not None) != by_index and (body["split"] is None) == (body["index"] is None)


def _problem(kind: str, place: list[str], text: str, value: Any) -> JSON:
    return {"type": kind, "loc": ["body", *place], "msg": text, "input": value}
