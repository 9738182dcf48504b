"""`vllm_mode="server"` with several processes: does TRL hand each rollout its own completion?

`GRPOTrainer` sends the conversations of all processes to vLLM's server together, and each process takes its share of
the completions. TRL 1.16 computes where that share begins from the process's own number of conversations. In a tool
loop these numbers differ as soon as some rollouts have ended, and rollouts then go on with completions of others.
tests/preflight/test_server_mode.py shows it in two processes, and fails once this module is wrong about the TRL that is
installed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

OWN_COUNT = re.compile(r"process_index\s*\*\s*len\(\s*prompts\s*\)")
"""Where a process believes its share to begin. A right one needs the numbers of the processes before it."""


def takes_by_own_count(generate: Callable[..., Any]) -> bool:
    """Whether this version of `VLLMGeneration.generate` has the fault. Source that cannot be read is not accused."""
    try:
        return OWN_COUNT.search(inspect.getsource(generate)) is not None
    except (OSError, TypeError):
        return False
