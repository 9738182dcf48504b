"""Properties that hold whatever a server sends, tested by hypothesis with whole lists of tool specs.

`ORL_EXAMPLES=20000 pytest tests/generator/test_properties.py` is the long run.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from orl_codegen.errors import SchemaError
from orl_codegen.generator.contract import docstring
from orl_codegen.generator.contract.contract import Contract, build
from orl_codegen.generator.output.rendering import render
from orl_codegen.generator.output.verification import audit
from orl_codegen.generator.snapshot import Snapshot, dump, load
from orl_codegen.runtime import UNSET
from tests.generator import golden, specs
from tests.support.transformers_versions import JSON_SCHEMA_MAKERS, OLDEST

EXAMPLES = int(os.environ.get("ORL_EXAMPLES", "120"))

ROOT = Path(__file__).parents[2]

RIGHTLY_REFUSED = ("leads only to itself", "leads nowhere")

exhaustive = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
sampled = settings(exhaustive, max_examples=max(EXAMPLES // 5, 20))


def contract_of(tools: list[dict[str, Any]]) -> Contract:
    """The contract of an environment that offers `tools`; specs that are rightly refused do not count as examples."""
    snapshot = Snapshot(target="http://127.0.0.1:1", variant="v", split="train", tools=tuple(tools))
    try:
        return build(load(dump(snapshot)))
    except SchemaError as refusal:
        assume(not any(why in str(refusal) for why in RIGHTLY_REFUSED))
        raise


def test_the_oldest_transformers_is_available() -> None:
    """The properties below hold for the parsers at both ends of the supported range; `make test` installs the older."""
    assert set(JSON_SCHEMA_MAKERS) == {"installed", OLDEST}


@exhaustive
@given(specs.tool_specs())
def test_whatever_a_server_says_becomes_a_module_that_says_it(tools: list[dict[str, Any]]) -> None:
    """The module is its contract, TRL finds each tool, the model reads the intended text, and calls are exact."""
    made = contract_of(tools)
    source = render(made, "adapter")
    audit(source, made)
    assert ast.parse(source, type_comments=True).type_ignores == []
    adapter = golden.adapter_of(source, made)
    functions = golden.tools_of(adapter)
    assert set(functions) == {tool["name"] for tool in tools}
    for tool in made.tools:
        for get_json_schema in JSON_SCHEMA_MAKERS.values():
            shown = get_json_schema(functions[tool.wire_name])["function"]
            assert shown["name"] == tool.wire_name
            assert shown["description"] == tool.text
            properties = shown["parameters"]["properties"]
            assert {name: part["description"] for name, part in properties.items()} == {
                parameter.name: parameter.text for parameter in tool.parameters
            }
            assert set(shown["parameters"].get("required", [])) == {p.name for p in tool.parameters if p.required}
        sent: list[Any] = []

        class Recorder:
            def _call(self, name: str, input: dict[str, Any], sent: list[Any] = sent) -> None:
                sent.append((name, {key: value for key, value in input.items() if value is not UNSET}))

        values = {parameter.name: [i, None] for i, parameter in enumerate(tool.parameters)}
        functions[tool.wire_name](Recorder(), **values)
        assert sent == [(tool.wire_name, {p.key: values[p.name] for p in tool.parameters})]


@sampled
@given(specs.tool_specs(), st.randoms(use_true_random=False))
def test_the_order_of_the_tools_changes_nothing(tools: list[dict[str, Any]], random: Any) -> None:
    """The same tools in another order give the same snapshot and the same module, to the byte."""
    shuffled = list(tools)
    random.shuffle(shuffled)
    first, second = contract_of(tools), contract_of(shuffled)
    assert dump(first.snapshot) == dump(second.snapshot)
    assert render(first, "adapter") == render(second, "adapter")


@exhaustive
@given(specs.TEXT)
def test_a_docstring_literal_evaluates_to_its_text(text: str) -> None:
    """Whatever the text, the source of its docstring is one string, which evaluates to the text."""
    meant = docstring.plain(text)
    (statement,) = ast.parse(docstring.literal(meant, 4)).body
    assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    assert (
        "\n".join(line.removeprefix("    ") for line in str(statement.value.value).rstrip(" ").split("\n")).strip()
        == meant
    )


@exhaustive
@given(specs.TEXT)
def test_plain_text_stays_plain(text: str) -> None:
    """Making a text plain twice changes nothing more than making it plain once."""
    assert docstring.plain(docstring.plain(text)) == docstring.plain(text)
    assert docstring.plain_line(docstring.plain_line(text)) == docstring.plain_line(text)


def test_hash_seed_and_working_directory_change_nothing(tmp_path: Path) -> None:
    """Another process, with another hash seed and working directory, renders the same bytes."""
    cases = ["hostile-names", "tool-names-reserved", "unions", "task-tools"]
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'codegen'}"}
    script = "import sys; from tests.generator import golden; [print(golden.module(case)) for case in sys.argv[1:]]"
    elsewhere = subprocess.run(
        [sys.executable, "-c", script, *cases],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert elsewhere.stdout == "".join(f"{golden.module(case)}\n" for case in cases)
