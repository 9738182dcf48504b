"""Environments that nobody would want to meet: made up at random, or real ones with something else put in."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.reliability.attack.canaries import NAMES, ODD, PAYLOADS

ROOT = Path(__file__).parents[3]

JSON = dict[str, Any]
Place = tuple[Any, Any]
"""A dictionary or a list of an environment, and a key or an index of it."""

LIVE = tuple(payload for payloads in PAYLOADS.values() for payload in payloads)

TYPES = ("string", "integer", "number", "boolean", "null", "array", "object", "any", "str", "")


def environment(seed: int, number: int) -> JSON:
    """What a server answers: `tools`, `task_tools`, `terminal_tool`, `splits`, `variant`, as JSON."""
    draw = random.Random(f"{seed}:{number}")
    made = _mutated(draw) if draw.random() < 0.4 else _made_up(draw)
    return made | _around(draw)


def _around(draw: random.Random) -> JSON:
    """What is there besides tools, in one environment of four hostile."""
    if draw.random() < 0.75:
        return {"variant": "made", "splits": [{"name": "train"}], "terminal_tool": None}
    terminal = {"name": _name(draw), "arg": draw.choice([None, _name(draw)]), "description": _text(draw)}
    return {"variant": _text(draw), "splits": [{"name": "train", "type": _text(draw)}], "terminal_tool": terminal}


def texts_in(environment: JSON) -> Iterator[str]:
    """Every text in an environment, keys included."""
    for holder, key in _places(environment):
        yield from (part for part in (key, holder[key]) if isinstance(part, str))


# Made up.


def _made_up(draw: random.Random) -> JSON:
    tools = [_spec(draw, depth=draw.choice([0, 1, 1, 2])) for _ in range(draw.choice([1, 1, 1, 2]))]
    return {
        "tools": tools,
        "task_tools": [{**draw.choice(tools), "description": _text(draw)}] if draw.random() < 0.1 else [],
    }


def _spec(draw: random.Random, depth: int) -> JSON:
    spec: JSON = {"name": _name(draw), "description": _text(draw), "input_schema": _input_schema(draw, depth)}
    if draw.random() < 0.1:
        spec[_name(draw)] = _text(draw)
    return spec


def _input_schema(draw: random.Random, depth: int) -> Any:
    if draw.random() < 0.03:
        return draw.choice([None, {}, True, False, {"type": "object"}, {"parameters": {"type": "object"}, "name": "x"}])
    found = _object(draw, depth)
    if draw.random() < 0.15:
        name = _name(draw)
        found["$defs"] = {name: _schema(draw, depth - 1)}
        found["properties"][_name(draw)] = {"$ref": f"#/$defs/{name}"}
    return found | _facts(draw) if draw.random() < 0.2 else found


def _object(draw: random.Random, depth: int) -> JSON:
    properties = {_name(draw): _schema(draw, depth) for _ in range(draw.choice([0, 1, 1, 2, 3]))}
    required = [name for name in [*properties, _name(draw)] if draw.random() < 0.3]
    return {"type": "object", "properties": properties, "required": required}


def _schema(draw: random.Random, depth: int) -> Any:
    kind = draw.randrange(12 if depth > 0 else 6)
    makers: list[Callable[[], Any]] = [
        lambda: {"type": draw.choice(TYPES)},
        lambda: {"enum": [_value(draw) for _ in range(draw.randint(1, 3))]},
        lambda: {"const": _value(draw)},
        lambda: {"type": [draw.choice(TYPES), _text(draw)]},
        lambda: draw.choice([True, False, {}, None, _text(draw), 7]),
        lambda: {"$ref": draw.choice(["#", "#/$defs/x", _text(draw), "file:///etc/passwd", "http://127.0.0.1:9/x"])},
        lambda: _object(draw, depth - 1),
        lambda: _object(draw, depth - 1),
        lambda: {"type": "array", "items": _schema(draw, depth - 1)},
        lambda: {"prefixItems": [_schema(draw, depth - 1), _schema(draw, depth - 1)], "items": False},
        lambda: {draw.choice(["anyOf", "oneOf", "allOf"]): [_schema(draw, depth - 1), _schema(draw, depth - 1)]},
        lambda: {"type": "object", "additionalProperties": _schema(draw, depth - 1)},
    ]
    found = makers[kind]()
    return found | _facts(draw) if isinstance(found, dict) and draw.random() < 0.6 else found


def _facts(draw: random.Random) -> JSON:
    known: Mapping[str, Callable[[random.Random], Any]] = {
        **{
            "title": _text,
            "description": _text,
            "default": _value,
            "pattern": _text,
            "format": _text,
            "minimum": _value,
        },
        **{"maxLength": _value, "examples": lambda draw: [_value(draw)], "deprecated": _value, "nullable": _value},
        **{"$comment": _text, "not": lambda draw: {"const": _value(draw)}, "dependentRequired": _value},
    }
    facts = {keyword: known[keyword](draw) for keyword in draw.sample(list(known), draw.randint(1, 3))}
    return facts | ({_text(draw): _value(draw)} if draw.random() < 0.1 else {})


def _text(draw: random.Random) -> str:
    """Two thirds of all texts would run if they were taken for code."""
    pieces = [draw.choice(LIVE if draw.random() < 0.5 else ODD if draw.random() < 0.7 else NAMES)]
    while draw.random() < 0.35:
        pieces.append(draw.choice(draw.choice([LIVE, ODD, NAMES, ("some words ", chr(draw.randrange(0x3000)))])))
    return "".join(pieces)


def _name(draw: random.Random) -> str:
    return draw.choice(NAMES) if draw.random() < 0.6 else _text(draw)


def _value(draw: random.Random) -> Any:
    kinds: list[Any] = [None, True, 0, -1, 1.5, 2**70, 1e300, -0.0, [], {}, "", [None, [True]]]
    if draw.random() < 0.6:
        return _text(draw)
    return draw.choice([*kinds, [_text(draw)], {_name(draw): _text(draw)}])


# Mutated.


@cache
def corpus() -> tuple[JSON, ...]:
    """Environments of this repository, none of which is long, as a server would answer them."""
    cases = [json.loads(path.read_text("utf-8")) for path in sorted((ROOT / "tests/golden").glob("*/case.json"))]
    cases += [json.loads((ROOT / "generated" / name).read_text("utf-8")) for name in ("documents.json", "kitchen.json")]
    single = [{"tools": [tool], "task_tools": []} for case in cases for tool in case["tools"]]
    several = [
        {"tools": case["tools"], "task_tools": [entry["spec"] for entry in case["task_tools"]]}
        for case in cases
        if case.get("task_tools")
    ]
    return tuple(case for case in (*single, *several) if len(json.dumps(case)) < 4_000)


def _mutated(draw: random.Random) -> JSON:
    """A real environment, in which some keys and values are others."""
    found = copy.deepcopy(draw.choice(corpus()))
    for _ in range(draw.choice([1, 1, 2, 4])):
        holder, key = draw.choice(list(_places(found)))
        if (
            isinstance(holder, dict)
            and isinstance(key, str)
            and key not in ("tools", "task_tools")
            and draw.random() < 0.3
        ):
            holder[_name(draw)] = holder.pop(key)
        elif isinstance(holder[key], str) and draw.random() < 0.7:
            at = draw.randint(0, len(holder[key]))
            holder[key] = draw.choice([_text(draw), holder[key][:at] + _text(draw) + holder[key][at:]])
        elif key not in ("tools", "task_tools"):
            holder[key] = draw.choice([_value(draw), _schema(draw, 1), [holder[key]], {"anyOf": [holder[key], {}]}])
    return found


def _places(value: Any) -> Iterator[Place]:
    """Every entry of the dictionaries and lists in a value."""
    inside = [value]
    while inside:
        holder = inside.pop()
        entries = list(holder.items() if isinstance(holder, dict) else enumerate(holder))
        yield from ((holder, key) for key, _ in entries)
        inside += [part for _, part in entries if isinstance(part, (dict, list))]
