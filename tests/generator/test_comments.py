"""Comments made from a server's text: they keep its words, never become code, and no tool obeys them."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platformdirs import user_cache_path

from orl_codegen.errors import printable
from orl_codegen.generator.output.comments import comment
from orl_codegen.generator.output.rendering import render
from tests.generator import golden, specs
from tests.generator.test_properties import contract_of, exhaustive, sampled

INSTRUCTIONS = [
    *["type: ignore", "type: int", "type:ignore[misc]", "mypy: ignore-errors", "pyright: basic", "pyre-strict"],
    *["fmt: off", "fmt:skip", "x; fmt: skip", "yapf: disable", "isort: skip_file", "noqa", "NoQA: E501", "flake8=noqa"],
    *["ruff: noqa", "pragma: no cover", "PRAGMA no cover", "pylint: disable=all", "-pylint: skip-file", "nosec"],
    *["`noqa", "noqa`", "`pylint: skip-file"],
]

OBEYED = re.compile(
    r"#\s*(type|mypy|pyright|fmt|yapf|isort|ruff|flake8|pylint|pytype)\s*[:=]"  # what a comment begins with
    r"|;\s*fmt\s*:|#\s*pyre-|#\s*nosec\b|#\s*pragma\b"
    r"|#\s*(?i:noqa)\b|#.*\b(pylint|yapf):|\bisort:\s*skip"  # what stands anywhere in one
)
"""The patterns of the tools themselves, put together from their sources."""

DESCRIPTIONS = st.lists(
    st.sampled_from(
        [*INSTRUCTIONS, "#", "# ", " ", "\n", "word", "Note: ", "https://example.com/#x", "\x0c", "\u2028", "`"]
    )
    | specs.TEXT,
    max_size=12,
).map("".join)


@exhaustive
@given(DESCRIPTIONS, st.integers(20, 92))
def test_a_comment_keeps_the_words_and_is_nothing_else(text: str, width: int) -> None:
    """Every line is printable, begins with `# ` and fits, and without backquotes the lines say what the text says."""
    lines = comment(text, width)
    for line in lines:
        assert line.startswith("# ") and line.isprintable()
        assert len(line) <= width or " " not in line.removeprefix("# ")
        assert not OBEYED.search(line)
    kept = " ".join(line.removeprefix("# ") for line in lines)
    assert kept.replace("`", "") == printable(" ".join(text.split()), 10**6).replace("`", "")


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_each_instruction_is_disarmed_wherever_it_stands(instruction: str) -> None:
    """At the start of a description, after another comment inside it, and where wrapping puts it at a line's start."""
    for text in (instruction, f"A # {instruction}", f"A#{instruction}", f"{'a' * 30} {instruction}"):
        assert not any(OBEYED.search(line) for line in comment(text, 30))


@pytest.mark.parametrize(
    "text", ["Note: the first, #2 and C#.", "https://example.com/a#b", "How long: in minutes", "a `type` of 'it'"]
)
def test_prose_stays_as_it_is(text: str) -> None:
    """Backquotes are for words that a tool might read, not for every colon."""
    assert comment(text, 90) == (f"# {text}",)


@sampled
@given(st.lists(DESCRIPTIONS, min_size=2, max_size=3), st.booleans())
def test_comments_change_nothing_but_comments(descriptions: list[str], in_class: bool) -> None:
    """Without its comment lines, a module is what it is without descriptions: formatted alike, with no type comment."""

    def module(texts: list[str]) -> list[str]:
        keys = {f"f{i}" if in_class else f"f-{i}": text for i, text in enumerate(texts)}
        fields = {key: {"type": "string", "description": text} for key, text in keys.items()}
        inner = {"type": "object", "properties": fields}
        schema = {"type": "object", "properties": {"q": inner}}
        source = render(contract_of([{"name": "t", "description": "T.", "input_schema": schema}]), "adapter")
        assert ast.parse(source, type_comments=True).type_ignores == []
        nested = source[source.index("    from typing import") : source.index("\nelse:")]
        return [line for line in nested.split("\n") if not line.lstrip().startswith("#")]

    assert module(descriptions) == module([""] * len(descriptions))


def test_mypy_and_ruff_still_find_every_error(tmp_path: Path) -> None:
    """Under each comment of the golden case, an undefined name is found by both, as if the comment were not there."""
    source = (golden.FOLDER / "hostile-comments" / "adapter.py").read_text("utf-8")
    wrong, count = re.subn(r'(?m)^( +[^# ].*: )"?(?:int|str)"?(,?)$', r"\1Missing\2", source)
    assert count > 15
    (tmp_path / "wrong.py").write_text(wrong, "utf-8")

    def report(*command: str) -> str:
        whole = [sys.executable, "-m", *command, "wrong.py"]
        return subprocess.run(whole, capture_output=True, text=True, check=False, cwd=tmp_path).stdout

    cache = f"--cache-dir={user_cache_path('orl-codegen') / 'mypy'}"
    assert report("mypy", "--config-file=", "--strict", cache).count('Name "Missing" is not defined') == count
    assert len(json.loads(report("ruff", "check", "--isolated", "--select=F821", "--output-format=json"))) == count
