"""TRL's `vllm_mode="server"` with several processes, played in two processes and with a server of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.grpo import tokenizer
from tests.support.ranks import ROOT, of_rank, results, start
from tests.support.servers import RunningServer


@contextmanager
def vllm_serving(folder: Path) -> Iterator[str]:
    """The address of a server like vLLM's, in a process of its own."""
    file = folder / "tokenizer.json"
    tokenizer().backend_tokenizer.save(str(file))
    command = [sys.executable, "-m", "tests.preflight.vllm_server", str(file)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, **pipes) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def test_rollouts_get_the_completions_of_others_and_training_is_refused(server: RunningServer, tmp_path: Path) -> None:
    """Each rollout writes the word of its own prompt, and still loses: after one of its tasks has ended, the second
    process is handed the words of the first. Both processes refuse to begin, before any session opens. And what the
    preflight believes of the installed TRL is what it does: one without the fault makes this test fail."""
    with vllm_serving(tmp_path) as vllm:
        arguments = ("-m", "tests.preflight.rank", server.url, vllm, str(tmp_path))
        first, second = results(
            *(start(*arguments, environment=of_rank(rank, 2, tmp_path) | {"OMP_NUM_THREADS": "1"}) for rank in (0, 1))
        )
    assert first["rewards"] == [1.0] * 4
    assert second["rewards"] == [None, None, 0.0, 0.0], "with a TRL that has no fault they are [None, None, 1.0, 1.0]"
    for rank in (first, second):
        assert 'vllm_mode="server" and 2 processes' in rank["refusal"] and "colocate" in rank["refusal"]
        assert rank["sessions"] == 0 and rank["at_fault"]
    assert server.paths().count("POST /create") == 8, "one for each rollout of the training that was not refused"
