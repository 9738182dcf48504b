"""What importing the run time brings along."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import orl_codegen.runtime
from orl_codegen.runtime import UNSET

RUNTIME = Path(orl_codegen.runtime.__file__).parent
HEAVY = {"openreward", "trl", "torch", "transformers", "datasets", "pydantic", "aiohttp", "PIL", "rich"}


def test_importing_an_adapter_imports_nothing_that_costs() -> None:
    """Neither the libraries that it will use, nor the parts of the standard library that take long."""
    light = HEAVY | {"asyncio", "inspect", "dataclasses", "logging", "threading", "orl_codegen.generator"}
    code = f"import sys, tests.runtime.adapters; print({light!r} & {{*sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=RUNTIME.parents[2]
    )
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("path", sorted(RUNTIME.glob("*.py")), ids=lambda path: path.stem)
def test_each_module_imports_downwards(path: Path) -> None:
    """No module of the run time imports the generator, a heavy library before it is needed, or, by way of others,
    itself."""
    assert path.stem not in {name for below in _imported(path) for name in _reachable(below)}
    for node in ast.parse(path.read_text()).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not {name.split(".")[0] for name in names} & HEAVY
        assert not any(
            name.startswith(("orl_codegen.generator", "orl_codegen.drift", "orl_codegen.cli")) for name in names
        )


def _imported(path: Path) -> set[str]:
    """The modules of the run time that a module imports when it is imported itself."""
    found = [node.module for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom)]
    return {module.rpartition(".")[2] for module in found if module and module.startswith("orl_codegen.runtime.")}


def _reachable(name: str, seen: frozenset[str] = frozenset()) -> set[str]:
    if name in seen:
        return set()
    return {name}.union(*(_reachable(below, seen | {name}) for below in _imported(RUNTIME / f"{name}.py")))


def test_unset_stays_itself() -> None:
    """Through a copy and through a pickle."""
    import copy
    import pickle

    assert repr(UNSET) == "UNSET"
    assert pickle.loads(pickle.dumps(UNSET)) is UNSET is copy.deepcopy(UNSET)
