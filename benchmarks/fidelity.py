"""How much of what an environment states about its tools reaches the model: orl-codegen against TRL's run-time binder.

    make fidelity

Each tool spec states facts: the tool's name and what it does; for each parameter its name, its type, whether it is
required or may be null, its values, default, limits and description; the same for every nested field. A fact is kept
if the schema that `transformers.utils.get_json_schema` derives from the method (all that a model is ever shown) still
states it, as a keyword or in words. The specs are those of the toolsets in the installed openreward SDK, and those of
the project's golden cases.
"""

from __future__ import annotations

import inspect
import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from orl_codegen.generator.contract.contract import build
from orl_codegen.generator.contract.python_types import object_keys
from orl_codegen.generator.contract.wording import parts_of
from orl_codegen.generator.output.rendering import render
from orl_codegen.generator.snapshot import Snapshot
from orl_codegen.schema.expansion import expand
from orl_codegen.schema.tree import Schema
from tests.generator import golden

Spec = dict[str, Any]
Visible = dict[str, Any]

LIMITS = (
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format minItems maxItems "
    "minProperties maxProperties"
).split()


@dataclass(frozen=True)
class Fact:
    """One thing that a spec states, and whether the model is told it."""

    kind: str
    where: str
    kept: bool


@dataclass(frozen=True)
class Score:
    """How many of the facts in a list of specs were kept."""

    tools: int
    bound: int
    facts: int
    kept: int

    @property
    def share(self) -> float:
        """The share of the facts that were kept, from 0 to 1."""
        return self.kept / self.facts if self.facts else 1.0


def score(specs: Sequence[Spec], visible: Sequence[Visible | None]) -> Score:
    """Count the facts of `specs` that `visible` keeps; None in it is a tool that was not bound."""
    facts = [fact for spec, shown in zip(specs, visible, strict=True) for fact in facts_of(spec, shown)]
    return Score(len(specs), sum(shown is not None for shown in visible), len(facts), sum(fact.kept for fact in facts))


def facts_of(spec: Spec, visible: Visible | None) -> Iterator[Fact]:
    """Every fact that a spec states; all are lost if the tool is not bound."""
    shown: Visible = (visible or {}).get("function", {})
    name, description = spec["name"], str(spec.get("description") or "")
    yield Fact("tool", name, shown.get("name") == name)
    if _words(description):
        yield Fact("description", name, _tells(shown, description))
    schema = expand(spec.get("input_schema"), name)
    properties = shown.get("parameters", {}).get("properties", {})
    required = shown.get("parameters", {}).get("required", [])
    for key in object_keys(schema):
        alias = alias_of(key, properties)
        view, where = properties.get(alias, {}), f"{name}.{key}"
        yield Fact("parameter", where, alias is not None)
        yield Fact("required", where, alias is not None and (alias in required) == (key in schema.required))
        part = schema.properties.get(key, Schema("any"))
        yield from _type_facts(part, view, where, bound=alias is not None)
        yield from _facts_within(part, view, where)


def alias_of(key: str, properties: dict[str, Any]) -> str | None:
    """The name under which a parameter is shown: its own, a similar one, or one whose description quotes it."""
    if key in properties:
        return key
    like = (name for name in properties if _loose(name) == _loose(key) != "")
    named = (name for name, view in properties.items() if repr(key) in view.get("description", ""))
    return next(like, None) or next(named, None)


def _type_facts(schema: Schema, view: Visible, where: str, *, bound: bool) -> Iterator[Fact]:
    wanted = {part.kind for part in (schema.options or (schema,))}
    if not wanted & {"any", "never", "union", "recursion"}:
        shown = shown_types(view)
        yield Fact("type", where, wanted == shown - {"null"} or wanted == {"null"} == shown)
    if schema.nullable and schema.kind != "any":
        text = view.get("description", "").lower()
        yield Fact("null", where, bound and ("null" in shown_types(view) or "null" in text))


def shown_types(view: Visible) -> set[str]:
    types = {"null"} if view.get("nullable") else set()
    for option in view.get("anyOf", ()):
        types |= shown_types(option)
    named = view.get("type", [])
    return types | set(named if isinstance(named, list) else [named])


def _facts_within(schema: Schema, view: Visible, where: str) -> Iterator[Fact]:
    """Values, limits, default and description of a schema and of everything in it, wherever they are shown."""
    text = json.dumps(view, ensure_ascii=False)
    for value in schema.values or ():
        yield Fact("value", where, states(view, text, value))
    for limit in LIMITS:
        if isinstance(schema.facts.get(limit), (int, float, str)) and not isinstance(schema.facts[limit], bool):
            yield Fact("limit", f"{where} {limit}", states(view, text, schema.facts[limit]))
    if schema.facts.get("default") is not None:
        yield Fact("default", where, states(view, text, schema.facts["default"]))
    if _words(schema.description):
        yield Fact("description", where, _tells(view, schema.description))
    for key in object_keys(schema) if schema.kind == "object" else ():
        yield Fact("field", f"{where}.{key}", states(view, text, key))
    for part in parts_of(schema):
        yield from _facts_within(part, view, f"{where}>")


def states(view: Visible, text: str, value: Any) -> bool:
    """Whether a schema states a JSON value, as a keyword or in words, in the notation of JSON or of Python."""
    if value == "":
        return '""' in text or "''" in text or '\\"\\"' in text
    spellings = {json.dumps(value, ensure_ascii=False), json.dumps(value), repr(value), str(value)}
    escaped = {json.dumps(spelling, ensure_ascii=False)[1:-1] for spelling in spellings}
    return any(spelling in text for spelling in spellings | escaped)


def _tells(view: Any, prose: str) -> bool:
    """Whether all but a few words of a text are shown (headings such as `Args:` may be missing)."""
    wanted = [word for word in _words(prose) if word not in {"args", "arguments", "parameters", "params"}]
    have = set(_words("\n".join(_texts(view))))
    return sum(word in have for word in wanted) >= 0.95 * len(wanted)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for pair in value.items() for part in pair for text in _texts(part))
    elif isinstance(value, list):
        yield from (text for part in value for text in _texts(part))
    else:
        yield str(value)


def _words(text: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[^\W_]{2,}", text)]


def _loose(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def orl_codegen(specs: Sequence[Spec]) -> list[Visible | None]:
    """What generated adapters show the model of `specs`."""
    from transformers.utils import get_json_schema

    shown: dict[int, Visible] = {}
    for environment in environments(specs):
        _, tools = generated([specs[i] for i in environment])
        shown |= {i: get_json_schema(tools[specs[i]["name"]]) for i in environment}
    return [shown.get(i) for i in range(len(specs))]


def generated(specs: Sequence[Spec]) -> tuple[type[Any], dict[str, Any]]:
    """The adapter of an environment with these tools, and its methods by wire name."""
    contract = build(Snapshot("http://127.0.0.1", "environment", "train", tools=tuple(specs)))
    adapter = golden.adapter_of(render(contract, "adapter"), contract)
    return adapter, golden.tools_of(adapter)


def environments(specs: Sequence[Spec]) -> list[list[int]]:
    """Indices of specs, split so that no environment has two tools of one name."""
    split: list[list[int]] = []
    for i, spec in enumerate(specs):
        for environment in split:
            if all(specs[other]["name"] != spec["name"] for other in environment):
                environment.append(i)
                break
        else:
            split.append([i])
    return split


def trl(specs: Sequence[Spec]) -> list[Visible | None]:
    """What TRL's binder shows the model of `specs`; None where nothing is bound, or nothing can be shown."""
    from transformers.utils import get_json_schema
    from trl.experimental.openreward.environment import _bind_tool_method

    logging.getLogger("trl").setLevel(logging.ERROR)
    shown: list[Visible | None] = []
    for spec in specs:
        adapter = type("Adapter", (), {})
        try:
            _bind_tool_method(adapter, {**spec, "input_schema": spec.get("input_schema") or {}})
            functions = inspect.getmembers(adapter, inspect.isfunction)
            public = [function for name, function in functions if not name.startswith("_")]
            shown.append(get_json_schema(public[0]) if public else None)
        except Exception:
            shown.append(None)
    return shown


def toolset_specs() -> list[Spec]:
    """The specs of every toolset in the installed openreward SDK."""
    from openreward import toolsets
    from openreward.environments import Environment

    classes = [getattr(toolsets, name) for name in toolsets.__all__ if name.endswith("Toolset")]
    environments = [type("Environment", (Environment,), {"toolsets": [toolset]}) for toolset in classes]
    return [tool.model_dump() for environment in environments for tool in environment.list_tools().tools]


def case_specs() -> list[Spec]:
    """The specs of the golden cases that are not refused."""
    cases = [case for case in golden.CASES if (golden.FOLDER / case / "visible.json").exists()]
    return [spec for case in cases if case != "left-out" for spec in golden.read(case)["tools"]]


def main() -> None:
    """Print the table."""
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    binders: dict[str, Callable[[Sequence[Spec]], list[Visible | None]]] = {"TRL": trl, "orl-codegen": orl_codegen}
    print("| specs | tools | facts | binder | tools bound | facts kept |")
    print("|---|---|---|---|---|---|")
    for title, specs in (("toolsets of the SDK", toolset_specs()), ("golden cases", case_specs())):
        for binder, bind in binders.items():
            print(_row(title, binder, score(specs, bind(specs))))


def _row(title: str, binder: str, found: Score) -> str:
    cells: Iterable[object] = (title, found.tools, found.facts, binder, found.bound, f"{found.share:.1%}")
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
