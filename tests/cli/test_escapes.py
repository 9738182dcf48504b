"""What the commands print of a server's text: nothing that a terminal or a CI runner would obey."""

from __future__ import annotations

from pathlib import Path

import pytest

from orl_codegen import cli
from orl_codegen.cli.display import display
from orl_codegen.cli.generate import unified_diff
from tests.support.applications import respond
from tests.support.cli import orl_codegen
from tests.support.environments import environment, spec
from tests.support.logs import commands_in, controls_in
from tests.support.servers import running, serving_application

ATTACK = "##[set-output name=report;]1\n::stop-commands::x\x1b[31m\u2028 \x9b0m"


def test_a_shown_tool_holds_no_command() -> None:
    """Lines of a description may begin with a command, and long words are broken where one begins."""
    text = f"{ATTACK}\n::add-mask::x\n{'a' * 98}::error x::y"
    with running(environment([spec("go", f"One.\n{text}", way={"type": "string", "description": text})])) as server:
        shown = orl_codegen("show", server.url)
    assert shown.status == 0 and "add-mask" in shown.out
    assert not commands_in(shown.out) and not controls_in(shown.out)


def test_a_diff_holds_no_command() -> None:
    """Added, removed and unchanged lines; none of them is cut because its escapes make it longer."""
    text = f"{ATTACK}\n    ::group::a\n\x1b\x1b\x1b\x1b end"
    diff = unified_diff(Path("a.py"), f"one\n{text}\nthree", f"two\n{text}\nfour")
    assert not commands_in(diff) and not controls_in(diff)
    assert r" \x1b\x1b\x1b\x1b end" in diff.splitlines()


def test_an_error_of_a_server_holds_no_command() -> None:
    """The text of an HTTP error, on standard error, for every command that asks a server."""

    async def refuse(scope: object, receive: object, send: object) -> None:
        await respond(send, 500, ATTACK.encode(), b"text/plain")

    with serving_application(refuse) as server:
        for command in (["generate", server.url, "-o", "x"], ["show", server.url]):
            outcome = orl_codegen(*command)
            assert outcome.status == 2 and r"#\x23[set-output name=report;]1\n:\x3astop" in outcome.err
            assert not commands_in(outcome.err) and not controls_in(outcome.err)


def test_a_bug_prints_no_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The traceback of an exception that nobody foresaw may quote the server."""

    def broken(*args: object, **options: object) -> None:
        raise ValueError(ATTACK)

    monkeypatch.setattr(cli.cli, "main", broken)
    assert cli._status(["rules"]) == 2
    printed = capsys.readouterr().err
    assert "ValueError" in printed and "set-output" in printed
    assert not commands_in(printed) and not controls_in(printed)


def test_a_line_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing in a line is markup or the name of an emoji, and it is escaped as a whole."""
    with display(quiet=False) as shown:
        shown.say("[red]:warning: ##" + "[group]")
    assert capsys.readouterr().err == "[red]:warning: #\\x23[group]\n"
