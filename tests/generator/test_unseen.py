"""Nothing in a committed file is unseen: neither in the snapshot nor in the module, whatever a server wrote."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from orl_codegen.errors import UNSEEN
from orl_codegen.generator.contract.contract import build
from orl_codegen.generator.output.rendering import render
from orl_codegen.generator.output.verification import audit
from orl_codegen.generator.snapshot import Snapshot, dump, load
from tests.support.cli import orl_codegen
from tests.support.environments import environment
from tests.support.logs import controls_in
from tests.support.servers import running

UNSEEN_TEXT = (
    "a\x7fb\x85c\x9bd\xade\u034ff\u061cg\u115fh\u200bi\u202ej\u2028k\u2029l\u2066m\u3164n\ufeffo\ufffbp"
    "\U000e0041q\U0001d173r"
)
SEEN = "Größe ⚠️ 日本語 עברית\xa0हिन्दी 🇩🇪"


def tool_of(text: str) -> dict[str, Any]:
    """A tool that has the text wherever a server can write one."""
    parameter = {"type": "string", "description": text, "enum": [text, "b"], "default": text}
    nested = {"type": "object", "properties": {text: parameter, "b": parameter}, "description": text}
    schema = {"type": "object", "properties": {text: parameter, "nested": nested}, "required": [text], text: text}
    return {"name": text, "description": f"{text}\n{text}", "input_schema": schema, text: text}


def snapshot_of(text: str) -> Snapshot:
    return Snapshot(
        target="http://127.0.0.1:1",
        variant=text,
        split=text,
        splits=({"name": text, "type": text},),
        tools=(tool_of(text),),
        terminal_tool={"name": text, "arg": text, "description": text},
        toolset=text,
        num_tasks={text: 3},
    )


def test_a_snapshot_escapes_what_cannot_be_seen() -> None:
    """Controls, bidi marks, separators and whatever takes no room stand escaped; letters of all languages do not."""
    for text in (UNSEEN_TEXT, "half \ud800", "half \udfff of a pair", "\udc00\ud800"):
        written = dump(snapshot_of(text))
        assert not controls_in(written) and not UNSEEN.search(written)
        assert load(written) == snapshot_of(text)
    assert SEEN in dump(snapshot_of(SEEN))


def test_a_module_escapes_what_cannot_be_seen() -> None:
    """The same in every string, docstring, comment and name of a module, which still says what the server said."""
    contract = build(snapshot_of(UNSEEN_TEXT))
    module = render(contract, "adapter")
    audit(module, contract)
    assert not controls_in(module) and not UNSEEN.search(module)
    names = {node.arg for node in ast.walk(ast.parse(module)) if isinstance(node, ast.arg)}
    assert not UNSEEN.search("".join(names))


def test_a_snapshot_of_before_is_no_drift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A committed snapshot that has such characters raw is the same snapshot: no finding, and the next run of generate
    writes them escaped, with the digest as it was."""
    monkeypatch.chdir(tmp_path)
    with running(environment([tool_of(UNSEEN_TEXT), tool_of(SEEN)])) as server:
        assert orl_codegen(server.url, "-o", "out", "-q").status == 0
        committed, module = Path("out/made.json"), Path("out/made.py").read_text("utf-8")
        new = committed.read_text("utf-8")
        committed.write_text(json.dumps(json.loads(new), indent=2, ensure_ascii=False) + "\n", "utf-8")
        assert controls_in(committed.read_text("utf-8"))
        assert orl_codegen("check", "-o", "out", "--offline").status == 0
        assert orl_codegen("check", "-o", "out").status == 0
        rewritten = orl_codegen("generate", "--offline", "-o", "out")
    assert rewritten.out == "wrote out/made.json\n"
    assert (committed.read_text("utf-8"), Path("out/made.py").read_text("utf-8")) == (new, module)
