"""Projects with generated files, what a run makes of them, and the judge of what an interrupted run left."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orl_codegen.generator import snapshot
from orl_codegen.generator.output.staging import HIDDEN, RULE, STAGED
from orl_codegen.generator.snapshot import Snapshot
from tests.support.cli import orl_codegen

OUT = "out"
Texts = Mapping[str, str]


@dataclass(frozen=True)
class Project:
    """A project, and what a command makes of its output folder.

    Attributes:
        name: What kind of project it is.
        template: The folder that each trial copies: a git repository with everything committed.
        arguments: The command.
        old: The texts in the output folder before it.
        new: The texts after it.
    """

    name: str
    template: Path
    arguments: tuple[str, ...]
    old: Texts
    new: Texts

    @contextlib.contextmanager
    def copied(self, name: str) -> Iterator[Path]:
        """A copy for one trial."""
        copy = self.template.with_name(f"{self.template.name} {name}")
        shutil.copytree(self.template, copy, symlinks=True)
        try:
            yield copy
        finally:
            shutil.rmtree(copy, ignore_errors=True)


def texts(folder: Path) -> Texts:
    """The text of each file in a folder, and of those in folders inside it."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8", "replace") for path in files}


def whole(project: Project, root: Path) -> Iterator[str]:
    """What is wrong after a run that was interrupted: nothing, if each file is the old or the new one."""
    found = texts(root / OUT)
    waiting = {name for name in found if name == f"{HIDDEN}/{RULE}" or name.startswith(f"{HIDDEN}/{STAGED}")}
    for name in sorted((found.keys() | project.old.keys() | project.new.keys()) - waiting):
        if found.get(name) not in (project.old.get(name), project.new.get(name)):
            yield f"{name} is neither the old nor the new one"
    for name in sorted(found.keys() - waiting):
        other = f"{name.removesuffix('.py')}.json"
        if name.endswith(".py") and found[name] != project.old.get(name) and found.get(other) != project.new.get(other):
            yield f"{name} is new before {other} is"
    shown = {line[3:] for line in _git(root, "status", "--porcelain", "--untracked-files=all").splitlines()}
    for name in sorted(shown - {f"{OUT}/{file}" for file in project.old.keys() | project.new.keys()}):
        yield f"git status shows {name}"


def finished(project: Project, root: Path) -> Iterator[str]:
    """What is wrong after a run that succeeded."""
    if texts(root / OUT) != project.new or os.path.lexists(root / OUT / HIDDEN):
        yield f"the folder holds {sorted(texts(root / OUT))}, and not what a run without interruption leaves"


def untouched(project: Project, root: Path) -> Iterator[str]:
    """What is wrong after a run that could not write."""
    there = texts(root / OUT) if (root / OUT).is_dir() else {}
    if there != project.old or os.path.lexists(root / OUT / HIDDEN):
        yield "the folder is not as it was"


def projects(home: Path, old_url: str, new_url: str) -> dict[str, Project]:
    """The kinds of projects, by name.

    Args:
        home: Where their templates are made.
        old_url: A server with an older state of the environment of `new_url`; the names of their files are the same.
        new_url: The server that is asked.
    """
    generate = ("generate", "-o", OUT, "--no-type-check")
    made = [
        offline_project(home / "offline"),
        _project(home / "pruned", ("generate", "--offline", "--prune", "--no-type-check"), _one_to_prune),
        _project(home / "new", (*generate, new_url), lambda root: None),
        _project(home / "asked", (*generate, new_url), lambda root: _generate(root, *generate, old_url)),
    ]
    return {project.name: project for project in made}


def offline_project(template: Path) -> Project:
    """A project whose run needs no server."""
    return _project(template, ("generate", "--offline", "-o", OUT, "--no-type-check"), _two_stale_pairs)


def _project(template: Path, arguments: tuple[str, ...], fill: Callable[[Path], object]) -> Project:
    template.mkdir()
    fill(template)
    (template / ".keep").touch()
    for command in (["init", "-q", "--template="], ["add", "-A"], [*_AUTHOR, "commit", "-q", "-m", "all"]):
        _git(template, *command)
    old = texts(template / OUT)
    after = Path(shutil.copytree(template, template.with_name(f"{template.name} after")))
    _generate(after, *arguments)
    return Project(template.name, template, arguments, old, texts(after / OUT))


_AUTHOR = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]


def _two_stale_pairs(root: Path) -> None:
    """Snapshots that were laid out by hand, and modules that are older: all four files change, without a network."""
    (root / OUT).mkdir()
    for name in ("attic", "cellar"):
        _write_snapshot(root / OUT / f"{name}.json", name, "fetch")
    _generate(root, "generate", "--offline", "-o", OUT, "--no-type-check")
    for name in ("attic", "cellar"):
        path = root / OUT / f"{name}.json"
        _write_snapshot(path, name, "fetch", "cook")
        path.write_text(json.dumps(json.loads(path.read_text("utf-8"))), "utf-8")


def _one_to_prune(root: Path) -> None:
    _two_stale_pairs(root)
    (root / "pyproject.toml").write_text(
        f'[tool.orl-codegen]\noutput = "{OUT}"\n[[tool.orl-codegen.environments]]\n'
        'target = "http://127.0.0.1:1"\nname = "attic"\n'
    )
    _write_snapshot(root / OUT / "cellar.json", "cellar", "fetch")


def _write_snapshot(path: Path, name: str, *tools: str) -> None:
    specs = [{"name": tool, "description": "Does a thing.", "input_schema": {"type": "object"}} for tool in tools]
    taken = Snapshot("http://127.0.0.1:1", name, "train", tuple(specs))
    path.write_text(snapshot.dump(taken), "utf-8")


def _generate(root: Path, *arguments: str) -> None:
    with contextlib.chdir(root):
        outcome = orl_codegen(*arguments)
    assert outcome.status == 0, outcome.err


def _git(root: Path, *arguments: str) -> str:
    hermetic = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, env=hermetic)
    assert done.returncode == 0, done.stderr
    return done.stdout


def naive(folder: Path, new: Texts) -> None:
    """A writer that writes each file in its place, a module first: what the judge has to find fault with."""
    for name, text in sorted(new.items(), reverse=True):
        (folder / name).write_text(text, "utf-8")


def results(home: Path, urls: Sequence[str]) -> dict[tuple[str, str], Texts]:
    """What one run alone leaves, for each server and each of the names `made` and `other`."""
    found = {}
    for position, url in enumerate(urls):
        for name in ("made", "other"):
            root = home / f"alone {position} {name}"
            root.mkdir()
            _generate(root, "generate", url, "-o", OUT, "--name", name, "--no-type-check")
            found[url, name] = texts(root / OUT)
    return found
