"""Programs that open sessions in processes of their own, and end in various ways."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]

OPENING = """
import os, signal, sys, threading, time
from orl_codegen import OpenRewardSpec
from tests.runtime.adapters import Echo

def opened(count):
    spec = OpenRewardSpec(Echo, base_url=sys.argv[1], variant="lingeringecho")
    adapters = [spec.environment_factory() for _ in range(count)]
    for index, adapter in enumerate(adapters):
        adapter.reset(task_index=index)
    return adapters

def ready():
    print("ready", flush=True)
"""


class Program:
    """A Python program that has called `ready()`.

    Args:
        source: Its code, in which `opened(count)` returns adapters with open sessions.
        url: The server.
    """

    def __init__(self, source: str, url: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", OPENING + textwrap.dedent(source), url],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,  # what is read ahead together with the first line would be lost to `end`
        )
        assert self._process.stdout is not None
        self.first_line = self._process.stdout.readline().decode()

    def signal(self, number: int) -> None:
        """Send the process a signal."""
        self._process.send_signal(number)

    def end(self, within: float = 10.0) -> tuple[int, float, str, str]:
        """Wait for it to end; returns its exit status, the seconds that took, its remaining output, and its errors."""
        began = time.monotonic()
        output, errors = self._process.communicate(timeout=within)
        return self._process.returncode, time.monotonic() - began, output.decode(), errors.decode()
