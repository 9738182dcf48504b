"""What tests, benchmarks and the run time use of other libraries' private names, and what breaks when one goes.

Nothing of this is promised by the libraries. When a new version has dropped a name, its row here goes red first, and
says what to look at.
"""

from __future__ import annotations

import ast
import inspect
import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]


class Private(NamedTuple):
    """A private name: where it is, what it is called, and what goes without it."""

    module: str
    owner: str
    name: str
    breaks: str


GRPO = "trl.trainer.grpo_trainer"
SERVER = "openreward.environments.server"
PRIVATE = (
    Private(GRPO, "GRPOTrainer", "_tool_call_loop", "tool calls of rollouts no longer overlap, which is logged"),
    Private(GRPO, "GRPOTrainer", "_generate_and_score_completions", "resets no longer overlap, which is logged"),
    Private(GRPO, "GRPOTrainer", "_environment_pool", "resets are not opened ahead; tests cannot count adapters"),
    Private(GRPO, "GRPOTrainer", "_multi_environment", "resets are not opened ahead in runs with `combine`"),
    Private(GRPO, "GRPOTrainer", "_sync_tool_dicts", "tool calls are looked up as TRL's loop leaves them"),
    Private(SERVER, "Server", "_active_envs", "tests/support/servers.py cannot see which sessions a server has"),
    Private(SERVER, "Server", "_last_ping", "test_rollouts cannot tell which sessions are idle"),
    Private(SERVER, "Server", "_setup_tasks", "test_rollouts cannot reap a session as an idle server does"),
    Private(SERVER, "", "_delete_session", "test_rollouts cannot reap a session as an idle server does"),
    Private(
        "trl.experimental.async_grpo.async_rollout_worker",
        "",
        "_AsyncRolloutLoop",
        "no test plays the asynchronous loop",
    ),
    Private("aiohttp.client", "", "_RequestContextManager", "ors/transport.py lacks a type; nothing at run time"),
    Private(
        "trl.experimental.openreward.environment",
        "",
        "_bind_tool_method",
        "make fidelity has nothing to compare with",
    ),
)


@pytest.mark.parametrize("private", PRIVATE, ids=lambda private: private.name)
def test_a_private_name_is_still_there(private: Private) -> None:
    """The name stands in the source of its owner: as a function, or as an attribute that is set on instances."""
    module = import_module(private.module)
    owner = getattr(module, private.owner) if private.owner else module
    assert private.name in inspect.getsource(owner), f"{private.module} has no {private.name}: {private.breaks}."


def test_every_private_name_is_in_the_table() -> None:
    """No test, benchmark or module imports a private name of a library that has no row."""
    known = {private.name for private in PRIVATE}
    used = {name for folder in ("tests", "benchmarks", "codegen") for name in _imported(ROOT / folder)}
    assert used and used <= known


def _imported(folder: Path) -> set[str]:
    """Private names that Python files import from modules that are neither ours nor Python's."""
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                root = node.module.partition(".")[0]
                if root not in {"orl_codegen", "tests", "benchmarks", "generated", *sys.stdlib_module_names}:
                    found |= {alias.name for alias in node.names if alias.name.startswith("_")}
    return found
