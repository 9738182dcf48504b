"""The environments that are evaluated from end to end, what is played in them, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import inspect_ai
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import Model

from generated.documents import Documents
from generated.kitchen import Kitchen
from generated.ledger import Ledger
from orl_codegen import OpenRewardSpec, tools
from orl_codegen.environments import kitchen, ledger
from orl_codegen.inspect import evaluation, rollout_of
from tests.environments import folders
from tests.support.tiny_models import Conversation

SERVED = (kitchen.Kitchen, ledger.Ledger, folders.Documents)

JSON = dict[str, Any]

LAST_WORD = {"role": "assistant", "content": "Done."}


def calling(name: str, **arguments: Any) -> JSON:
    """A turn with one call."""
    return {"calls": [{"name": name, "arguments": arguments}]}


@dataclass(frozen=True)
class Played:
    """What is played in an environment.

    Attributes:
        adapter: The environment.
        split: The split.
        turns: What the model writes in the rollouts of each task, by the id of the sample.
        rewards: What the environment gives for it.
        problems: The calls that are not carried out: the tool, and why.
    """

    adapter: Any
    split: str
    turns: Mapping[str, Sequence[Any]]
    rewards: Mapping[str, float]
    problems: Sequence[tuple[str, str]]

    def spec(self, url: str) -> OpenRewardSpec[Any]:
        """The environment at a server, with the tasks that are played."""
        indices = [int(task.rpartition("-")[2]) for task in self.turns]
        return OpenRewardSpec(self.adapter, split=self.split, base_url=url, indices=indices)


ALL = (
    Played(
        Kitchen,
        "train",
        {
            "train-0": [
                calling("convert", amount=-1.0, unit="cup"),
                calling("serve_dish", dish="carbonara", ingredients=["pasta", "eggs", "guanciale"]),
            ],
            "train-1": [
                calling("search-recipes", query="pad"),
                calling("preheat_oven", celsius=200),
                calling("serve_dish", dish="pad thai", ingredients=["noodles", "tofu"]),
            ],
        },
        {"train-0": 1.0, "train-1": 0.67},
        [("convert", "input_validation"), ("preheat_oven", "not_offered")],
    ),
    Played(
        Ledger,
        "test",
        {
            "test-0": [
                calling("run_query", sql="SELECT sum(amount) FROM invoices WHERE customer IN (3, 4)"),
                "They come to 399.9.",
            ],
            "test-1": [calling("list_tables"), "About 3.2 customers."],
        },
        {"test-0": 1.0, "test-1": 0.5},
        [],
    ),
    Played(
        Documents,
        "train",
        {
            "train-0": [
                calling("word_delete_document", file_path="draft.docx"),
                calling("submit", file_path="report.docx"),
            ]
        },
        {"train-0": 1.0},
        [],
    ),
)


def played(what: Played, url: str, model: Model, folder: Path) -> EvalLog:
    """Evaluate a model on what is played, twice for each task."""
    task = evaluation(what.spec(url), epochs=2)
    (log,) = inspect_ai.eval(task, model, log_dir=str(folder), display="none", log_level="error")
    return log


def rewards(log: EvalLog) -> list[tuple[str, float]]:
    """The reward of each rollout, with its task."""
    return sorted((str(sample.id), sample.scores["reward"].as_float()) for sample in log.samples or () if sample.scores)


def problems(log: EvalLog) -> list[tuple[str, str]]:
    """The calls that were not carried out, in the first rollout of each task."""
    first = sorted((sample for sample in log.samples or () if sample.epoch == 1), key=lambda sample: str(sample.id))
    found = [rollout_of(sample) for sample in first]
    calls = [call for rollout in found if rollout is not None for call in rollout.calls]
    return [(name, problem) for name, problem in calls if problem is not None]


def conversation(sample: EvalSample) -> list[JSON]:
    """What was said in a rollout, in the form that chat templates take."""
    return [said(message.model_dump()) for message in sample.messages]


def said(message: Mapping[str, Any]) -> JSON:
    """The role, text and calls of a message, whether it is Inspect's or TRL's."""
    calls = [_function(call) for call in message.get("tool_calls") or ()]
    return {"role": message["role"], "content": message.get("content", "")} | ({"tool_calls": calls} if calls else {})


def _function(call: Mapping[str, Any]) -> JSON:
    function = call["function"]
    function = function if isinstance(function, dict) else {"name": function, "arguments": call["arguments"]}
    return {"type": "function", "function": function}


def to_learn(log: EvalLog, what: Played) -> list[Conversation]:
    """The first rollout of each task. Where a tool ended it, the model has the last word, which only trainers ask."""
    first = [conversation(sample) for sample in log.samples or () if sample.epoch == 1]
    ended = [said if said[-1]["role"] == "assistant" else [*said, LAST_WORD] for said in first]
    return [Conversation(said, tools(what.adapter)) for said in ended]


def script(what: Played, folder: Path) -> Path:
    """A file with the turns, for `scripted:FILE`."""
    path = folder / f"{what.adapter.__name__}.json"
    path.write_text(json.dumps(what.turns), "utf-8")
    return path
