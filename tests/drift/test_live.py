"""`check` against live servers: a change is found, and a server that cannot be asked is never "no drift"."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orl_codegen.generator.snapshot import dump, load
from tests.drift.conftest import configure
from tests.support.applications import answering, hanging
from tests.support.cli import orl_codegen
from tests.support.environments import environment, spec
from tests.support.servers import dead_url, running, serving_application


def test_check_follows_a_running_environment(project: Path) -> None:
    """An environment changes while it runs: check goes from 0 to 1, and back to 0 once it is generated again."""
    tools = [spec("find-food", "Find food.", query={"type": "string"})]
    with running(environment(tools, name="Pantry")) as server:
        configure(project, server.url)
        assert orl_codegen("generate").status == 0
        assert orl_codegen("check").status == 0

        tools[0] = spec("find-food", "Find food.", query={"type": "string"}, shelf={"type": "integer"})
        outcome = orl_codegen("check", "--format", "json")
        assert outcome.status == 1
        [finding] = json.loads(outcome.out)["findings"]
        assert (finding["rule"], finding["path"]) == ("param-added-required", "/input_schema/properties/shelf")
        lines = (project / "generated/pantry.py").read_text("utf-8").splitlines()
        assert lines[finding["line"] - 1].strip().startswith("def find_food")

        assert orl_codegen("generate").status == 0
        assert orl_codegen("check").status == 0


def test_an_environment_may_grow_without_a_word_about_its_module(project: Path) -> None:
    """More tasks are worth a line, and leave the module as it is; a split that loses most of them fails the check."""
    tasks = [{"index": index} for index in range(10)]
    with running(environment([spec("go")], name="Pantry", tasks={"train": tasks})) as server:
        configure(project, server.url)
        orl_codegen("generate")
        module = (project / "generated/pantry.py").read_bytes()

        tasks.append({"index": 10})
        outcome = orl_codegen("check", "--format", "json")
        assert outcome.status == 0
        [finding] = json.loads(outcome.out)["findings"]
        assert (finding["rule"], finding["path"]) == ("task-count-changed", "/num_tasks/train")
        assert orl_codegen("generate").status == orl_codegen("check", "--offline").status == 0
        assert load((project / "generated/pantry.json").read_text("utf-8")).num_tasks == {"train": 11}
        assert (project / "generated/pantry.py").read_bytes() == module

        del tasks[5:]
        assert "The split `train` has only `5` tasks, previously `11`." in orl_codegen("check").out
        assert orl_codegen("check").status == 1


def test_the_code_profile_lets_new_optional_things_pass(project: Path) -> None:
    """A new tool breaks no caller, so it fails the check of a training run but not that of code."""
    tools = [spec("find-food", query={"type": "string"})]
    with running(environment(tools, name="Pantry")) as server:
        configure(project, server.url)
        orl_codegen("generate")
        tools.append(spec("cook", minutes={"type": "integer"}))
        assert orl_codegen("check").status == 1
        assert orl_codegen("check", "--profile", "code").status == 0
        assert orl_codegen("check", "--profile", "code", "--fail-on", "info").status == 1


def test_severities_and_acceptances_of_the_configuration_count(project: Path) -> None:
    """A rule that is switched off, or a change that is accepted, no longer fails the check."""
    tools = [spec("find-food", "Find food.", query={"type": "string"})]
    with running(environment(tools, name="Pantry")) as server:
        configure(project, server.url)
        orl_codegen("generate")
        tools[0] = {**tools[0], "description": "Find more food."}
        assert orl_codegen("check").status == 1
        configure(project, server.url, '[tool.orl-codegen.severity]\ntool-description-changed = "off"')
        assert orl_codegen("check").status == 0
        accept = (
            '[[tool.orl-codegen.accept]]\nrule = "tool-description-changed"\n'
            'tool = "find-food"\npath = "/description"\n'
        )
        configure(project, server.url, accept + 'reason = "better words"')
        assert orl_codegen("check").status == 0
        configure(project, server.url, accept + 'reason = "better words"\nexpires = 2020-01-31')
        outcome = orl_codegen("check")
        assert outcome.status == 1 and "accepted until 2020-01-31" in outcome.out


def test_an_acceptance_that_covers_nothing_is_named(project: Path, pantry: Any) -> None:
    """An acceptance that no finding needs any more is named but fails nothing; after a partial check it is unknown."""
    accept = '[[tool.orl-codegen.accept]]\nrule = "tool-removed"\ntool = "boil"\npath = ""\nreason = "too hot"'
    configure(project, pantry.url, accept)
    outcome = orl_codegen("check")
    assert (
        outcome.status == 0 and "cover nothing any more" in outcome.out and "tool-removed boil: too hot" in outcome.out
    )
    [unused] = json.loads(orl_codegen("check", "--format", "json").out)["unused_acceptances"]
    assert (unused["rule"], unused["tool"], unused["reason"]) == ("tool-removed", "boil", "too hot")
    for partial in (["--offline"], [pantry.url]):
        assert "cover nothing" not in orl_codegen("check", *partial).out


def test_task_tools_are_probed_as_the_snapshot_was(project: Path) -> None:
    """A snapshot of several tasks is compared with the same tasks, so that no tool seems to be missing."""
    extra = {2: [spec("bake", hours={"type": "integer"})]}
    with running(environment([spec("cook")], name="Pantry", task_tools=extra)) as server:
        configure(project, server.url)
        orl_codegen("generate", "--probe", "all")
        assert orl_codegen("check").status == 0


ANSWERS: dict[str, Any] = {
    "HTML": answering(dict.fromkeys(["/list_environments", "/env/tools", "/"], b"<!doctype html><title>Hello</title>")),
    "nothing": hanging(),
}


@pytest.mark.parametrize("kind", ["HTML", "nothing", "a refused connection"])
def test_a_server_that_cannot_be_asked_is_an_error(project: Path, kind: str) -> None:
    """HTML, silence and a dead port give status 2 within the timeout, with one paragraph and no "no drift"."""
    if kind == "a refused connection":
        assert_unreachable(project, dead_url())
    else:
        with serving_application(ANSWERS[kind]) as server:
            assert_unreachable(project, server.url)


def assert_unreachable(project: Path, url: str) -> None:
    """Check gives status 2 for a committed environment whose server is now at `url`."""
    configure(project, url)
    began = time.monotonic()
    outcome = orl_codegen("check", "--timeout", "2")
    assert time.monotonic() - began < 12  # the SDK is imported in that time, too
    assert outcome.status == 2
    assert len(outcome.err.strip().splitlines()) == 1 and url in outcome.err
    assert "no drift" not in outcome.out.lower() and "Traceback" not in outcome.err


def test_a_dead_server_does_not_stop_the_other_checks(project: Path, pantry: Any) -> None:
    """One server that is down does not hide what is found elsewhere, but the status is 2."""
    (project / "generated/other.json").write_bytes((project / "generated/pantry.json").read_bytes())
    (project / "generated/other.py").write_bytes((project / "generated/pantry.py").read_bytes())
    with (project / "pyproject.toml").open("a") as file:
        file.write(f'[[tool.orl-codegen.environments]]\ntarget = "{dead_url()}"\nname = "other"\n')
    outcome = orl_codegen("check", "--format", "json")
    outcomes = [[one["outcome"] for one in entry["comparisons"]] for entry in json.loads(outcome.out)["environments"]]
    assert outcome.status == 2
    assert outcomes == [["same", "same", "same"], ["same", "failed", "same"]]


def test_options_count_if_only_a_folder_is_named(project: Path) -> None:
    """Without TARGETs and configured environments, the command line and the project's defaults apply to every file."""
    with serving_application(hanging()) as server:
        path = project / "generated/pantry.json"
        path.write_text(dump(replace(load(path.read_text("utf-8")), target=server.url)), "utf-8")
        (project / "pyproject.toml").write_text("[tool.orl-codegen]\ntype-check = false\n")
        began = time.monotonic()
        outcome = orl_codegen("check", "-o", "generated", "--timeout", "1")
        assert outcome.status == 2 and "1 second" in outcome.err and time.monotonic() - began < 10
        assert "switched off" in outcome.out
    outcome = orl_codegen("check", "-o", "generated", "--secret", "A=NOPE_UNSET")
    assert outcome.status == 2 and "the secret A is not set" in outcome.err
