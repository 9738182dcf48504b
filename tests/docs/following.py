"""What following a page takes: a shell in a scratch folder, the port that the page names, and a model to train."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.docs.blocks import ROOT, Block
from tests.support import grpo

PORT = "8080"  # the one on the pages


def free_port() -> str:
    """The port of the pages, or another one if something listens there already."""
    for wanted in (int(PORT), 0):
        try:
            with socket.create_server(("127.0.0.1", wanted)) as listener:
                return str(listener.getsockname()[1])
        except OSError:
            continue
    raise AssertionError("no port is free")


def environment_of_a_shell() -> dict[str, str]:
    """The shell of somebody who has activated the virtual environment."""
    found = os.pathsep.join(filter(None, [str(ROOT / "codegen"), os.environ.get("PYTHONPATH")]))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    who = {f"GIT_{role}_{key}": "nobody" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    return os.environ | who | {"PATH": path, "PYTHONPATH": found, "GIT_CONFIG_GLOBAL": os.devnull}


def run(block: Block, folder: Path, port: str = PORT, skip: tuple[str, ...] = ()) -> None:
    """Run the commands of a console block, and compare what they print with what the page shows."""
    commands = [(command, shown) for command, shown in block.commands() if not command.startswith(skip or "\0")]
    for at, (command, shown) in enumerate(commands, 1):
        done = subprocess.run(
            ["bash", "-c", command.replace(PORT, port)],
            cwd=folder,
            env=environment_of_a_shell(),
            capture_output=True,
            text=True,
            timeout=120,
        )
        status = block.status if at == len(commands) else 0
        assert done.returncode == status, f"{command}\n{done.stdout}{done.stderr}"
        if shown:
            assert done.stdout.replace(port, PORT).rstrip("\n") == shown.rstrip("\n"), command


@contextmanager
def serving(folder: Path, port: str) -> Iterator[None]:
    """`python server.py`, until the block ends."""
    server = subprocess.Popen(
        [sys.executable, "server.py"],
        cwd=folder,
        env=environment_of_a_shell(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(int(port), server)
        yield
    finally:
        server.terminate()
        server.wait(30)


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server did not come up")


def train(source: str, folder: Path, write: grpo.Write, model: str = "Qwen/Qwen3-0.6B") -> dict[str, Any]:
    """Execute a training script. The model that it names is a folder here, and writes what `write` returns; everything
    else is the trainer's own. Returns the names that the script leaves."""
    from transformers import Qwen3ForCausalLM

    fast = grpo.tokenizer()
    grpo.model(fast).save_pretrained(folder / model)
    fast.save_pretrained(folder / model)
    names: dict[str, Any] = {"__name__": "__main__"}
    with patch.object(Qwen3ForCausalLM, "generate", side_effect=grpo.writing(fast, write)):
        exec(compile(source, "the page", "exec"), names)
    return names
