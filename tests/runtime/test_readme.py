"""The README's section on training runs as it is printed; only the trainers are left out, which need a model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import trl
import trl.experimental.async_grpo

from orl_codegen.environments.documents import Documents
from orl_codegen.environments.kitchen import Kitchen
from orl_codegen.trl.rewards import last_reward
from tests.support.servers import running

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
SECTION = README[README.index("\n## Training") : README.index("\n## Guarding")]


def test_the_snippets_on_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, on real servers: what each hands to its trainer can be played."""
    trainers: list[dict[str, Any]] = []
    for module in (trl, trl.experimental.async_grpo):
        for name in ("GRPOTrainer", "AsyncGRPOTrainer", "GRPOConfig", "AsyncGRPOConfig"):
            monkeypatch.setattr(module, name, lambda *_, **options: trainers.append(options), raising=False)
    with running(Kitchen) as kitchen, running(Documents) as documents:
        names: dict[str, Any] = {}
        for snippet in re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL):
            here = snippet.replace("http://127.0.0.1:8080", kitchen.url)
            exec(here.replace("http://127.0.0.1:8081", documents.url), names)
        training, evaluating, asynchronous = (options for options in trainers if "train_dataset" in options)
        assert {row["split"] for row in evaluating["eval_dataset"]} == {"test"}
        assert training["environment_factory"] is asynchronous["environment_factory"]
        for row in (*evaluating["train_dataset"], *evaluating["eval_dataset"]):
            rollout = evaluating["environment_factory"]()
            assert rollout.reset(**row).startswith("A guest wants something")
            assert evaluating["reward_funcs"](completions=[""], environments=[rollout]) == [None]
            rollout._close()
        both = names["spec"]
        assert {*both.train_dataset["environment"]} == {"kitchen", "documents"} == {*both.environment_factory}
        assert both.reward_funcs is last_reward
        assert kitchen.wait_for_sessions(0) == documents.wait_for_sessions(0) == 0
