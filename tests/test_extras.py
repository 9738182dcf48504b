"""The base install trains, and whatever takes an extra says in a line which one is missing.

A child process takes the place of a smaller environment: modules that are None in `sys.modules` cannot be imported.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from orl_codegen.cli import COMMANDS
from orl_codegen.environments.kitchen import Kitchen
from orl_codegen.errors import ExtraError
from orl_codegen.extras import EXTRAS, require
from tests.support.servers import running

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "codegen" / "orl_codegen"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

BROUGHT = {
    "pyarrow": {"datasets"},
    "pydantic": {"inspect_ai", "openreward"},
    "uvicorn": {"openreward"},
}
"""Modules that are used because the API of another one deals in them, and who brings them."""

ASKS_FIRST = {
    "cli/eval.py": {"inspect_ai"},
    "inspect/tooling.py": {"openai"},
    "generator/output/prompting.py": {"transformers"},
    "standin/plugin.py": {"pytest"},
}
"""What modules import that ask for the extra first, or that only that package loads."""

TRAINS = ("ors", "sessions", "runtime", "trl", "endings.py", "errors.py", "extras.py", "chat_tokens.py")
"""What a training process imports."""

EVALUATES = ("episodes", "inspect")
"""What an evaluation imports, and loops that are not TRL's."""


def _without(modules: Iterable[str], code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process that cannot import some modules."""
    blocked = f"import sys; sys.modules.update(dict.fromkeys({sorted(modules)}))\n{code}"
    command = [sys.executable, "-c", blocked, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)


def _names(requirements: Iterable[str]) -> set[str]:
    return {_normal(re.split(r"[<>=!~\[; ]", requirement)[0]) for requirement in requirements}


def _normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_table_is_that_of_the_project(extra: str) -> None:
    """`EXTRAS` has the modules of the extras in pyproject.toml, no more and no less."""
    distributions = packages_distributions()
    listed = {_normal(distributions[module][0]) for module in EXTRAS[extra]}
    assert listed == _names(PROJECT["optional-dependencies"][extra])


def test_training_takes_only_aiohttp() -> None:
    """The base install has the one package that talks to servers."""
    assert _names(PROJECT["dependencies"]) == {"aiohttp"}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_import_is_of_a_package_that_is_declared(path: Path) -> None:
    """What trains imports what the base install and `trl` bring, what evaluates what `eval` brings, and the rest what
    `generate` brings."""
    room = path.relative_to(PACKAGE).parts[0]
    extra = "trl" if room in TRAINS else "eval" if room in EVALUATES else "generate"
    asked = ASKS_FIRST.get(path.relative_to(PACKAGE).as_posix(), set())
    declared = {"aiohttp", "orl_codegen", *sys.stdlib_module_names, *EXTRAS[extra]}
    brought = {name for name, bringers in BROUGHT.items() if bringers & declared}
    assert not _imported(path) - declared - asked - brought


def _imported(path: Path) -> set[str]:
    nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--version"], *([name] for name in COMMANDS)], ids=" ".join)
def test_each_command_says_what_to_install(arguments: list[str]) -> None:
    """One line and status 2, from a base install and where only some of the packages are there, as with `[trl]`."""
    code = "from orl_codegen.__main__ import begin; begin()"
    for missing in (EXTRAS["generate"], ["black", "mypy"]):
        done = _without(missing, code, *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("orl-codegen: The command line needs packages that are not installed (black, ")
        assert line.endswith("Install them with `pip install 'orl-codegen[generate]'`.")


def test_both_names_of_the_command_begin_in_one_place() -> None:
    """The console script is `python -m orl_codegen`, which can be imported without any extra."""
    assert PROJECT["scripts"] == {"orl-codegen": "orl_codegen.__main__:begin"}
    done = _without(EXTRAS["generate"], "import runpy; runpy.run_module('orl_codegen', run_name='__main__')")
    assert done.returncode == 2 and "orl-codegen[generate]" in done.stderr


def test_a_rollout_takes_no_extra() -> None:
    """A base install plays a whole rollout with a generated adapter, and pickles its factory."""
    code = (
        "import pickle; from orl_codegen import OpenRewardSpec; from generated.kitchen import Kitchen\n"
        "factory = OpenRewardSpec(Kitchen, base_url=sys.argv[1]).environment_factory\n"
        "kitchen = pickle.loads(pickle.dumps(factory))(); kitchen.reset(task_index=0)\n"
        "kitchen.serve_dish(dish='carbonara', ingredients=['pasta', 'eggs', 'guanciale']); print(kitchen.reward)"
    )
    with running(Kitchen) as server:
        done = _without({*EXTRAS["generate"], *EXTRAS["trl"]}, code, server.url)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 0


GENERATE = "(openreward). Install them with `pip install 'orl-codegen[generate]'`."
PICTURES = "(PIL). Install them with `pip install 'orl-codegen[trl]'`."
TRAINER = "(datasets, filelock, PIL and 4 more). Install them with `pip install 'orl-codegen[trl]'`."


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("orl_codegen.serve('server.py:Kitchen').__enter__()", GENERATE),
        ("import orl_codegen.environments.kitchen", GENERATE),
        ("OpenRewardSpec(Kitchen, base_url='http://127.0.0.1:9').train_dataset", TRAINER),
        ("OpenRewardSpec(Kitchen, base_url='http://127.0.0.1:9', images='pil')", PICTURES),
        ("from orl_codegen.trl import GRPOTrainer", TRAINER),
    ],
    ids=["serve", "environments", "dataset", "images", "trainer"],
)
def test_what_takes_an_extra_says_so(use: str, said: str) -> None:
    """Serving, datasets, pictures and the trainer raise one error of ours, before they ask a server for anything."""
    code = f"import orl_codegen; from orl_codegen import OpenRewardSpec; from generated.kitchen import Kitchen\n{use}"
    done = _without({*EXTRAS["generate"], *EXTRAS["trl"]}, code)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("orl_codegen.errors.ExtraError: ") and last.endswith(said)


def test_nothing_is_imported_by_asking() -> None:
    """An installed extra passes without a word, and asking about it costs no import."""
    code = "from orl_codegen.extras import require; require('trl', 'This'); print({'trl', 'datasets'} & {*sys.modules})"
    assert _without([], code).stdout == "set()\n"
    with pytest.raises(ExtraError, match=r"^This needs packages that are not installed \(nothing_like_it\)\."):
        require("trl", "This", ["nothing_like_it"])
