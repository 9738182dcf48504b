#!/usr/bin/env python3
"""What an adapter costs during training, side by side with TRL's own integration, on the same server.

    make bench

Each figure is measured for TRL first and then for orl-codegen, against one server in a process of its own. Both have
already imported what they need; the time that a generated module takes to import is measured separately.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ |= {
    "OPENREWARD_LOG_LEVEL": "CRITICAL",
    "OPENREWARD_DISABLE_UPDATE_CHECK": "1",
    "TRL_EXPERIMENTAL_SILENCE": "1",
}

from orl_codegen import OpenRewardSpec  # noqa: E402
from tests.runtime import adapters  # noqa: E402

LATENCY = 0.03  # seconds before the server handles a request
CALLS = 30
ROLLOUTS = 16
SCATTERED = list(range(0, 96, 3))


class Server:
    """A server in another process, whose requests can be counted."""

    def __init__(self, url: str, connection: Connection) -> None:
        self.url, self._connection = url, connection

    def requests(self) -> int:
        """How many requests it has had so far."""
        self._connection.send("count")
        return int(self._connection.recv())


@contextlib.contextmanager
def serving(name: str, latency: float) -> Iterator[Server]:
    """Serve an environment of `tests/environments/echo.py` in a process of its own."""
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=_serve, args=(name, latency, theirs), daemon=True)
    child.start()
    url = ours.recv()
    os.environ["OPENREWARD_API_URL"] = os.environ["OPENREWARD_SESSION_URL"] = url  # how TRL's spec learns it
    try:
        yield Server(url, ours)
    finally:
        ours.send("stop")
        child.join(10)


def _serve(name: str, latency: float, connection: Connection) -> None:
    from tests.environments import echo
    from tests.support.servers import running

    logging.disable()
    with running(getattr(echo, name), latency=latency) as server:
        connection.send(server.url)
        while connection.recv() == "count":
            connection.send(len(server.requests))


def spec_of_trl(server: Server, **options: Any) -> Any:
    """TRL's spec."""
    from trl.experimental.openreward import OpenRewardSpec as TRLSpec

    return TRLSpec(server.url, env_name="echo", **options)


def our_spec(server: Server, adapter: Any = adapters.Echo, **options: Any) -> Any:
    """Ours."""
    return OpenRewardSpec(adapter, base_url=server.url, **options)


def seconds(run: Callable[[], Any]) -> float:
    """How long something takes."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def discovery(server: Server, spec: Any) -> int:
    """Requests before there is an adapter."""
    before = server.requests()
    spec.environment_factory()
    return server.requests() - before


def calls(server: Server, spec: Any) -> tuple[float, float]:
    """Requests and milliseconds per call."""
    rollout = spec.environment_factory()
    rollout.reset(task_index=0)
    rollout.wait(seconds=0)
    before = server.requests()
    taken = seconds(lambda: [rollout.wait(seconds=0) for _ in range(CALLS)])
    requests = server.requests() - before
    rollout._close()
    return requests / CALLS, 1000 * taken / CALLS


def first_calls(spec: Any) -> float:
    """Seconds from the first reset to the last first call's answer, one after another, as `GRPOTrainer` plays them."""
    rows = [spec.train_dataset[index] for index in range(ROLLOUTS)]
    rollouts = [spec.environment_factory() for _ in rows]

    def play() -> None:
        for rollout, row in zip(rollouts, rows, strict=True):
            rollout.reset(**row)
        for rollout, row in zip(rollouts, rows, strict=True):
            assert rollout.echo(text=row["word"]) == "match", rollout.last_output

    taken = seconds(play)
    for rollout in rollouts:
        rollout._close()
    return taken


def import_milliseconds() -> float:
    """What importing a generated module with a hundred tools adds to the start-up of Python."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "hundred.py").write_text(_module_of(100))
        run_python("import hundred", folder)  # compiles the bytecode, as any first import does
        heavy = "openreward trl torch pydantic aiohttp".split()
        check = f"import sys, hundred; assert not {{*{heavy}}} & {{*sys.modules}}"
        run_python(check, folder)
        pairs = [
            (seconds(lambda: run_python("import hundred", folder)), seconds(lambda: run_python("pass", folder)))
            for _ in range(15)
        ]
    with_module, bare = map(min, zip(*pairs, strict=True))
    return 1000 * (with_module - bare)


def run_python(source: str, folder: str) -> None:
    """Run a line of Python that can import modules from a folder."""
    path = os.pathsep.join([folder, str(ROOT / "codegen")])
    subprocess.run([sys.executable, "-c", source], env={**os.environ, "PYTHONPATH": path}, check=True)


def _module_of(count: int) -> str:
    from orl_codegen.generator.contract.contract import build
    from orl_codegen.generator.output.rendering import render
    from orl_codegen.generator.snapshot import Snapshot

    properties = {
        "query": {"type": "string", "description": "What to look for"},
        "limit": {"type": "integer", "minimum": 1, "default": 10, "description": "How many to return"},
        "filters": {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}}, "description": "What to leave out"},
    }
    schema = {"type": "object", "properties": properties, "required": ["query"]}
    tools = [{"name": f"search_{n}", "description": "Find things.", "input_schema": schema} for n in range(count)]
    return render(build(Snapshot("http://127.0.0.1:1", "hundred", "train", tuple(tools))), "hundred")


def measure() -> Iterator[tuple[str, float, float, str, str]]:
    """What was measured, TRL's figure, ours, the unit, and the target for ours."""
    with serving("Echo", LATENCY) as server:
        trl, ours = spec_of_trl(server), our_spec(server)
        yield "discovery before the first rollout", discovery(server, trl), discovery(server, ours), "requests", "0"
        for name, limit, options in [
            ("dataset of num_tasks=64", 1 / 50, {"num_tasks": 64}),
            ("dataset of 32 scattered indices", 1 / 30, {"indices": SCATTERED}),
        ]:
            theirs = seconds(lambda options=options: spec_of_trl(server, **options).train_dataset)
            mine = seconds(lambda options=options: our_spec(server, **options).train_dataset)
            yield name, theirs, mine, "s", f"<= 1/{1 / limit:.0f}"
        (their_requests, theirs), (our_requests, mine) = calls(server, trl), calls(server, ours)
        yield "requests of a tool call", their_requests, our_requests, "requests", "1"
        yield "a tool call", theirs, mine, "ms", "<= 0.55"
    with serving("SlowEcho", 0) as server:
        options = {"num_tasks": ROLLOUTS}
        theirs = first_calls(spec_of_trl(server, **options))
        mine = first_calls(our_spec(server, adapters.SlowEcho, prompts="dataset", **options))
        yield f"first calls of {ROLLOUTS} rollouts, 1 s set-up", theirs, mine, "s", "<= 1/12"
    yield "import of 100 tools, above bare Python", float("nan"), import_milliseconds(), "ms", "< 50"


def main() -> None:
    """Print the table."""
    warm_up()
    rows = list(measure())
    print(f"Server latency {1000 * LATENCY:.0f} ms, none where a set-up is waited for.\n")
    print("| | TRL | orl-codegen | ratio | target |\n|---|---:|---:|---:|---:|")
    for what, theirs, mine, unit, target in rows:
        shown = "—" if theirs != theirs else f"{theirs:.4g} {unit}"
        ratio = (
            "—"
            if theirs != theirs or not mine
            else f"1/{theirs / mine:.1f}"
            if mine < theirs / 3
            else f"{mine / theirs:.2f}"
        )
        print(f"| {what} | {shown} | {mine:.4g} {unit} | {ratio} | {target} |")


def warm_up() -> None:
    """Import what both sides need, and open the first connection of each."""
    with serving("Echo", 0) as server:
        for spec in (spec_of_trl(server, num_tasks=1), our_spec(server, num_tasks=1)):
            spec.train_dataset  # noqa: B018
            rollout = spec.environment_factory()
            rollout.reset()
            rollout._close()


if __name__ == "__main__":
    main()
