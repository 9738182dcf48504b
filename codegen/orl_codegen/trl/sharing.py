"""What a spec asks the server before training, asked once for all processes of a run, and once for later runs.

Shared are the answers, not datasets: each process builds its own rows from them. None of them waits for the others to
ask: the first that needs an answer fetches it under a lock, and whoever comes later reads its file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from orl_codegen.runtime.plan import Plan
from orl_codegen.trl import dataset, prompts
from orl_codegen.trl.folders import kept_folder, run_folder
from orl_codegen.trl.shelf import Shelf

JSON = dict[str, Any]
Messages = list[list[JSON] | None]


class SharedAnswers:
    """The server's answers about the tasks of a plan.

    Args:
        plan: How its rollouts are run.
        cache_dir: The folder that keeps prompts for the next run, if any.

    Raises:
        UsageError: `cache_dir` is not a folder, and cannot become one.
    """

    def __init__(self, plan: Plan, cache_dir: str | os.PathLike[str] | None) -> None:
        self._plan = plan
        folder = run_folder()
        self._run = None if folder is None else Shelf(folder)
        self._kept = None if cache_dir is None else Shelf(kept_folder(cache_dir))

    def tasks(self, num_tasks: int | None, indices: Sequence[int] | None) -> list[tuple[int, JSON]]:
        """Index and spec of the tasks, as `fetch_tasks` gives them; never those of an earlier run."""
        question = self._question("tasks") | {"num_tasks": num_tasks, "indices": indices}
        fetch = partial(dataset.fetch_tasks, self._plan.endpoint, self._plan.split, num_tasks, indices)
        return [(index, task) for index, task in _shared(self._run, question, fetch)]

    def prompts(self, tasks: Sequence[tuple[int, JSON]], progress: bool | None) -> Messages:
        """The messages of each task, as `fetch` gives them. A later run gets them only if none is missing."""
        question = self._question("prompts") | {
            "toolset": self._plan.toolset,
            "contract": self._plan.environment.digest,
            "secrets": sorted(self._plan.endpoint.secrets),  # their names
            "env_overrides": sorted(self._plan.endpoint.env_overrides),  # likewise
            "on_reset_failure": self._plan.on_reset_failure,
            "tasks": _digest(tasks),
        }
        fetch = partial(prompts.fetch, self._plan, [index for index, _ in tasks], progress)
        in_this_run = partial(_shared, self._run, question, fetch)
        return list(_shared(self._kept, question, in_this_run, keep=lambda fetched: None not in fetched))

    def _question(self, about: str) -> JSON:
        endpoint = self._plan.endpoint
        parts = urlsplit(endpoint.url)
        address = parts._replace(netloc=parts.netloc.rpartition("@")[2])  # without a password
        names = {"variant": endpoint.variant, "deployment": endpoint.deployment, "split": self._plan.split}
        return {"about": about, "server": address.geturl(), **names}


def _shared(
    shelf: Shelf | None, question: JSON, ask: Callable[[], Any], keep: Callable[[Any], bool] = lambda _: True
) -> Any:
    return ask() if shelf is None else shelf.answer(question, ask, keep)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
