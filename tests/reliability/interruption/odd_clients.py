"""Processes that are interrupted a few times only: TRL's trainer, the server of a Python class, and the controls."""

from __future__ import annotations

import signal
import tempfile
import time
from pathlib import Path

from tests.reliability.interruption.clients import command, serving, training
from tests.reliability.interruption.interrupted import STATES, left_behind
from tests.support.environments import source_of

GRPO = """
from pathlib import Path
from orl_codegen.trl import GRPOTrainer
from tests.support.grpo import call, train

def write(prompt):
    return call("wait", '{"seconds": 30}')

spec = OpenRewardSpec(Echo, base_url=sys.argv[1], variant="lingeringecho", num_tasks=2)
train(spec, write, Path("FOLDER"), batch=4, trainer_class=GRPOTrainer)
"""

PLAYING = """
adapters = opened(4)
def play(adapter):
    for _ in range(10):
        assert adapter.wait(seconds=0.05) == "waited", adapter.failure
threads = [threading.Thread(target=play, args=[adapter]) for adapter in adapters]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print([len(adapter.rewards) for adapter in adapters])
"""

WITHOUT_HANDLERS = """
adapters = opened(3)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
ready()
time.sleep(60)
"""


def grpo(number: int) -> str:
    """TRL's trainer is waiting for the calls of its rollouts."""
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        client = training(GRPO.replace("FOLDER", folder), server)
        if not client.wait_until(lambda: server.paths().count("POST /lingeringecho/call") == 4):
            return f"it made no calls: {client.ended()}"
        client.send(number)
        ended = client.ended()
        if ended.status != -number:  # what it prints is not looked at: transformers has warnings of its own
            return f"its exit status was {ended.status}: {ended.errors[-300:]}"
        return left_behind(ended, client)


def served(number: int) -> str:
    """The process that serves a class ends too, whatever it is doing."""
    with serving() as server, tempfile.TemporaryDirectory() as name:
        pid = Path(name) / "pid"
        noting = f"import os, pathlib, time\npathlib.Path({str(pid)!r}).write_text(str(os.getpid()))\ntime.sleep(5)\n"
        (Path(name) / "server.py").write_text(noting + source_of("Only"))
        client = command(["server.py", "-o", "out"], server, Path(name))
        if not client.wait_until(lambda: pid.exists() and bool(pid.read_text())):
            return f"it served nothing: {client.ended()}"
        client.send(number)
        ended = client.ended()
        if (ended.status, ended.errors) != (128 + number, "orl-codegen: interrupted; nothing was written.\n"):
            return f"it ended with {ended}"
        child = Path("/proc") / pid.read_text()
        return "the process that serves the class is left" if child.exists() else left_behind(ended, client)


def stopped() -> str:
    """A process that stands still for a while goes on as before, and all of its calls are answered."""
    with serving() as server:
        client = training(PLAYING, server)
        if not client.wait_until(lambda: STATES["in a call"](server)):
            return f"it made no call: {client.ended()}"
        client.send(signal.SIGSTOP)
        time.sleep(1.5)
        client.send(signal.SIGCONT)
        ended = client.ended()
        right = (ended.status, ended.output, ended.errors) == (0, "[10, 10, 10, 10]\n", "")
        return left_behind(ended, client) if right else f"it ended with {ended}"


def without_handlers(number: int) -> int:
    """How many of its three sessions a process leaves that does nothing about signals."""
    with serving() as server:
        client = training(WITHOUT_HANDLERS, server)
        client.wait_until(lambda: STATES["idle"](server))
        time.sleep(0.5)
        client.send(number)
        return client.ended().left
