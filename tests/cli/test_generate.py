"""`orl-codegen generate` as its users run it: what it writes, prints, and leaves alone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from openreward.environments import TerminalToolSpec

from orl_codegen.generator.snapshot import load
from tests.support.cli import orl_codegen
from tests.support.environments import environment, source_of, spec
from tests.support.servers import RunningServer, dead_url, running

OVEN = spec("oven", heat={"type": "integer"})
COLD_OVEN = spec("oven", heat={"type": "string"}, door={"type": "boolean"})


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test runs in a folder without a pyproject.toml."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """One tool for all tasks, and an oven that two tasks describe differently."""
    with running(environment([spec("fetch-it")], task_tools={0: [OVEN], 1: [COLD_OVEN]})) as running_server:
        yield running_server


def test_a_url_becomes_a_snapshot_and_a_module(server: RunningServer) -> None:
    """Both files are written and named on standard output; the second run changes nothing."""
    first = orl_codegen(server.url, "-o", "out")
    assert (first.status, first.out) == (0, "wrote out/made.json\nwrote out/made.py\n")
    assert "made: renamed: fetch-it: its method is called fetch_it; the model still sees 'fetch-it'" in first.err
    before = {path: path.stat().st_mtime_ns for path in Path("out").iterdir()}
    again = orl_codegen("generate", server.url, "-o", "out")
    assert (again.status, again.out) == (0, "unchanged out/made.json\nunchanged out/made.py\n")
    assert {path: path.stat().st_mtime_ns for path in Path("out").iterdir()} == before
    assert server.wait_for_sessions(0) == 0


def test_quiet_prints_nothing(server: RunningServer) -> None:
    """-q leaves only errors."""
    outcome = orl_codegen(server.url, "-o", "out", "-q")
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")


def test_a_dry_run_writes_nothing_and_says_what_would_change(server: RunningServer) -> None:
    """Exit status 1 if a file would change, with the diff on request; 0 if none would."""
    outcome = orl_codegen(server.url, "-o", "out", "--dry-run", "--diff")
    assert outcome.status == 1
    assert outcome.out.startswith("would write out/made.json\nwould write out/made.py\n")
    assert "+++ b/out/made.json" in outcome.out and "+++ b/out/made.py" in outcome.out
    assert not Path("out").exists()
    orl_codegen(server.url, "-o", "out", "-q")
    assert orl_codegen(server.url, "-o", "out", "--dry-run").status == 0


def test_a_conflict_widens_or_is_refused(server: RunningServer) -> None:
    """Tasks that disagree widen the tool, with a note and a line in the module; --on-conflict error refuses."""
    refused = orl_codegen(server.url, "-o", "out", "--probe", "all", "--on-conflict", "error")
    assert refused.status == 2 and "give the tool 'oven' different schemas" in refused.err
    assert not Path("out").exists()
    widened = orl_codegen(server.url, "-o", "out", "--probe", "0-1")
    assert "made: widened: oven: " in widened.err
    module = Path("out/made.py").read_text()
    assert "heat: str | int,\n        door: bool = UNSET" in module and "The specs of these tools differ" in module


def test_names_are_chosen_on_the_command_line(server: RunningServer) -> None:
    """--name names the files, --class-name the class; both are for one target and must be usable."""
    assert orl_codegen(server.url, "-o", "out", "--name", "cook", "--class-name", "Cook").status == 0
    assert "class Cook(RolloutAdapter):" in Path("out/cook.py").read_text()
    two = orl_codegen(server.url, "Owner/Name", "-o", "out", "--name", "cook")
    assert two.status == 2 and "--name and --class-name need exactly one TARGET" in two.err
    assert orl_codegen(server.url, "-o", "out", "--name", "../cook").status == 2
    assert orl_codegen(server.url, "-o", "out", "--class-name", "a b").status == 2


def test_offline_renders_again_what_is_committed(server: RunningServer) -> None:
    """Without a network, with the class that the module has; a hand edit of the module goes, one of the snapshot is
    an error."""
    orl_codegen(server.url, "-o", "out", "--class-name", "Cook", "-q")
    module, snapshot = Path("out/made.py"), Path("out/made.json")
    good = module.read_text()
    module.write_text(good.replace("Does a thing.", "Does another thing."))
    requests = len(server.requests)
    assert orl_codegen("generate", "--offline", "-o", "out").out == "wrote out/made.py\n"
    assert module.read_text() == good
    assert orl_codegen("generate", server.url, "--offline", "-o", "out").status == 0
    assert len(server.requests) == requests
    snapshot.write_text(snapshot.read_text().replace("Does a thing.", "Does another thing."))
    edited = orl_codegen("generate", "--offline", "-o", "out")
    assert edited.status == 2 and "There is no snapshot in out" in edited.err
    named = orl_codegen("generate", server.url, "--name", "made", "--offline", "-o", "out")
    assert named.status == 2 and "does not match its digest" in named.err


def test_options_hold_offline_where_only_a_folder_is_named(server: RunningServer) -> None:
    """`generate --offline -o DIR` takes the options of the command line for every snapshot in the folder."""
    orl_codegen(server.url, "-o", "out", "-q")
    outcome = orl_codegen("generate", "--offline", "-o", "out", "--templates", "nowhere")
    assert outcome.status == 2 and "nowhere is not a folder" in outcome.err


def test_an_environment_with_a_terminal_tool_alone() -> None:
    """Having no tools is not an error if the plain answer is graded."""
    terminal = TerminalToolSpec(name="submit", arg="answer")
    with running(environment([], terminal=terminal)) as server:
        assert orl_codegen(server.url, "-o", "out", "-q").status == 0
        assert "no tool" in orl_codegen("show", "out/made.py").out.lower()
    assert 'terminal_tool=TerminalTool("submit", arg="answer")' in Path("out/made.py").read_text()


def test_a_python_file_is_served_and_recorded_by_its_relative_path(in_an_empty_folder: Path) -> None:
    """The class in a file becomes an adapter whose target does not name a folder of this machine."""
    Path("server.py").write_text(source_of("Walk"))
    outcome = orl_codegen(in_an_empty_folder / "server.py", "-o", "out")
    assert (outcome.status, outcome.out) == (0, "wrote out/walk.json\nwrote out/walk.py\n")
    snapshot, module = Path("out/walk.json").read_text(), Path("out/walk.py").read_text()
    assert load(snapshot).target == "server.py:Walk" and str(in_an_empty_folder) not in snapshot + module
    assert orl_codegen("generate", "server.py", "--offline", "-o", "out").status == 0


def test_a_folder_that_cannot_be_written(server: RunningServer) -> None:
    """Exit status 2, one sentence, and what was there stays."""
    Path("out").write_text("a file")
    outcome = orl_codegen(server.url, "-o", "out/inside")
    assert outcome.status == 2
    assert outcome.err.count("\n") <= 2 and "The output folder cannot be written" in outcome.err
    assert Path("out").read_text() == "a file"


@pytest.mark.parametrize("name", ["made.py", "made.json"])
def test_files_of_others_are_left_alone(server: RunningServer, name: str) -> None:
    """A file that orl-codegen did not write is not replaced, and the message says how to continue."""
    Path("out").mkdir()
    Path("out", name).write_text('{"mine": 1}')
    outcome = orl_codegen(server.url, "-o", "out")
    assert (outcome.status, outcome.out) == (2, "")
    assert f"out/{name} already exists, and orl-codegen did not write it" in outcome.err
    assert [path.name for path in Path("out").iterdir()] == [name]
    assert Path("out", name).read_text() == '{"mine": 1}'


def test_an_adapter_that_replaces_another_is_named(server: RunningServer) -> None:
    """Another server whose files have the same name replaces them, and the message says how to keep both."""
    orl_codegen(server.url, "-o", "out")
    with running(environment([spec("other")])) as other:
        outcome = orl_codegen(other.url, "-o", "out")
    assert outcome.status == 0
    assert f"made was generated from {server.url}, and now from {other.url}. To keep both" in outcome.err


def test_nothing_is_half_written(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the second of two files cannot be prepared, the first is not replaced either, and nothing is left behind."""
    orl_codegen(server.url, "-o", "out", "-q")
    before = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    Path("out/made.py").unlink()
    Path("out/made.py").mkdir()
    outcome = orl_codegen(server.url, "-o", "out", "--probe", "all")
    assert outcome.status == 2
    assert Path("out/made.json").read_bytes() == before["made.json"]
    assert sorted(path.name for path in Path("out").iterdir()) == ["made.json", "made.py"]


def test_one_failure_among_several_writes_nothing(server: RunningServer) -> None:
    """Each target that failed has its own line, and the one that succeeded is not written."""
    dead, other = dead_url(), dead_url()
    outcome = orl_codegen(server.url, dead, other, "-o", "out")
    assert outcome.status == 2 and f"{dead} could not be reached" in outcome.err and other in outcome.err
    assert not Path("out").exists()


def test_two_targets_with_one_name(server: RunningServer) -> None:
    """They cannot both be written, and the message says what to do."""
    same = server.url.replace("127.0.0.1", "localhost")
    outcome = orl_codegen(server.url, same, "-o", "out")
    assert outcome.status == 2 and "would both be written to made.py" in outcome.err and "--name SLUG" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "There is nothing to do: name a TARGET"),
        (["kitchen", "-o", "out"], "`kitchen` is not a target."),
        (["chekc"], "Did you mean `check`?"),
        (["Owner/Name"], "Name the output folder: -o DIR"),
        (["Owner/Name", "-o", "out", "--secret", "hunter2"], "--secret takes KEY=ENVVAR: the name of"),
        (["Owner/Name", "-o", "out", "--probe", "some"], "--probe some: write `first`"),
        (["Owner/Name", "-o", "out", "--timeout", "0"], "--timeout must be more than 0"),
        (["Owner/Name", "-o", "out", "--timeout", "inf"], "and at most a day"),
        (
            ["Owner/Name", "-o", "out", "--toolset", "codex", "--no-task-tools"],
            "--toolset takes effect only in",
        ),
        (["Owner/Name", "-o", "out", "--prune"], "--prune removes files that no environment of pyproject.toml claims"),
        (["Owner/Name", "-o", "out", "--watch"], "--watch watches Python files"),
        (["Owner/Name", "-o", "out", "--nonsense"], "No such option"),
        (["--offline", "-o", "nowhere"], "There is no snapshot in nowhere"),
        (["show"], "Name one thing to show"),
        (["show", "nowhere.json"], "There is no file nowhere.json"),
    ],
)
def test_invalid_usage(arguments: list[str], message: str) -> None:
    """Exit status 2 and one paragraph that says what to do instead; nothing on standard output."""
    outcome = orl_codegen(*arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert "hunter2" not in outcome.err
    assert outcome.err.startswith("orl-codegen: ") and message in outcome.err and outcome.err.count("\n") == 1


def test_the_module_is_a_command_and_ends_cleanly_when_it_is_terminated(server: RunningServer) -> None:
    """`python -m orl_codegen` in a process of its own: results on stdout alone, and SIGTERM leaves no session."""
    command = [sys.executable, "-m", "orl_codegen", server.url, "-o", "out", "--no-type-check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "wrote out/made.json\nwrote out/made.py\n"

    class Slow(environment([spec("a")])):  # type: ignore[misc]
        def list_task_tools(self) -> object:
            time.sleep(1.0)
            return super().list_task_tools()

    with running(Slow) as slow:
        process = subprocess.Popen([*command[:3], slow.url, "-o", "slow"], stderr=subprocess.DEVNULL)
        while not slow.live_sessions:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
        assert slow.wait_for_sessions(0) == 0
    assert not Path("slow").exists()


def test_watch_generates_again_when_the_file_changes() -> None:
    """An error in the file is shown, and the next good version is generated."""
    Path("server.py").write_text(source_of("Walk"))
    command = [sys.executable, "-m", "orl_codegen", "server.py", "-o", "out", "--watch", "--no-type-check"]
    with Path("log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_for(lambda: "wrote out/" in Path("log").read_text())
        Path("server.py").write_text("raise ValueError('half-way')\n")
        wait_for(lambda: "importing it raised ValueError: half-way" in Path("log").read_text())
        Path("server.py").write_text(source_of("Walk", tool="run"))
        wait_for(lambda: "def run(" in Path("out/walk.py").read_text())
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def wait_for(condition) -> None:  # type: ignore[no-untyped-def]
    """Wait until the condition holds, for at most half a minute."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, Path("log").read_text()
        time.sleep(0.05)


def test_help_and_the_light_commands_stay_light() -> None:
    """--help imports none of the slow libraries."""
    code = (
        "import sys\n"
        "from orl_codegen.cli import _status\n"
        "_status(['--help'])\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    out = subprocess.run(
        [sys.executable, "-c", f"import json; {code}"], capture_output=True, text=True, check=True
    ).stdout
    loaded = set(json.loads(out.splitlines()[-1]))
    assert not loaded & {
        "openreward",
        "mypy",
        "black",
        "datamodel_code_generator",
        "pydantic",
        "aiohttp",
        "rich",
        "jinja2",
    }


def test_offline_and_show_do_not_import_the_sdk(server: RunningServer) -> None:
    """Neither rendering again nor showing needs the SDK or a network."""
    orl_codegen(server.url, "-o", "out", "-q")
    for arguments in (["show", "out/made.json"], ["show", "out/made.py"], ["generate", "--offline", "-o", "out"]):
        run = f"import sys; from orl_codegen.cli import _status; _status({arguments!r})"
        code = f"{run}; print('openreward' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        assert done.stdout.endswith("False\n")


def test_an_environment_called_environment() -> None:
    """The adapter class never shadows a name that the module uses."""
    with running(environment([spec("a")], name="Environment")) as server:
        assert orl_codegen(server.url, "-o", "out").status == 0
        assert "class Environment2(RolloutAdapter):" in Path("out/environment.py").read_text()
        assert orl_codegen(server.url, "-o", "out", "--class-name", "Environment").status == 2


def test_a_long_report_is_cut_and_v_lists_it_all() -> None:
    """Five notes of a kind are shown, then the number of the others."""
    with running(environment([spec(f"tool-{number}") for number in range(8)])) as server:
        short = orl_codegen(server.url, "-o", "out", "--no-type-check").err
        assert short.count("renamed") == 6 and "renamed: and 3 more (-v lists them)" in short
        full = orl_codegen(server.url, "-o", "out", "--no-type-check", "-v")
    assert full.err.count("renamed") == 8
    assert full.out == "unchanged out/made.json\nunchanged out/made.py\n"


def test_a_bar_is_shown_on_a_terminal_only(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, standard error shows a progress bar for each environment; standard output has only the result."""
    plain = orl_codegen(server.url, "-o", "out", "--probe", "all", "--no-type-check")
    assert "3/3" not in plain.err
    monkeypatch.setenv("FORCE_COLOR", "1")  # how rich is told that a stream is a terminal
    shown = orl_codegen(server.url, "-o", "out", "--probe", "all", "--no-type-check")
    assert "3/3" in shown.err and "\u2501" in shown.err
    assert shown.out == "unchanged out/made.json\nunchanged out/made.py\n"
