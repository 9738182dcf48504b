"""The layout of modules: the shipped templates need no formatter, and what they write is what black would write."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import black
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from orl_codegen.errors import SchemaError
from orl_codegen.generator.contract.contract import build
from orl_codegen.generator.output.layout import LINE_LENGTH, double_quoted
from orl_codegen.generator.output.rendering import render, shipped_templates
from orl_codegen.generator.snapshot import Snapshot
from tests.generator import golden, specs
from tests.support.environments import spec

MODE = black.Mode(target_versions={black.TargetVersion.PY311}, line_length=LINE_LENGTH)

EXAMPLES = int(os.environ.get("ORL_EXAMPLES", "120"))

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"

LONG = "abcdefghij" * 9


def module_of(tools: list[dict[str, Any]], **facts: Any) -> str:
    """The module of an environment that offers `tools`, by the shipped templates; those that are refused left out."""
    tools = sorted(tools, key=lambda tool: str(tool["name"]))
    snapshot = Snapshot(
        **{"target": "http://127.0.0.1:1", "variant": "v", "split": "train", **facts}, tools=tuple(tools)
    )
    return render(build(snapshot, allow_partial=True), "adapter")


def assert_black_agrees(module: str) -> None:
    """Black leaves the module as it is, to the byte."""
    assert black.format_str(module, mode=MODE) == module


@pytest.mark.parametrize("case", [case for case in golden.CASES if not (golden.FOLDER / case / "error.txt").exists()])
def test_black_leaves_every_golden_module_as_it_is(case: str) -> None:
    """Whatever shape a golden case has, its module has the layout that black would give it."""
    assert_black_agrees(golden.module(case))


@pytest.mark.parametrize(
    "values", [["a", "b"], ["a", 1, -1], ["a]b, 'c'", 'say "so"', "it's", "\\"], [LONG, "b"], ["\u00e4", "b"]]
)
@pytest.mark.parametrize("count", [1, 6, 40])
@pytest.mark.parametrize("more", [{}, {"other": {"type": "string"}}])
@pytest.mark.parametrize("nullable", [False, True])
def test_black_leaves_lists_of_values_as_they_are(
    values: list[Any], count: int, more: dict[str, Any], nullable: bool
) -> None:
    """In one line, in a line of their own or a line each."""
    several = [
        f"{value}{number}" if isinstance(value, str) else value + 7 * number
        for value in values
        for number in range(count)
    ]
    schema = {"enum": [*several, None] if nullable else several}
    assert_black_agrees(module_of([spec("tool", q=schema, **more), {**spec("may", q=schema, **more), "required": []}]))


def test_thousands_of_values_are_laid_out_at_once() -> None:
    """Black takes four seconds for 100 kB of them, and a server may list as many in each tool."""
    began = time.process_time()
    module_of([spec("tool", q={"enum": [f"value {number}" for number in range(6_000)]})])
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    "text", ['"', '""', '"""', '"a" b', 'a "b"', 'a"', "\\", "a \\", '\\"', " a", "'a'", '"\n\n"', '{"a": 1}']
)
@pytest.mark.parametrize("parameters", [{}, {"a": {"type": "string"}}])
def test_black_leaves_descriptions_as_they_are(text: str, parameters: dict[str, Any]) -> None:
    """Whatever a description begins and ends with, alone in its line or above the parameters."""
    tool = spec("tool", **parameters) | {"description": text}
    assert_black_agrees(module_of([tool, spec("other", **{"b": {"type": "object", "description": text}})]))


@pytest.mark.parametrize("corpus", ["sdk", "ors", "mcp", "bfcl"])
def test_black_leaves_the_modules_of_real_tools_as_they_are(corpus: str) -> None:
    """Each corpus of real tools as one module; of tools with the same name, the last."""
    path = CORPUS / f"{corpus}.jsonl"
    if not path.exists():
        pytest.skip("the corpus of real tool specs is not available")
    tools = {tool["name"]: tool for tool in map(json.loads, path.read_text("utf-8").splitlines())}
    assert_black_agrees(module_of(list(tools.values())))


def _with_long(schema: Any) -> Any:
    """Names of up to a line, so that statements of every kind are too long for theirs."""
    return st.builds(
        lambda tool, stretch: json.loads(json.dumps(tool).replace('"q"', json.dumps("q" * stretch))),
        schema,
        st.integers(1, 110),
    )


@settings(
    max_examples=max(EXAMPLES // 4, 30),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(_with_long(specs.tool_specs()), specs.TEXT)
def test_black_leaves_the_module_of_whatever_a_server_says_as_it_is(tools: list[dict[str, Any]], text: str) -> None:
    """Hostile names and texts, short and long, in the tools and in the facts of the environment."""
    assume(len({tool["name"] for tool in tools}) == len(tools))
    try:
        module = module_of(tools, target=f"http://127.0.0.1:1/{text}", terminal_tool={"name": text, "arg": text * 3})
    except SchemaError:
        assume(False)
    assert_black_agrees(module)


@pytest.mark.parametrize("length", range(21, 101, 8))
def test_statements_around_the_end_of_a_line(length: int) -> None:
    """Method, decorator, call, annotation and nested type, each a little shorter and longer than a line."""
    name = LONG[:length]
    choice = {"enum": [name, "it's", 'a "b"', "c, d", "[e"]}
    nested = {"type": "object", "properties": {name: choice, f"{name}-x": {"type": "string"}}}
    tools = [
        spec(name),
        spec(f"one-{name}", q={"type": "string"}),
        spec(f"two-{name}", **{name: {"type": "string"}, f"{name}-2": {"type": "integer"}}),
        spec(f"some-{name}"[:40], **{name: choice, "list": {"type": "array", "items": choice}}),
        spec(f"deep-{name}"[:40], **{name: nested, "either": {"anyOf": [choice, nested, {"type": "null"}]}}),
        spec(f"groß-{name}"[:60], **{f"größe_{name}"[:50]: {"type": "string"}, "幅" * (length // 4): choice}),
        spec(f"many-{name}"[:20], **{f"{name[:9]}-{i}": {"type": "string"} for i in range(length // 6)}),
    ]
    assert_black_agrees(module_of(tools, terminal_tool={"name": name, "arg": name[:30]}, variant=name))


@pytest.mark.parametrize(
    "text", ["plain", "it's", 'a "b"', "'\"", "''\"", '\'""', "\\", "\\'\"", '"""', "'''", "\n\x1b'"]
)
def test_quotes_are_those_of_black(text: str) -> None:
    """Double quotes, unless single ones need fewer escapes; the value stays the same."""
    source = f"x = {double_quoted(repr(text))}\n"
    assert black.format_str(f"x = {text!r}\n", mode=MODE) == source


def test_shipped_templates_do_without_black(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ordinary modules never import it: nothing in them is too rare to be laid out by counting."""
    import sys

    made = golden.contract(golden.read("unions"))
    monkeypatch.setitem(sys.modules, "black", None)
    assert render(made, "unions") == golden.module("unions")


def test_own_templates_pass_through_black(tmp_path: Path) -> None:
    """A user's template may write as it likes; a copy of the shipped ones gives the same text."""
    made = golden.contract(golden.read("unions"))
    for path in shipped_templates().glob("*.jinja"):
        (tmp_path / path.name).write_text(path.read_text("utf-8").replace("return self", "return  self"))
    ours, theirs = render(made, "unions").split("\n"), render(made, "unions", tmp_path).split("\n")
    assert ours[0] == theirs[0] and ours[2:] == theirs[2:]
