"""`tasks_by_difficulty`: the SDK's question, and what is made of its answer."""

from __future__ import annotations

from typing import Any

import pytest
from openreward import OpenReward
from openreward.models import TrainingStage

import orl_codegen
from orl_codegen import OpenRewardSpec, tasks_by_difficulty
from orl_codegen.errors import ServerError, UsageError
from orl_codegen.runtime import Environment as Facts
from orl_codegen.trl import difficulty
from tests.environments.answers import Quiz
from tests.environments.echo import Echo
from tests.runtime import adapters
from tests.support.platform import KEY, platform

ROUTE = "/v1/environments/Owner/Name/task-difficulty"
CHARACTERS = dict.fromkeys("mean p1 p10 p25 p50 p75 p90 p99".split(), 10.0)


class OfCatalog(adapters.Echo):
    _environment = Facts(target="Owner/Name", variant="echo")


def task(index: int, average: float, low: float = 0.0, high: float = 1.0, count: int = 8, **more: Any) -> Any:
    """A row as the SDK reads it."""
    rewards = {"avg_reward": average, "min_reward": low, "max_reward": high, "num_rollouts": count}
    return {"task_index": index, **rewards, "response_chars": CHARACTERS, "split": "train", "variant": None, **more}


def test_the_question_is_that_of_the_sdk() -> None:
    """Path, filters and key; the SDK reads the same answer."""
    filters: dict[str, Any] = {"model_name": "q w/3", "min_model_params": 10, "max_model_params": 2**40}
    with platform(Echo, answers={ROUTE: {"tasks": [task(4, 0.5)]}}) as there:
        api = OpenReward().environments.get("Owner/Name")
        (theirs,) = api.get_task_difficulty(split="t\u00e9st", training_stage="rl", **filters)
        ours = tasks_by_difficulty(OfCatalog, low=0, high=1, split="t\u00e9st", training_stage="rl", **filters)
        sdk, mine = there.to(ROUTE)
    assert ours == [theirs.task_index]
    assert (mine.method, mine.query, mine.body) == (sdk.method, sdk.query, sdk.body)
    assert mine.headers["x-api-key"] == sdk.headers["x-api-key"] == KEY
    assert difficulty.TrainingStage == TrainingStage


@pytest.mark.parametrize(
    ("rows", "chosen"),
    [
        ([task(9, 0.5), task(2, 0.2), task(5, 0.8), task(6, 0.81), task(7, 0.19)], [2, 5, 9]),
        ([task(1, 0.5, 0.5, 0.5), task(2, 0.5, 0.4, 0.6)], [2]),
        ([task(1, 0.5, count=3), task(2, 0.5, count=4)], [2]),
        ([task(1, 0.5, variant="Echo"), task(2, 0.5, variant="quiz"), task(3, 0.5)], [1, 3]),
        ([task(1, 0.9, count=3, variant="echo"), task(1, 0.0, 0.0, 0.0, count=3)], [1]),
    ],
    ids=["in the order of the tasks", "not all alike", "enough rollouts", "of this environment", "named or not"],
)
def test_what_is_chosen(rows: Any, chosen: list[int]) -> None:
    """Averages in the range, of rewards that differ, from enough rollouts of this environment."""
    with platform(Echo, Quiz, answers={ROUTE: {"tasks": rows}}) as there:
        assert tasks_by_difficulty(OfCatalog, low=0.2, high=0.8, min_rollouts=4) == chosen
        assert there.server.wait_for_sessions(0) == 0


def test_rollouts_without_a_variant_are_those_of_the_first_environment() -> None:
    """They do not count for another one on the same server."""
    rows = [task(1, 0.5), task(2, 0.5, variant="quiz")]
    with platform(Echo, Quiz, answers={ROUTE: {"tasks": rows}}):
        assert tasks_by_difficulty(OfCatalog, low=0.2, high=0.8, variant="quiz") == [2]
        assert tasks_by_difficulty(OfCatalog, low=0.2, high=0.8) == [1]


def test_they_feed_a_spec() -> None:
    """`indices` takes them as they are, in their order."""
    with platform(Echo, answers={ROUTE: {"tasks": [task(3, 0.5), task(1, 0.5)]}}):
        indices = orl_codegen.tasks_by_difficulty(OfCatalog, low=0.2, high=0.8)
        assert OpenRewardSpec(OfCatalog, indices=indices).train_dataset["word"] == ["word1", "word3"]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], "has no figures of any task in the split train of Owner/Name"),
        ([task(1, 0.5, count=1)], "has no figures of any task"),
        ([task(1, 0.1), task(2, 0.9)], r"average from 0.2 to 0.8. The averages of the 2 tasks .* go from 0.1 to 0.9"),
    ],
)
def test_nothing_to_choose(rows: Any, told: str) -> None:
    """Says what there is, where `indices=[]` would only be refused."""
    with platform(Echo, answers={ROUTE: {"tasks": rows}}), pytest.raises(UsageError, match=told):
        tasks_by_difficulty(OfCatalog, low=0.2, high=0.8)


@pytest.mark.parametrize(
    "answer",
    [403, 404, [], {"tasks": [{"task_index": -1}]}, {"tasks": [task(1, "0.5")]}, {"tasks": [task(1, 0.5, variant=7)]}],  # type: ignore[arg-type]
)
def test_answers_that_are_none(answer: Any) -> None:
    """A refusal, and an answer of another shape, are errors that name the environment and not the key."""
    with platform(Echo, answers={ROUTE: answer}):
        with pytest.raises(ServerError, match="no figures of the tasks of Owner/Name") as raised:
            tasks_by_difficulty(OfCatalog, low=0.2, high=0.8)
        assert KEY not in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"low": 0.8, "high": 0.2}, "are no range"),
        ({"low": 0.0, "high": float("nan")}, "are no range"),
        ({"low": 0, "high": 1, "min_rollouts": 0}, "min_rollouts=0 is invalid"),
        ({"low": 0, "high": 1, "training_stage": "dpo"}, 'one of "pretrained", "sft", "rl"'),
    ],
)
def test_bad_arguments(arguments: Any, told: str) -> None:
    """Refused before anything is asked."""
    with platform(Echo) as there, pytest.raises(UsageError, match=told):
        tasks_by_difficulty(OfCatalog, **arguments)
    assert not there.sent


def test_environments_of_others_have_no_figures() -> None:
    """An adapter that was made from a class or a URL is refused, and so is one without a key."""
    with pytest.raises(UsageError, match="and Echo was made from"):
        tasks_by_difficulty(adapters.Echo, low=0, high=1)
    with pytest.raises(UsageError, match="OPENREWARD_API_KEY"):
        tasks_by_difficulty(OfCatalog, low=0, high=1)
