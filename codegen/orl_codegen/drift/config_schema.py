"""The JSON Schema of `[tool.orl-codegen]`, for editors: made of what reads the configuration, so that they agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orl_codegen.drift.policy_tables import ACCEPT_KEYS
from orl_codegen.drift.rules import PROFILES, RULES, SEVERITIES
from orl_codegen.generator.config import ENVIRONMENT, TOP
from orl_codegen.generator.options import A_DAY, MAX_CONCURRENCY, ON_CONFLICT

_TYPES: dict[type | tuple[type, ...], str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    dict: "object",
    list: "array",
    (int, float): "number",
}

_NARROWER: dict[str, dict[str, Any]] = {
    "name": {"pattern": "^[a-z_][a-z0-9_]*$"},
    "concurrency": {"minimum": 1, "maximum": MAX_CONCURRENCY},
    "timeout": {"exclusiveMinimum": 0, "maximum": A_DAY},
    "on-conflict": {"enum": [*ON_CONFLICT]},
    "secrets": {"additionalProperties": {"type": "string", "minLength": 1}},
    "profile": {"enum": [*PROFILES]},
    "fail-on": {"enum": [severity for severity in SEVERITIES if severity != "off"]},
}
"""What else is said of a value than its type."""


def config_schema() -> dict[str, Any]:
    """The schema of a whole pyproject.toml; whatever is not ours may be anything."""
    table = _table(TOP)
    table["properties"]["environments"]["items"] = {**_table(ENVIRONMENT), "required": ["target"]}
    table["properties"]["severity"] = {"type": "object", "properties": _severities(), "additionalProperties": False}
    table["properties"]["accept"]["items"] = _acceptance()
    tool = {"type": "object", "properties": {"orl-codegen": table}}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "pyproject.toml with [tool.orl-codegen]",
        "type": "object",
        "properties": {"tool": tool},
    }


def _table(keys: Mapping[str, type | tuple[type, ...]]) -> dict[str, Any]:
    properties = {key: {"type": _TYPES[kind], **_NARROWER.get(key, {})} for key, kind in keys.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _severities() -> dict[str, Any]:
    """The severities of each rule; those about files cannot be switched off."""
    return {
        rule.id: {"enum": [severity for severity in SEVERITIES if not (rule.about_files and severity == "off")]}
        for rule in RULES.values()
    }


def _acceptance() -> dict[str, Any]:
    """An entry of `accept`. `expires` is a date of TOML, which editors hand to a schema as text."""
    properties: dict[str, Any] = {key: {"type": "string"} for key in ACCEPT_KEYS}
    properties["reason"]["minLength"] = 1
    properties["fingerprint"]["pattern"] = "^[0-9a-f]{12}$"
    properties["rule"] = {"enum": [rule.id for rule in RULES.values() if not rule.about_files]}
    named = [{"required": ["fingerprint"]}, {"required": ["rule", "path"]}]
    required = ["reason"]
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "required": required,
        "anyOf": named,
    }
