"""What `init` sets up, and the text of each file of the project that has to do with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from orl_codegen.errors import UsageError, printable
from orl_codegen.generator.config import Config, override, parse_config
from orl_codegen.generator.options import Job
from orl_codegen.generator.project.hook import with_hook
from orl_codegen.generator.project.places import Places, text_in
from orl_codegen.generator.project.pyproject import configured, with_environment
from orl_codegen.generator.project.workflow import workflow

FOLDER = "generated"
"""The output folder of a project that names none."""


@dataclass(frozen=True)
class Setup:
    """What is to be set up.

    Attributes:
        places: The folders of the project.
        output: The output folder, for a project that names none; relative to its root.
        entry: The environment as pyproject.toml lists it, or is to list it; None for all those that it lists.
    """

    places: Places
    output: str
    entry: Mapping[str, Any] | None = None

    @cached_property
    def config(self) -> Config:
        """The configuration as it will be."""
        return parse_config(configured(self._pyproject(text_in(self.places.pyproject) or "")), self.places.root)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The environments to generate."""
        return self.config.jobs if self.entry is None else _listed(self.entry, self.config)

    @property
    def folder(self) -> Path:
        """The output folder.

        Raises:
            UsageError: The project has a configuration with environments, and no folder in it.
        """
        if self.config.output is None:
            raise UsageError(f'Name the output folder in {printable(self.places.pyproject)}: output = "{FOLDER}".')
        return self.config.output

    def files(self) -> Mapping[Path, tuple[str | None, str]]:
        """The files around the adapter: what each holds now, and what it is to hold.

        What exists stays, but for what is added to pyproject.toml and to the configuration of pre-commit.
        """
        pyproject, checking, hooks = map(text_in, (self.places.pyproject, self.places.workflow, self.places.hooks))
        files = {
            self.places.pyproject: (pyproject, self._pyproject(pyproject or "")),
            self.places.workflow: (checking, workflow(self.places, self.config.jobs) if checking is None else checking),
        }
        if self.has_hook:
            files[self.places.hooks] = (hooks, with_hook(hooks or "") or hooks or "")
        return files

    @property
    def has_hook(self) -> bool:
        """Whether the hook can find the configuration: pre-commit runs it in the root of the repository."""
        return self.places.root == self.places.repository

    def _pyproject(self, text: str) -> str:
        """The text of pyproject.toml with the environment, if it is not there."""
        config = parse_config(configured(text) or {}, self.places.root)
        if self.entry is None:
            return text
        listed = _listed(self.entry, config)
        if not listed:
            return with_environment(text, self.entry, self.output)
        _refuse_other_options(self.entry, listed, self.places.root)
        return text


def _listed(entry: Mapping[str, Any], config: Config) -> tuple[Job, ...]:
    """The environments of the configuration that an entry stands for."""
    (wanted,) = parse_config({"environments": [entry]}, config.root).jobs
    variant = wanted.options.variant
    known = [job for job in config.jobs if job.target.record == wanted.target.record]
    return tuple(job for job in known if variant in (None, job.options.variant))


def _refuse_other_options(entry: Mapping[str, Any], jobs: tuple[Job, ...], root: Path) -> None:
    """Refuse options that the configuration does not have: the next run would lose them."""
    options = {key.replace("-", "_"): value for key, value in entry.items() if key != "target"}
    for job in jobs:
        if override(job.options, options, root) != job.options:
            raise UsageError(
                f"pyproject.toml already lists {printable(job.target.record)}, with other options. Nothing was "
                "written. Change them there, and run orl-codegen."
            )
