"""Verification: a module that differs from its contract is refused, whatever rendered it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orl_codegen.errors import UsageError, VerificationError
from orl_codegen.generator.output.rendering import render, shipped_templates
from orl_codegen.generator.output.verification import audit, type_check
from tests.generator import golden

CHANGES = {
    "an extra statement": ("\n\nclass Golden", "\n\nprint('here')\n\n\nclass Golden"),
    "an extra import": ("from typing import", "import os\nfrom typing import"),
    "an import of another name": ("import UNSET, ", "import UNSET, Plan, "),
    "another wire name": ("@tool\n", '@tool("Send")\n'),
    "a wire name that is stated twice": ("@tool\n", '@tool("send")\n'),
    "a method that is not a tool": ("    @tool\n", ""),
    "another wire key": ('"body": body', '"Body": body'),
    "an argument that is not sent": (', "window": window', ""),
    "another call": ('self._call("send"', 'self._other("send"'),
    "another default": ("body: str | list[str] = UNSET", "body: str | list[str] = None"),
    "another type": ("to: SendTo | SendTo2", "to: SendTo"),
    "another text": ("Look something up.", "Look nothing up."),
    "an environment of another place": ('target="http://127.0.0.1:8080"', 'target="http://127.0.0.1:8081"'),
    "another base class": ("class Golden(RolloutAdapter)", "class Golden(RolloutAdapter, dict)"),
    "a metaclass": ("class Golden(RolloutAdapter)", "class Golden(RolloutAdapter, metaclass=type)"),
    "a decorator": ("\n\nclass Golden", "\n\n@staticmethod\nclass Golden"),
    "another nested field": ("        address: str\n", "        address: int\n"),
    "a nested class that does more": ("        address: str\n", "        address: str\n        x = print()\n"),
    "an attribute": ("    @tool\n", "    x = 1\n\n    @tool\n"),
    "a second method": ("    @tool\n", "    def more(self) -> None: ...\n\n    @tool\n"),
    "a syntax error": ("def send(", "def send(("),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_module_that_differs_from_its_contract_is_refused(change: str) -> None:
    """Each way in which a rendered module can stray from its contract is noticed."""
    made, source = golden.contract(golden.read("unions")), golden.module("unions")
    old, new = CHANGES[change]
    assert old in source
    audit(source, made)
    with pytest.raises(VerificationError, match="Nothing was written"):
        audit(source.replace(old, new, 1), made)


def test_a_class_that_replaces_the_adapter_is_refused() -> None:
    """The last class of a name is the one that is imported, so there may only be one."""
    made, source = golden.contract(golden.read("unions")), golden.module("unions")
    with pytest.raises(VerificationError, match="extra statement"):
        audit(f"{source}\n\nclass Golden(RolloutAdapter):\n    x = print('here')\n", made)


def test_a_missing_method_is_refused() -> None:
    """A module that leaves out a tool does not fulfil its contract."""
    made = golden.contract(golden.read("task-tools"))
    two = golden.contract({**golden.read("task-tools"), "task_tools": []})
    with pytest.raises(VerificationError, match="has no method"):
        audit(render(two, "adapter"), made)


def test_what_mypy_refuses_is_not_written() -> None:
    """The message quotes mypy, and says how to continue."""
    with pytest.raises(VerificationError, match=r"adapter\.py:1: error: .* --no-type-check"):
        type_check({"adapter.py": "x: int = 'text'\n"})


def test_modules_and_configuration_of_the_working_directory_do_not_take_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a mypy.ini whose plug-in would run in this process, nor a module named like a standard one."""
    (tmp_path / "mypy.ini").write_text("[mypy]\nplugins = nasty.py\n")
    (tmp_path / "nasty.py").write_text("raise SystemExit('ran')\n")
    (tmp_path / "types.py").write_text("x: int = 'text'\n")
    monkeypatch.chdir(tmp_path)
    type_check({"adapter.py": golden.module("enums")})


def test_own_templates_may_add_but_not_change(tmp_path: Path) -> None:
    """A statement that the user adds is fine; a template that loses a wire key is not."""
    made = golden.contract(golden.read("parameter-names"))
    shipped = shipped_templates()
    module = (shipped / "module.py.jinja").read_text("utf-8")
    (tmp_path / "module.py.jinja").write_text(module.replace("\n\nclass ", "\n\n\nTEAM = 'ours'\n\n\nclass ", 1))
    source = render(made, "adapter", tmp_path)
    assert "TEAM" in source
    audit(source, made, own_templates=True)
    with pytest.raises(VerificationError, match="extra statement"):
        audit(source, made)
    method = (shipped / "method.py.jinja").read_text("utf-8")
    (tmp_path / "method.py.jinja").write_text(method.replace("method.input", "'{}'"))
    with pytest.raises(VerificationError, match="is different"):
        audit(render(made, "adapter", tmp_path), made, own_templates=True)


@pytest.mark.parametrize("text", ["{{ nothing.there }}", "{% if %}", "def (:"])
def test_a_template_that_does_not_render_to_python_is_refused(text: str, tmp_path: Path) -> None:
    """The message names the folder, and says what to do."""
    (tmp_path / "module.py.jinja").write_text(text)
    with pytest.raises(UsageError, match="do not render to Python"):
        render(golden.contract(golden.read("enums")), "adapter", tmp_path)
    with pytest.raises(UsageError, match="is not a folder"):
        render(golden.contract(golden.read("enums")), "adapter", tmp_path / "missing")
