"""Whether the input of a call fits the tool's schema. The library `jsonschema` decides it.

A schema that cannot be used (it is malformed, refers to something that is not in it, or has no end) refuses nothing:
the stand-in is for training code, and the environment itself is the one to be strict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from orl_codegen.errors import UsageError

Spec = Mapping[str, Any]

MOST = 10
"""Problems that one answer lists."""


class Inputs:
    """The schemas of an environment's tools.

    Args:
        specs: The specs of each tool by name; where tasks differ in them, an input has to fit one.
        terminal: The terminal tool, which has an argument and no schema.
    """

    def __init__(self, specs: Mapping[str, Iterable[Spec]], terminal: Spec | None) -> None:
        schemas = {name: [spec.get("input_schema") for spec in several] for name, several in specs.items()}
        if terminal is not None and terminal["name"] not in schemas:
            schemas[terminal["name"]] = [_terminal_schema(terminal.get("arg"))]
        self._checks = {name: [_check(schema) for schema in several] for name, several in schemas.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._checks

    def problems(self, name: str, input: Any) -> list[Mapping[str, Any]]:
        """What is wrong with an input, in the form of pydantic's errors; empty if it can be taken."""
        found = [check(input) for check in self._checks[name]]
        return min(found, key=len, default=[])


def _terminal_schema(argument: str | None) -> Spec | None:
    if argument is None:
        return None
    return {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}


def _check(schema: Any) -> Callable[[Any], list[Mapping[str, Any]]]:
    if schema is None:  # a tool without parameters; the SDK's server does not look at its input
        return lambda _: []
    try:
        from jsonschema import Draft202012Validator, ValidationError  # type: ignore[import-untyped]
        from jsonschema.exceptions import SchemaError, UnknownType  # type: ignore[import-untyped]
        from jsonschema.validators import validator_for  # type: ignore[import-untyped]
        from referencing import Registry
        from referencing.exceptions import Unresolvable
    except ImportError:
        raise UsageError("A stand-in needs the generator: pip install 'orl-codegen[generate]'.") from None

    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except (SchemaError, RecursionError, re.error):
        return lambda _: []
    # A registry of its own: by default, references to other addresses are followed there.
    validator = kind(schema, registry=Registry())

    def check(input: Any) -> list[Mapping[str, Any]]:
        try:
            errors: list[ValidationError] = [
                error for error, _ in zip(validator.iter_errors(input), range(MOST), strict=False)
            ]
        except (Unresolvable, RecursionError, UnknownType, re.error):
            return []
        return [
            {"type": str(error.validator), "loc": (*error.absolute_path,), "msg": error.message} for error in errors
        ]

    return check
