"""`check` on committed files: what it tells apart, what it ignores, and how fast it is."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from orl_codegen.drift.rules import RULES
from orl_codegen.generator import snapshot
from orl_codegen.generator.output import rendering
from tests.drift.conftest import configure
from tests.support.cli import Outcome, orl_codegen
from tests.support.servers import RunningServer

COMMITTED = {rule.id for rule in RULES.values() if rule.category == "files"}


def found(outcome: Outcome) -> list[str]:
    """The rules that fired, in a run with `--format json`."""
    return [finding["rule"] for finding in json.loads(outcome.out)["findings"]]


def edit(path: Path, old: str, new: str) -> None:
    """Change a file by hand."""
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def reseal(project: Path, old: str, new: str) -> None:
    """Change the module as another generator would have written it: with a seal of its own."""
    path = project / "generated/pantry.py"
    edit(path, old, new)
    unsealed = "\n".join(line for line in path.read_text("utf-8").split("\n") if not line.startswith("# Checksum"))
    path.write_text(rendering.seal(unsealed, "of another version"), "utf-8")


def restated(project: Path) -> None:
    """Change the snapshot and its digest, so that it is valid but no longer that of the module."""
    path = project / "generated/pantry.json"
    content = json.loads(path.read_text("utf-8"))
    content.pop("digest")
    taken = snapshot._from_content({**content, "supports_score_group": True})
    path.write_text(snapshot.dump(taken), "utf-8")


MISHAPS: dict[str, Callable[[Path], object]] = {
    "snapshot-missing": lambda project: (project / "generated/pantry.json").unlink(),
    "snapshot-modified": lambda project: edit(project / "generated/pantry.json", "Find food.", "Find gold."),
    "module-missing": lambda project: (project / "generated/pantry.py").unlink(),
    "module-modified": lambda project: edit(project / "generated/pantry.py", "Find food.", "Find gold."),
    "module-stale": restated,
    "generator-changed": lambda project: reseal(project, "Find food.", "Find food!"),
    "module-type-error": lambda project: edit(project / "generated/pantry.py", "query: str", "query: strr"),
    "file-orphan": lambda project: (project / "generated/old.json").write_text(
        (project / "generated/pantry.json").read_text("utf-8")
    ),
}


def test_fresh_files_have_no_drift(project: Path) -> None:
    """Fresh files, offline: status 0, and the three comparisons are named."""
    outcome = orl_codegen("check", "--offline")
    assert outcome.status == 0 and outcome.err == ""
    for name in ("module ↔ snapshot", "snapshot ↔ live", "module types", "No drift."):
        assert name in outcome.out


@pytest.mark.parametrize("rule", MISHAPS)
def test_each_mishap_of_a_file_is_told_apart(project: Path, rule: str) -> None:
    """Whatever happens to the committed files, check gives status 1, says which mishap it was, and writes nothing."""
    MISHAPS[rule](project)
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    outcome = orl_codegen("check", "--offline", "--format", "json")
    expected = {"module-type-error": ["module-modified", "module-type-error"]}.get(rule, [rule])
    assert outcome.status == 1 and found(outcome) == expected
    assert before == {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}


def test_every_rule_about_files_has_its_mishap() -> None:
    """The table of mishaps is complete."""
    assert MISHAPS.keys() == COMMITTED


@pytest.mark.parametrize("configured", [True, False])
def test_the_command_that_check_prints_fixes_it(project: Path, configured: bool) -> None:
    """The command at the end of the report undoes a hand edit, with or without a configuration."""
    if not configured:
        (project / "pyproject.toml").unlink()
    edit(project / "generated/pantry.py", "Find food.", "Find gold.")
    command = shlex.split(orl_codegen("check", "--offline", "-o", "generated").out.splitlines()[-1])
    assert command[:3] == ["orl-codegen", "generate", "--offline"]
    assert orl_codegen(*command[1:]).status == 0
    assert orl_codegen("check", "--offline", "-o", "generated").status == 0


def test_other_templates_are_another_generator(project: Path) -> None:
    """Using other templates than the module was made with is reported as such, not as an edit by hand."""
    templates = project / "mine"
    shutil.copytree(rendering.shipped_templates(), templates)
    edit(templates / "module.py.jinja", "class_docstring }}", "class_docstring }}\n    # reviewed")
    assert found(orl_codegen("check", "--offline", "--templates", templates, "--format", "json")) == [
        "generator-changed"
    ]


def test_templates_that_cannot_be_used_are_an_error(project: Path) -> None:
    """A folder that does not exist, or a template that does not render, is status 2 and not drift, even with --diff."""
    (project / "broken").mkdir()
    (project / "broken/module.py.jinja").write_text("{{ nothing_of_this_name }}")
    for folder, message in {"nowhere": "is not a folder", "broken": "do not render"}.items():
        for more in ([], ["--diff"]):
            outcome = orl_codegen("check", "--offline", "--templates", folder, *more)
            assert outcome.status == 2 and message in outcome.err


def test_a_file_that_was_only_touched_is_not_a_finding(project: Path) -> None:
    """If rendering again gives the same text, nothing is found, whatever was touched in between."""
    path = project / "generated/pantry.py"
    text = path.read_text("utf-8")
    path.write_text(text + "\n", "utf-8")
    path.write_text(text, "utf-8")
    assert orl_codegen("check", "--offline").status == 0


def test_another_class_name_is_found(project: Path, pantry: RunningServer) -> None:
    """A class name that the configuration asks for, and the module does not have, is a finding."""
    configure(project, pantry.url)
    with (project / "pyproject.toml").open("a") as file:
        file.write('class-name = "Larder"\n')
    assert found(orl_codegen("check", "--offline", "--format", "json")) == ["generator-changed"]


def test_a_module_that_is_not_text_is_found(project: Path) -> None:
    """Bytes that are not UTF-8 are an edit like any other, and never a crash."""
    path = project / "generated/pantry.py"
    path.write_bytes(path.read_bytes() + b"\xff\n")
    outcome = orl_codegen("check", "--offline", "--format", "json")
    assert outcome.status == 1 and found(outcome) == ["module-modified", "module-type-error"]


def test_unrelated_json_is_not_a_snapshot(project: Path) -> None:
    """Files that happen to be in the folder and have a `format` are neither checked nor reported."""
    for name, text in {"a": '{"format": 1}', "b": "[]", "c": "{", "d": '{"format": 1, "target": 3}'}.items():
        (project / f"generated/{name}.json").write_text(text)
    assert orl_codegen("check", "--offline").status == 0
    (project / "pyproject.toml").unlink()
    assert orl_codegen("check", "--offline", "-o", "generated").status == 0


def test_paths_in_reports_start_at_the_working_directory(project: Path) -> None:
    """GitHub needs relative paths, even if the configured folder is absolute."""
    (project / "generated/old.json").write_bytes((project / "generated/pantry.json").read_bytes())
    (project / "generated/pantry.py").unlink()
    report = json.loads(orl_codegen("check", "--offline", "--format", "json").out)
    assert [finding["file"] for finding in report["findings"]] == ["generated/pantry.py", "generated/old.json"]


def test_the_diff_is_added_where_it_is_asked_for(project: Path) -> None:
    """`--diff` shows the unified diff from the module to what it should be."""
    edit(project / "generated/pantry.py", "Find food.", "Find gold.")
    outcome = orl_codegen("check", "--offline", "--diff")
    assert '-        """Find gold.' in outcome.out and '+        """Find food.' in outcome.out


def test_files_that_will_be_removed_are_called_so(project: Path) -> None:
    """The command that removes files without a target does not claim to write them again."""
    MISHAPS["file-orphan"](project)
    for format_ in ("text", "markdown"):
        outcome = orl_codegen("check", "--offline", "--format", format_)
        assert "To remove the files without a target" in outcome.out and "To write" not in outcome.out


def test_a_checkout_with_windows_line_ends_has_no_drift(project: Path) -> None:
    """CRLF line ends from git are not a hand edit: check finds nothing, and generate would write nothing."""
    for path in (project / "generated").iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert orl_codegen("check", "--offline").status == 0
    assert orl_codegen("generate", "--offline", "--dry-run", "--no-type-check").status == 0


def test_a_verbose_check_says_why_and_what_to_do(project: Path) -> None:
    """`-v` adds to each finding why it matters and what to do."""
    edit(project / "generated/pantry.py", "Find food.", "Find gold.")
    assert "What to do:" in orl_codegen("check", "--offline", "-v").out
    assert "What to do:" not in orl_codegen("check", "--offline").out


def test_type_check_can_be_asked_for_and_switched_off(project: Path) -> None:
    """mypy reads a sealed module only on request; `--no-type-check` leaves the comparison out and says so."""
    assert "checked when it was written" in orl_codegen("check", "--offline").out
    assert "checked when it was written" not in orl_codegen("check", "--offline", "--type-check").out
    assert "switched off" in orl_codegen("check", "--offline", "--no-type-check").out


def test_without_configuration_the_snapshots_say_what_to_check(
    generated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given only a folder, check compares every snapshot in it with the target that it names."""
    monkeypatch.chdir(tmp_path)
    outcome = orl_codegen("check", "-o", generated)
    assert outcome.status == 0 and outcome.out.count("ok") == 3


@pytest.mark.parametrize("rule", ["snapshot-missing", "snapshot-modified", "module-missing", "module-modified"])
def test_without_configuration_no_mishap_is_overlooked(project: Path, rule: str) -> None:
    """Damaged and missing files are findings even if only a folder is named."""
    (project / "pyproject.toml").unlink()
    MISHAPS[rule](project)
    outcome = orl_codegen("check", "-o", "generated", "--offline", "--format", "json")
    assert outcome.status == 1 and found(outcome) == [rule]


def test_a_target_that_was_never_generated_is_drift(project: Path) -> None:
    """A configured environment without files is a missing snapshot, not an error."""
    with (project / "pyproject.toml").open("a") as file:
        file.write('[[tool.orl-codegen.environments]]\ntarget = "http://127.0.0.1:1"\nname = "other"\n')
    outcome = orl_codegen("check", "--offline", "--format", "json")
    assert outcome.status == 1 and found(outcome) == ["snapshot-missing"]


def test_nothing_to_check_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder gives status 2 and says how to begin."""
    monkeypatch.chdir(tmp_path)
    outcome = orl_codegen("check", "-o", tmp_path)
    assert outcome.status == 2 and "nothing to check" in outcome.err


def test_twenty_environments_cost_no_heavy_import(project: Path, pantry: RunningServer) -> None:
    """Twenty unchanged environments are checked offline without rendering, mypy, the SDK or a type generator."""
    taken = snapshot.load((project / "generated/pantry.json").read_text("utf-8"))
    entries = []
    for i in range(20):
        (project / f"generated/pantry_{i}.json").write_text(snapshot.dump(taken), "utf-8")
        module = (project / "generated/pantry.py").read_text("utf-8")
        (project / f"generated/pantry_{i}.py").write_text(module, "utf-8")
        entries.append(f'[[tool.orl-codegen.environments]]\ntarget = "{pantry.url}"\nname = "pantry_{i}"\n')
    configure(project, pantry.url)
    with (project / "pyproject.toml").open("a") as file:
        file.write("\n".join(entries))
    script = (
        "import sys; from orl_codegen.cli import _status; status = _status(['check', '--offline', '-q']);"
        "print(status, *{name.partition('.')[0] for name in sys.modules})"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    status, *modules = run.stdout.split()
    assert status == "0", run.stderr
    assert not set(modules) & {
        "mypy",
        "jinja2",
        "black",
        "datamodel_code_generator",
        "openreward",
        "aiohttp",
        "pydantic",
    }


def test_no_block_to_accept_is_offered_for_files(project: Path) -> None:
    """Generating fixes whatever is wrong with generated files, so the report offers nothing to paste."""
    edit(project / "generated/pantry.py", "Find food.", "Find gold.")
    outcome = orl_codegen("check", "--offline")
    assert "[[tool.orl-codegen.accept]]" not in outcome.out and "To write the files again" in outcome.out


@pytest.mark.parametrize("rule", ["snapshot-missing", "snapshot-modified"])
def test_without_a_snapshot_the_environment_was_not_compared(project: Path, rule: str) -> None:
    """Online, a missing or damaged snapshot is status 2: it is unknown whether the environment changed."""
    MISHAPS[rule](project)
    outcome = orl_codegen("check", "--format", "json")
    [environment] = json.loads(outcome.out)["environments"]
    assert outcome.status == 2 and "compared with nothing" in outcome.err
    assert [one["outcome"] for one in environment["comparisons"]][1] == "failed"
