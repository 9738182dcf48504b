"""The faults in `orl-codegen generate`: a whole adapter, or an error and nothing."""

from __future__ import annotations

import functools
import json
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.reliability.faults.injections import Injection
from tests.reliability.faults.judging import DEADLINE, Trial, faults_of
from tests.reliability.faults.proxy import Proxy, proxied
from tests.support.cli import orl_codegen
from tests.support.servers import RunningServer

STAGES = (
    "list_environments",
    "tools",
    "splits",
    "num_tasks",
    "create_session",
    "create",
    "task_tools",
    "delete",
    "delete_session",
)
TIMEOUT = 1.5

Files = dict[str, Any]


def run(trial: Trial, injection: Injection, server: RunningServer, elsewhere: str) -> list[str]:
    """Run the command once against a fault, and return what went wrong."""
    port = int(server.url.rpartition(":")[2])
    began = time.monotonic()
    with (
        proxied(Proxy(port, trial.stage, injection.inject, injection.times, elsewhere)) as proxy,
        tempfile.TemporaryDirectory() as folder,
    ):
        outcome = _generated(proxy.url, folder)
        took = time.monotonic() - began
        wrong = [] if took < DEADLINE else [f"it took {took:.1f} s"]
        if outcome.status == 0:
            wrong += _faults_of_files(Path(folder), injection, _expected(server.url))
        else:
            wrong += _faults_of_error(outcome, injection, Path(folder))
        if trial.stage not in ("delete", "delete_session") and injection.name != "refused":
            wrong += _faults_of_sessions(proxy, server)  # a server that hears of no end gives its sessions up by itself
    return [f"{trial}: {what}" for what in wrong]


def _generated(url: str, folder: str) -> Any:
    options = ["-o", folder, "--timeout", TIMEOUT, "--probe", "0,1", "--no-type-check", "-q", "--name", "noting"]
    return orl_codegen(url, *options)


def _faults_of_error(outcome: Any, injection: Injection, folder: Path) -> list[str]:
    wrong = faults_of(outcome.err, injection.named)
    wrong += [] if outcome.status == 2 else [f"the status is {outcome.status}"]
    wrong += [] if not outcome.out else [f"standard output has {outcome.out!r}"]
    left = [path.name for path in folder.rglob("*")]
    return wrong + ([f"the folder holds {left}"] if left else [])


def _faults_of_files(folder: Path, injection: Injection, expected: Files) -> list[str]:
    found = _files(folder)
    if injection.name == "a list that changes":  # in which the second task may well offer another tool
        found = {name: _without_later(content) for name, content in found.items()}
        expected = {name: _without_later(content) for name, content in expected.items()}
    return [] if found == expected else [f"the folder holds {found}"]


def _without_later(content: Any) -> Any:
    if isinstance(content, str):
        return "class" in content
    tools = [entry for entry in content["task_tools"] if not entry["spec"]["name"].startswith("later")]
    return {**content, "task_tools": tools}


def _files(folder: Path) -> Files:
    """The files, without the port of the server, which is another one each time, and what is made from it."""
    texts = {path.name: path.read_text() for path in folder.rglob("*") if path.is_file()}
    plain = {name: re.sub(r"127\.0\.0\.1:\d+|[0-9a-f]{32,}", "…", text) for name, text in texts.items()}
    return {name: json.loads(text) if name.endswith(".json") else text for name, text in plain.items()}


@functools.cache
def _expected(url: str) -> Files:
    with tempfile.TemporaryDirectory() as folder:
        outcome = _generated(url, folder)
        assert outcome.status == 0, outcome.err
        return _files(Path(folder))


def _faults_of_sessions(proxy: Proxy, server: RunningServer) -> list[str]:
    deadline = time.monotonic() + 5
    while (left := proxy.sids & set(server.live_sessions)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return [f"{len(left)} sessions are left on the server"] if left else []


def trials(injections: tuple[Injection, ...]) -> Iterator[tuple[Trial, Injection]]:
    """Every fault at every stage of the command."""
    pairs = [(injection, stage) for injection in injections for stage in STAGES]
    for number, (injection, stage) in enumerate(pairs):
        yield Trial("generate", number, stage, injection.name), injection
