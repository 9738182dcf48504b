"""What a server says beyond a limit is refused before anything takes long over it: no timeout counts that time."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from openreward.environments import Server

from orl_codegen.errors import SchemaError, ServerError
from orl_codegen.generator.contract import contract, merging
from orl_codegen.generator.contract.contract import build
from orl_codegen.generator.contract.merging import MAX_SPECS, MAX_TOOLS
from orl_codegen.generator.discovery import answers
from orl_codegen.generator.options import Options
from orl_codegen.generator.snapshot import Snapshot, TaskTool
from orl_codegen.generator.target import parse_target
from orl_codegen.ors import limits
from orl_codegen.schema.document import MAX_TEXT
from tests.support.applications import answering
from tests.support.discovery import take_snapshot
from tests.support.environments import environment, spec
from tests.support.servers import RunningServer, running, serving_application

SECRETS = {"SOME_KEY": "MY_SECRET"}


@pytest.fixture(autouse=True)
def confidential(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key and a secret, in the variables that the options name."""
    monkeypatch.setenv("MY_KEY", "sk-live-0123456789abcdef")
    monkeypatch.setenv("MY_SECRET", "my-password-hush")


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail if the block takes more time of the processor; with room for a slow machine."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


def told(server: RunningServer, **options: Any) -> str:
    """The message that discovery with a key and a secret ends with."""
    with pytest.raises(ServerError) as raised:
        take_snapshot(parse_target(server.url), Options(secrets=SECRETS, api_key_env="MY_KEY", **options))
    message = str(raised.value)
    assert "\n" not in message and message.isprintable() and message.endswith((".", "?"))
    return message


def test_too_many_tools_are_refused_before_a_task_is_opened() -> None:
    """One more than allowed, with a key and a secret to look for in each."""
    many = [spec(f"tool_{number}", "What it does. " * 20) for number in range(MAX_TOOLS + 1)]
    with running(environment(many)) as server, at_most(4):
        assert f"lists {MAX_TOOLS + 1:,} tools; orl-codegen takes at most {MAX_TOOLS:,}" in told(server, timeout=4)
        assert "POST /create" not in server.paths()


@pytest.mark.parametrize("leak", ["", "my-password-hush"])
def test_ten_thousand_tools_are_searched_for_secrets_in_one_pass(leak: str) -> None:
    """No pattern is made for each text, and so the time is that of reading them."""
    many = [spec(f"tool_{number}", "What it does with my-password. " * 10) for number in range(MAX_TOOLS)]
    many[-1] = spec("last", leak)
    options = Options(secrets=SECRETS, api_key_env="MY_KEY", timeout=4)
    with running(environment(many)) as server, at_most(8):
        if leak:
            assert "puts the value of a secret or a key into what it says about its tools" in told(server, timeout=4)
        else:
            assert len(take_snapshot(parse_target(server.url), options).tools) == MAX_TOOLS


def test_a_part_of_a_secret_is_no_secret() -> None:
    """A text may hold the longest word of one."""
    with running(environment([spec("log_in", "Asks for a password.")])) as server:
        assert take_snapshot(parse_target(server.url), Options(secrets=SECRETS)).tools


def test_a_key_that_stands_twice_among_many_is_found_at_once() -> None:
    """47 seconds before, for sixty thousand keys."""
    body = ("{" + ",".join(f'"key{number}":1' for number in range(100_000)) + ',"key7":2}').encode()
    with at_most(2), pytest.raises(ServerError, match="the key 'key7' stands twice"):
        answers.parse(body, "The answer")


def test_no_error_of_discovery_shows_a_part_of_a_key() -> None:
    """What is no JSON is quoted up to its sixtieth character; names are quoted, too."""
    key = "sk-live-0123456789abcdef"
    page = b"<!doctype html><title>401</title> wrong key given: " + key.encode()
    made = Server([environment([spec("a")])]).app
    for path, body in {
        "/list_environments": page,
        "/made/tools": page,
        "/made/task_tools": page,
        "/made/splits": json.dumps([f"{'x' * 50}{key}"]).encode(),
    }.items():
        with serving_application(answering({path: body}, made)) as server:
            assert "sk-" not in told(server)
    nameless = json.dumps({"tools": [{"x": "y" * 60 + key}]}).encode()
    with serving_application(answering({"/made/tools": nameless}, made)) as server:
        assert "a tool without a name" in (message := told(server)) and "sk-" not in message


def test_tools_that_differ_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every task has tools of its own; what all of them say together has a limit."""
    monkeypatch.setattr(limits, "SPECS_BYTES", 1 << 20)
    task_tools = {index: [spec("own", f"{index} {'x' * 400_000}")] for index in range(3)}
    with running(environment([spec("a")], task_tools=task_tools)) as server:
        assert "describes tools in more than 1 MiB. Offer fewer on the server" in told(server, probe="all")
    with running(environment([spec("own", "x" * 2_000_000)])) as server:
        assert "to /tools describes tools in more than 1 MiB" in told(server)
        assert "POST /create" not in server.paths()


def refused(*tools: dict[str, Any], task_tools: tuple[TaskTool, ...] = ()) -> str:
    """The message that a snapshot is refused with, which takes less than two seconds."""
    with at_most(2), pytest.raises(SchemaError) as raised:
        build(Snapshot("http://h:1", "v", "train", tools, task_tools=task_tools))
    assert str(raised.value).isprintable()
    return str(raised.value)


def test_a_spec_that_no_model_could_read() -> None:
    """A quarter of a megabyte is seventeen times the longest that was seen."""
    assert "its spec is longer than 256 KiB" in refused(spec("long", "x" * limits.SPEC_BYTES))
    values = {"enum": [f"value {number}" for number in range(30_000)]}
    assert "its spec is longer than 256 KiB" in refused(spec("long", q=values))


def test_a_tool_that_is_another_one_in_each_task() -> None:
    """To widen it takes longer with each task."""
    assert merging.MAX_SPECS == 2_000
    entries = tuple(TaskTool(spec("own", q={"enum": [index]}), (index,)) for index in range(MAX_SPECS + 1))
    assert "2,001 different specs, and orl-codegen widens at most 2,000" in refused(task_tools=entries)


def test_a_few_references_to_a_long_text() -> None:
    """Many short properties would repeat it, each time in full."""
    long = {"type": "string", "description": "word " * 20_000}
    properties = {f"q{number}": {"$ref": "#/$defs/long"} for number in range(100)}
    tool = {"name": "t", "input_schema": {"type": "object", "properties": properties, "$defs": {"long": long}}}
    assert f"more than {MAX_TEXT:,} characters once its references are followed" in refused(tool)


@pytest.mark.parametrize("allow_partial", [False, True])
def test_short_specs_that_hold_thousands_of_schemas(monkeypatch: pytest.MonkeyPatch, allow_partial: bool) -> None:
    """References double with each level: 200 bytes a level, and a second for the types of each tool."""
    monkeypatch.setattr(contract, "MAX_SCHEMAS_IN_ALL", 3_000)
    names = [f"level{number}" for number in range(8)]
    definitions = {
        name: {"type": "object", "properties": {key: {"$ref": f"#/$defs/{inner}"} for key in ("a", "b")}}
        for name, inner in pairwise(names)
    }
    schema = {"type": "object", "properties": {"q": {"$ref": "#/$defs/level0"}}}
    schema["$defs"] = {**definitions, names[-1]: {"type": "string"}}
    many = tuple({"name": f"tool{number}", "input_schema": schema} for number in range(100))
    with at_most(5), pytest.raises(SchemaError, match="more than 3,000 schemas once references are followed"):
        build(Snapshot("http://h:1", "v", "train", many), allow_partial=allow_partial)


def test_names_that_many_parts_require() -> None:
    """12 seconds and more before, for five thousand parts."""
    parts = [{"required": [f"name{number}"]} for number in range(2_000)]
    with at_most(6):
        build(Snapshot("http://h:1", "v", "train", (spec("t", q={"allOf": parts}),)))
