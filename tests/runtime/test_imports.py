"""What importing the run time brings along."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import orl_codegen
from orl_codegen.runtime import UNSET

PACKAGE = Path(orl_codegen.__file__).parent
ROOT = Path(__file__).parents[2]
TRAINING = [path for room in ("ors", "sessions", "runtime", "trl") for path in sorted((PACKAGE / room).glob("*.py"))]
HEAVY = {"openreward", "trl", "torch", "transformers", "datasets", "pydantic", "aiohttp", "PIL", "rich"}


def test_importing_an_adapter_imports_nothing_that_costs() -> None:
    """Neither the libraries that it will use, nor the parts of the standard library that take long."""
    light = HEAVY | {"asyncio", "inspect", "dataclasses", "logging", "threading", "orl_codegen.generator"}
    code = f"import sys, tests.runtime.adapters; print({light!r} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("path", TRAINING, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_heavy_libraries_are_imported_when_they_are_needed(path: Path) -> None:
    """No module that runs while training imports one of them when it is imported itself. Which rooms it may import is
    held by `test_architecture.py`."""
    for node in ast.parse(path.read_text()).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not {name.split(".")[0] for name in names} & HEAVY


def test_unset_stays_itself() -> None:
    """Through a copy and through a pickle."""
    import copy
    import pickle

    assert repr(UNSET) == "UNSET"
    assert pickle.loads(pickle.dumps(UNSET)) is UNSET is copy.deepcopy(UNSET)
