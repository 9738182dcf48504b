"""`serve`: a Python environment class on loopback, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from orl_codegen import serve
from orl_codegen.environments.kitchen import Kitchen
from orl_codegen.errors import ServerError, TargetError
from tests.support.environments import source_of


def environments_at(url: str) -> list[str]:
    with urllib.request.urlopen(f"{url}/list_environments", timeout=5) as answer:
        return list(json.load(answer))


def test_a_class_and_a_file_are_served(tmp_path: Path) -> None:
    """A class and a file target each give a server that answers inside the block and has gone after it."""
    path = tmp_path / "a server.py"
    path.write_text(source_of("Only") + "print('noise on stdout')\n")
    for target, name in ((Kitchen, "kitchen"), (f"{path}:Only", "only")):
        with serve(target) as url:
            assert environments_at(url) == [name]
        with pytest.raises(urllib.error.URLError):
            environments_at(url)


def test_several_environments_in_a_file_are_listed(tmp_path: Path) -> None:
    """A file with two environments is an error that names both, and says how to choose."""
    path = tmp_path / "server.py"
    path.write_text(source_of("First") + source_of("Second"))
    with pytest.raises(TargetError, match=r"several environments: First, Second\. Say which one by adding `:Class`"):
        serve(str(path)).__enter__()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1", "it defines no subclass of openreward.environments.Environment."),
        (
            "from openreward.environments import Environment\nclass Bare(Environment): ...",
            "it leaves list_splits, list_tasks undefined.",
        ),
        ("raise SystemExit('no licence \\x1b[31m')", r"importing it raised SystemExit: no licence \x1b[31m."),
        ("from .tools import x", "Name it as package.module:Class instead."),
        (source_of("Bare").replace("    @tool\n", ""), "Environment 'bare' has no tools defined."),
        ("import sys, os; print('so long', file=sys.stderr); os._exit(3)", "Its last words: so long"),
    ],
)
def test_a_server_that_does_not_come_up_says_why(tmp_path: Path, source: str, message: str) -> None:
    """Whatever goes wrong in the child becomes one escaped sentence in the parent."""
    path = tmp_path / "server.py"
    path.write_text(source)
    with pytest.raises((TargetError, ServerError)) as raised, serve(str(path)):
        pass
    assert message in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_a_server_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    """The wait is bounded, and the child is gone afterwards."""
    path = tmp_path / "server.py"
    pid_file = tmp_path / "pid"
    path.write_text(f"import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    with pytest.raises(ServerError, match="did not come up within 2 seconds"), serve(str(path), timeout=2):
        pass
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_a_class_inside_a_function_cannot_be_named() -> None:
    """A local class is refused with the reason, before any process is started."""

    class Local:
        pass

    with pytest.raises(TargetError, match="defined inside a function"), serve(Local):
        pass


def test_the_server_does_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    """A parent that is killed outright takes the server, and what the environment started, with it."""
    path = tmp_path / "server.py"
    pids = tmp_path / "pids"
    start = "import os, pathlib, subprocess; child = subprocess.Popen(['sleep', '60'])\n"
    start += f"pathlib.Path({str(pids)!r}).write_text(f'{{os.getpid()}} {{child.pid}}')\n"
    path.write_text(start + source_of("Only"))
    script = f"from orl_codegen import serve\nwith serve({str(path)!r}) as url: print(url, flush=True); input()"
    parent = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None and parent.stdout.readline().startswith("http://127.0.0.1:")
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 12
    left = [int(pid) for pid in pids.read_text().split()]
    while left and time.monotonic() < deadline:
        left = [pid for pid in left if alive(pid)]
        time.sleep(0.05)
    assert not left


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_only_the_child_imports_openreward() -> None:
    """Importing `serve` brings neither the SDK nor the web server into the parent."""
    code = "import sys, orl_codegen.serving; print({'openreward', 'uvicorn'} & {*sys.modules})"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


GOING_WRONG = {
    "logging": ("get_logger('environment').error('a line of the SDK'); raise RuntimeError('no disk')", "no disk"),
    "dying": ("print('out of memory', file=sys.stderr, flush=True); os._exit(3)", "ended while it was asked"),
}


@pytest.mark.parametrize("kind", GOING_WRONG)
def test_what_a_served_class_logs_does_not_reach_the_terminal(tmp_path: Path, kind: str) -> None:
    """One paragraph stands there, whatever the SDK and the class have printed. That the process has died is said as
    such, not as an address at which nothing listens."""
    work, expected = GOING_WRONG[kind]
    source = "import os, sys\nfrom openreward.log_utils import get_logger\n" + source_of("Only")
    (tmp_path / "server.py").write_text(source + f"    def __init__(self, *_, **__):\n        {work}\n")
    command = [sys.executable, "-m", "orl_codegen", "server.py", "-o", "generated", "-q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("orl-codegen: ") and expected in done.stderr
    assert "a line of the SDK" not in done.stderr and "Connection refused" not in done.stderr
