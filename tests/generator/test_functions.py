"""Methods read as syntax: transformers sees in them exactly what it sees in those of the imported module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orl_codegen.errors import UsageError
from orl_codegen.generator.output.functions import as_functions
from orl_codegen.generator.output.prompting import json_schemas
from orl_codegen.generator.output.reading import shown_contract, shown_tools
from orl_codegen.runtime import RolloutAdapter
from orl_codegen.runtime.vocabulary import bound_tools
from tests.generator import golden
from tests.support.transformers_versions import JSON_SCHEMA_MAKERS

ROOT = Path(__file__).parents[2]
ACCEPTED = [case for case in golden.CASES if not (golden.FOLDER / case / "error.txt").exists()]
MODULES = [*(ROOT / "generated").glob("*.py"), *(golden.FOLDER / case / "adapter.py" for case in ACCEPTED)]

MODULE = '''
class Made(RolloutAdapter):
    @tool
    def go(self, *, way: {annotation}) -> ToolResult:
        """Go.

        Args:
            way: Where.
        """
'''


def imported(source: str) -> type[Any]:
    """The adapter of a module that is imported."""
    adapters = [value for value in vars(golden.loaded(source)).values() if isinstance(value, type)]
    (adapter,) = [each for each in adapters if issubclass(each, RolloutAdapter) and each is not RolloutAdapter]
    return adapter


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem if path.stem != "adapter" else path.parent.name)
def test_a_module_that_is_read_shows_what_an_imported_one_shows(path: Path) -> None:
    """`get_json_schema` gives the same for every method, in the order of trainers, in every supported transformers."""
    source = path.read_text("utf-8")
    for make in JSON_SCHEMA_MAKERS.values():
        expected = [make(method) for method in bound_tools(imported(source)).values()]
        assert [make(function) for function in as_functions(shown_tools(source))] == expected
    assert json_schemas(shown_tools(source)) == [
        JSON_SCHEMA_MAKERS["installed"](method) for method in bound_tools(imported(source)).values()
    ]


@pytest.mark.parametrize("case", ACCEPTED)
def test_a_snapshot_shows_what_its_module_shows(case: str) -> None:
    """Nothing has to be rendered for it."""
    contract = golden.contract(golden.read(case))
    assert json_schemas(shown_contract(contract)) == json_schemas(shown_tools(golden.module(case)))


@pytest.mark.parametrize(
    "annotation",
    [
        "__import__('os').mkdir('made')",
        "str if open('made', 'w') else int",
        "Literal[open('made', 'w')]",
        "list[(lambda: open('made', 'w'))()]",
        "os.environ",
        "Unknown",
        "None | None",
        "f'{1}'",
        "(" * 90 + "int" + ")" * 90 + "()",
        "int | " * 3000 + "nothing",
    ],
)
def test_what_no_module_of_ours_has_is_refused_and_never_run(
    annotation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An annotation is read, not evaluated: whatever else it is, the error names the parameter."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"is not one that orl-codegen writes|is not a Python module"):
        as_functions(shown_tools(MODULE.format(annotation=annotation)))
    assert not list(tmp_path.iterdir())


def test_a_method_that_transformers_refuses() -> None:
    """A parameter without a line in the docstring, as a hand edit leaves it, is an error that says so."""
    with pytest.raises(UsageError, match=r"transformers cannot describe the tools: .*'way'"):
        json_schemas(shown_tools(MODULE.format(annotation="int").replace("way: Where.", "gone: Where.")))
