"""What a server answers to training, read strictly.

One rule for every field that the Open Reward Standard gives a type: a value of another one makes the answer malformed.
Nothing is guessed: `"false"` is true for Python, a reward in quotes may or may not be one, and NaN would spread through
the loss. Null is as good as absent, because servers write either. Fields that are not in the standard are left alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orl_codegen.ors.failures import Malformed

JSON = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """A value in an answer, and where it stands.

    Attributes:
        value: The JSON.
        route: The route that answered it.
        shown: Makes a text of the server safe for a message.
        path: Where in the answer: `output.blocks[0]`; empty for all of it.
    """

    value: Any
    route: str
    shown: Callable[[str], str]
    path: str = ""

    def field(self, key: str) -> Part:
        """A field of an object."""
        return self._inner(self.object().get(key), f"{self.path}.{key}" if self.path else key)

    def object(self) -> JSON:
        """An object."""
        if not isinstance(self.value, dict):
            raise self.malformed("an object")
        return self.value

    def list(self) -> list[Part]:
        """The parts of a list."""
        if not isinstance(self.value, list):
            raise self.malformed("a list")
        return [self._inner(value, f"{self.path}[{index}]") for index, value in enumerate(self.value)]

    def text(self, default: str | None = None) -> str:
        """Text; `default` where it is absent."""
        value = default if self.value is None else self.value
        if not isinstance(value, str):
            raise self.malformed("text")
        return value

    def flag(self, default: bool | None = None) -> bool:
        """A boolean; `default` where it is absent."""
        value = default if self.value is None else self.value
        if not isinstance(value, bool):
            raise self.malformed("true or false")
        return value

    def count(self) -> int:
        """A whole number from 0."""
        if type(self.value) is not int or self.value < 0:
            raise self.malformed("a whole number from 0")
        return self.value

    def reward(self) -> float | None:
        """A finite number; None where it is absent."""
        if self.value is None:
            return None
        try:
            if type(self.value) in (int, float) and math.isfinite(self.value):
                return float(self.value)
        except OverflowError:  # a whole number beyond any float
            pass
        raise self.malformed("a finite number")

    def block(self) -> JSON:
        """A block. Those of a type that is not known here are for the model to read."""
        value = self.object()
        if self.field("type").text("") == "text":
            self.field("text").text("")
        return value

    def malformed(self, expected: str) -> Malformed:
        """That something else was expected here."""
        where = self.path or "it"
        return Malformed(
            f"the answer to /{self.route} is malformed: {where} is {self._found()}, which is not {expected}",
            path=f"/{self.route}: {self.path}" if self.path else None,
        )

    def _inner(self, value: Any, path: str) -> Part:
        return Part(value, self.route, self.shown, path)

    def _found(self) -> str:
        if isinstance(self.value, dict | list):
            return "an object" if isinstance(self.value, dict) else "a list"
        if isinstance(self.value, str):
            return self.shown(json.dumps(self.value, ensure_ascii=False))
        return self.shown(json.dumps(self.value))[:60]


def tool_list(answer: Part) -> list[JSON]:
    """The specs in a list of tools, each with a name; some servers answer with the bare list."""
    tools = answer if isinstance(answer.value, list) else answer.field("tools")
    specs = tools.list()
    for spec in specs:
        spec.field("name").text()
    return [spec.object() for spec in specs]
