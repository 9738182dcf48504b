"""What a server answers, read strictly: the bytes of an answer in, JSON that can be written down and read back out.

The SDK's client types are narrower than the wire (keys may be missing or extra), so snapshots are taken from
the JSON itself. A server may send anything: what has no single meaning is refused here, before anything else sees it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orl_codegen.errors import ServerError, printable
from orl_codegen.generator.contract.merging import MAX_TOOLS
from orl_codegen.ors import limits
from orl_codegen.schema.json_values import canonical

MAX_DEPTH = 200

FIX = "Fix the environment."

Shown = Callable[[object, int], str]


def parse(body: bytes, source: str, shown: Shown = printable) -> Any:
    """The JSON of an answer.

    Args:
        body: The answer.
        source: Where it came from, in errors.
        shown: Makes a text of the server safe for an error, and cuts it.

    Raises:
        ServerError: It is not JSON, or JSON with NaN, an infinite number, a key that stands twice, half of a
            surrogate pair, or more than 200 levels.
    """
    try:
        value = json.loads(body, object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise ServerError(
            f"{source} holds text that is not Unicode (half of a surrogate pair), which is refused. {FIX}"
        ) from None
    except RecursionError:
        raise ServerError(f"{source} nests too deeply, which is refused. {FIX}") from None
    except ValueError as error:
        start = shown(body[: limits.DETAIL_BYTES].decode("utf-8", "replace").strip(), 60)
        raise ServerError(
            f"{source} is not JSON as the Open Reward Standard wants it ({shown(error, 200)}); it begins `{start}`. "
            "Is this the URL of an ORS server?"
        ) from None
    if _depth(value) > MAX_DEPTH:
        raise ServerError(f"{source} nests deeper than {MAX_DEPTH} levels, which is refused. {FIX}")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {max(counts, key=counts.__getitem__)!r} stands twice in one object")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a number that can be kept")
    return number


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            child
            for node in level
            if isinstance(node, dict | list)
            for child in (node.values() if isinstance(node, dict) else node)
        ]
    return depth


@dataclass(frozen=True)
class ToolsAnswer:
    """A `/tools` or `/task_tools` answer.

    Attributes:
        json: The answer itself.
        source: Where it came from, in errors.
        shown: Makes a text in it safe for an error.
    """

    json: Any
    source: str
    shown: Shown = printable

    @functools.cached_property
    def specs(self) -> Mapping[str, dict[str, Any]]:
        """Its specs, verbatim, each under its canonical text. Raises as `tool_specs` does."""
        return {canonical(spec): spec for spec in tool_specs(self.json, self.source, self.shown)}


class Answers:
    """The answers of a route that is asked in many sessions.

    Most tasks offer the same tools in the same bytes, which are read and kept once.

    Args:
        source: The route, in errors.
        shown: Makes a text of the server safe for an error.
    """

    def __init__(self, source: str, shown: Shown = printable) -> None:
        self._source, self._shown = source, shown
        self._read: dict[bytes, ToolsAnswer] = {}
        self._specs: set[str] = set()
        self._length = 0

    def parse(self, body: bytes) -> ToolsAnswer:
        """As the function `parse`."""
        digest = hashlib.sha256(body).digest()
        if digest not in self._read:
            read = parse(body, self._source, self._shown)
            self._read[digest] = ToolsAnswer(read, self._source, self._shown)
        return self._read[digest]

    def keep(self, answer: ToolsAnswer) -> None:
        """Look at the specs in an answer.

        Raises:
            ServerError: There is one that `tool_specs` refuses, or all answers together say too much.
        """
        new = answer.specs.keys() - self._specs
        self._specs |= new
        self._length += sum(map(len, new))
        if self._length > limits.SPECS_BYTES:
            raise ServerError(
                f"{self._source} describes tools in more than {limits.SPECS_BYTES >> 20} MiB. Offer fewer on the "
                "server, or probe fewer tasks with --probe."
            )


def tool_specs(answer: Any, source: str, shown: Shown = printable) -> list[dict[str, Any]]:
    """The specs of a `/tools` or `/task_tools` answer, verbatim, exact duplicates left out.

    Raises:
        ServerError: There are more than `MAX_TOOLS`; or a spec is not an object, has no name, or its description or
            schema has a type that no version of the standard gives it.
    """
    tools = answer.get("tools") if isinstance(answer, dict) else answer
    if not isinstance(tools, list):
        raise ServerError(f"{source} holds no list of tools. Is this the URL of an ORS server?")
    if len(tools) > MAX_TOOLS:
        raise ServerError(
            f"{source} lists {len(tools):,} tools; orl-codegen takes at most {MAX_TOOLS:,}. Offer fewer on the server: "
            "no model could read so many in its prompt."
        )
    for spec in tools:
        if not isinstance(spec, dict) or not isinstance(spec.get("name"), str):
            raise ServerError(f"{source} holds a tool without a name: {shown(json.dumps(spec), 80)}. {FIX}")
        if not isinstance(spec.get("description"), str | None):
            raise ServerError(f"{source}: the description of the tool {shown(spec['name'], 200)} is not text. {FIX}")
        if not isinstance(spec.get("input_schema"), dict | bool | None):
            raise ServerError(
                f"{source}: the input_schema of the tool {shown(spec['name'], 200)} is not a JSON Schema. {FIX}"
            )
    return list({canonical(spec): spec for spec in reversed(tools)}.values())[::-1]


def terminal_tool(answer: Any, source: str) -> dict[str, Any] | None:
    """The terminal tool that an answer describes beside its tools, as `{"name", "arg", "description"}`."""
    spec = answer.get("terminal_tool") if isinstance(answer, dict) else None
    if spec is None:
        return None
    if not isinstance(spec, dict) or not isinstance(spec.get("name"), str):
        raise ServerError(f"{source} describes a terminal tool without a name. {FIX}")
    arg, description = spec.get("arg"), spec.get("description") or ""
    if not isinstance(arg, str | None) or not isinstance(description, str):
        raise ServerError(f"{source}: the argument or the description of the terminal tool is not text. {FIX}")
    return {"name": spec["name"], "arg": arg, "description": description}


def scores_groups(answer: Any, source: str) -> bool:
    """Whether an answer that describes the tools says that the environment scores groups."""
    value = answer.get("supports_score_group") if isinstance(answer, dict) else None
    if not isinstance(value, bool | None):
        raise ServerError(f"{source}: supports_score_group is neither true nor false. {FIX}")
    return value is True


def splits(answer: Any, source: str) -> list[dict[str, Any]]:
    """The splits, each an object with a `name`; servers that list bare names are understood."""
    found = (
        [{"name": split} if isinstance(split, str) else split for split in answer] if isinstance(answer, list) else []
    )
    if not found or not all(isinstance(split, dict) and isinstance(split.get("name"), str) for split in found):
        raise ServerError(f"{source} holds no list of splits. Is this the URL of an ORS server?")
    return found


def num_tasks(answer: Any) -> int | None:
    """How many tasks a split has; None where an answer does not say it, or names more than JSON can count."""
    count = answer.get("num_tasks") if isinstance(answer, dict) else None
    return count if type(count) is int and 0 <= count < 2**53 else None
