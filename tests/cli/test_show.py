"""`orl-codegen show`: the tools as the model will see them, from a server, a snapshot or a module."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from openreward.environments import TerminalToolSpec

from orl_codegen.runtime.vocabulary import bound_tools
from tests.generator import golden
from tests.support.cli import orl_codegen
from tests.support.environments import environment
from tests.support.servers import running

ROOT = Path(__file__).parents[2]

FETCH = {
    "name": "fetch-it",
    "description": "Fetches \x1b[31mit\u202e.\n\nArgs:\n    file-path: Where it is.",
    "input_schema": {
        "type": "object",
        "properties": {
            "file-path": {"type": "string", "maxLength": 9},
            "where": {"type": "string", "description": "long/" * 20 + " first."},  # the line breaks before it
            "how": {"type": "object", "properties": {"fast": {"type": "boolean"}}, "required": ["fast"]},
        },
        "required": ["file-path"],
    },
}

ANSWER = TerminalToolSpec(name="submit", arg="answer")

SHOWN = r"""
fetch-it
  Fetches \x1b[31mit\u202e.
    file_path: str
        Where it is. At most 9 characters. Its name in the environment is 'file-path'.
    where: str, optional
        long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/lo
        ng/long/ first.
    how: dict, optional
        Fields: fast (boolean, required).
"""


def test_a_server_a_snapshot_and_a_module_show_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same text for all three, with nested types as the dict that the model sees, and nothing a terminal obeys."""
    monkeypatch.chdir(tmp_path)
    with running(environment([FETCH])) as server:
        assert orl_codegen(server.url, "-o", "out", "-q").status == 0
        live = orl_codegen("show", server.url)
    assert (live.status, live.err) == (0, "")
    assert live.out.strip() == SHOWN.strip()
    assert orl_codegen("show", "out/made.json").out == live.out
    assert orl_codegen("show", "out/made.py").out == live.out


def test_a_module_without_an_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python file that orl-codegen did not write is read as a target, and the message says why it is not one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.py").write_text("x = 1")
    outcome = orl_codegen("show", "other.py")
    assert outcome.status == 2 and "it defines no subclass of openreward.environments.Environment" in outcome.err


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with two environments."""
    monkeypatch.chdir(tmp_path)
    with running(environment([FETCH], name="One"), environment([], name="Two", terminal=ANSWER)) as server:
        lines = ["[tool.orl-codegen]", 'output = "out"', "type-check = false"]
        for variant in ("one", "two"):
            lines += ["[[tool.orl-codegen.environments]]", f'target = "{server.url}"', f'variant = "{variant}"']
        (tmp_path / "pyproject.toml").write_text("\n".join(lines))
        yield tmp_path


def test_without_arguments_it_shows_the_configuration(project: Path) -> None:
    """Each environment under the name of its files, as text and as JSON."""
    text = orl_codegen("show")
    assert text.status == 0, text.err
    assert text.out == f"one\n\n{SHOWN.lstrip()}\ntwo\n\nThere are no tools: the model's plain answer is graded.\n"
    orl_codegen("-q")
    of_all = json.loads(orl_codegen("show", "--format", "json").out)
    assert of_all == {"one": json.loads(orl_codegen("show", "out/one.py", "--format", "json").out), "two": []}
    assert [tool["function"]["name"] for tool in of_all["one"]] == ["fetch-it"]
    assert of_all["one"][0]["function"]["description"] == FETCH["description"].partition("\n")[0]


def test_the_prompt_is_the_one_that_the_chat_template_writes(project: Path) -> None:
    """The text is what the tokenizer makes of the imported methods; the count of its tokens is on standard error."""
    from transformers.utils import get_json_schema

    from tests.support.grpo import tokenizer

    fast = tokenizer()
    fast.save_pretrained("model")
    kitchen = ROOT / "generated" / "kitchen.py"
    outcome = orl_codegen("show", kitchen, "--format", "prompt", "--tokenizer", "model")
    assert outcome.status == 0, outcome.err
    methods = list(bound_tools(golden.loaded(kitchen.read_text()).Kitchen).values())
    messages = [{"role": "user", "content": ""}]
    options = {"tokenize": False, "add_generation_prompt": True}
    assert outcome.out == fast.apply_chat_template(messages, tools=methods, **options) + "\n"
    whole, without = (
        len(fast.apply_chat_template(messages, tools=tools, add_generation_prompt=True)["input_ids"])
        for tools in ([get_json_schema(method) for method in methods], None)
    )
    assert f" {whole} tokens without the task's own prompt; {whole - without} for 5 tools\n" in outcome.err
    several = orl_codegen("show", "--format", "prompt", "--tokenizer", "model")
    assert several.out.startswith("one\n\n<|im_start|>") and "\\x1b[31mit" not in several.out.partition("two\n")[2]
    assert r"\u001b[31mit\u202e" in several.out and " 0 for 0 tools\n" in several.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "prompt"], "--format prompt needs --tokenizer DIR"),
        (["--tokenizer", "model"], "and only it takes one"),
        (["--format", "prompt", "--tokenizer", "./empty"], "The tokenizer ./empty cannot be loaded: "),
        (["--format", "prompt", "--tokenizer", "plain"], "The chat template of plain fails: "),
    ],
)
def test_a_prompt_that_cannot_be_shown(project: Path, arguments: list[str], message: str) -> None:
    """Exit status 2 and one paragraph."""
    from tests.support.grpo import tokenizer

    Path("empty").mkdir()
    plain = tokenizer()
    plain.chat_template = None
    plain.save_pretrained("plain")
    outcome = orl_codegen("show", ROOT / "generated" / "kitchen.py", *arguments)
    assert (outcome.status, outcome.out) == (2, "") and message in outcome.err and outcome.err.count("\n") == 1
