"""TRL's own trainers, whose rollouts reach a real server through adapters."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from orl_codegen import OpenRewardSpec, combine, serve
from orl_codegen.errors import UsageError
from orl_codegen.trl.group import transcript
from orl_codegen.trl.rewards import last_reward
from tests.environments.echo import SlowEcho
from tests.runtime import adapters
from tests.support.grpo import call, logged, play_echo, roll_out_asynchronously, train
from tests.support.servers import RunningServer


def spec_of(server: RunningServer, adapter: Any = adapters.Echo, **options: Any) -> OpenRewardSpec:
    return OpenRewardSpec(adapter, base_url=server.url, **options)


def close(trainer: Any) -> None:
    """End the sessions of rollouts that did not finish, as the end of the process would."""
    for pool in trainer._environment_pool.values():
        for rollout in pool:
            rollout._close()


def add_up(prompt: str) -> str:
    """Answer a sum; every other answer is longer than it need be."""
    number = re.findall(r"What is (\d+)", prompt)[-1]
    return str(2 * int(number))


def guess_first(prompt: str) -> str:
    """Guess once, then answer."""
    return "That is all" if "<tool_response>" in prompt else call("guess", '{"number": 3}')


@pytest.mark.parametrize("prompts", ["session", "dataset"])
def test_a_step_of_grpo(server: RunningServer, tmp_path: Path, prompts: Any) -> None:
    """Prompt, tool schema, call, reward, loss, step; and the shares that the reward function reports."""
    trainer = train(spec_of(server, num_tasks=2, prompts=prompts), play_echo, tmp_path)
    assert [rollout.reward for rollout in trainer.environments] == [1.0] * 4
    assert logged(trainer, "reward") == 1.0
    assert logged(trainer, "environment/scored") == logged(trainer, "environment/finished") == 1.0
    assert logged(trainer, "environment/failed") == 0.0


@pytest.mark.parametrize("several", [False, True])
def test_an_evaluation_plays_the_tasks_of_its_own_split(server: RunningServer, tmp_path: Path, several: bool) -> None:
    """The trainer makes all adapters with the one factory that it has, so each row says which split it is of."""
    training, test = spec_of(server, num_tasks=2), spec_of(server, split="test")
    spec, held_out = (combine({"echo": training}), combine({"echo": test})) if several else (training, test)
    words: list[str] = []

    def write(prompt: str) -> str:
        words.extend(re.findall(r"Echo '(\w+)'", prompt))
        return play_echo(prompt)

    trainer = train(spec, write, tmp_path, eval_dataset=held_out.train_dataset)
    assert {*words} == {"word0", "word1", "alpha", "beta"}
    assert trainer.state.log_history[-1]["eval_reward"] == 1.0


def test_the_terminal_tool_in_grpo(server: RunningServer, tmp_path: Path) -> None:
    """An environment without any other tool: the last message is what counts."""
    trainer = train(spec_of(server, adapters.Quiz, num_tasks=2), add_up, tmp_path)
    assert logged(trainer, "reward") == 1.0
    assert server.paths().count("POST /quiz/call") == 4


def test_a_terminal_tool_after_other_tools(server: RunningServer, tmp_path: Path) -> None:
    """It is called in the session of the calls before it."""
    trainer = train(spec_of(server, adapters.Riddle, num_tasks=2), guess_first, tmp_path)
    assert logged(trainer, "reward") == 3.0


@pytest.mark.parametrize("group_first", [False, True])
def test_group_scoring_in_grpo(server: RunningServer, tmp_path: Path, group_first: bool) -> None:
    """A second reward, given by the environment to the rollouts of one task together, in a session that they have; it
    takes nothing away from the first, whichever is asked for first."""
    spec = spec_of(server, adapters.Contest, num_tasks=2)
    lengths = iter(range(1, 100))

    def write(prompt: str) -> str:
        return add_up(prompt) + " " * next(lengths)

    functions = [spec.group_reward, spec.reward_funcs] if group_first else [spec.reward_funcs, spec.group_reward]
    trainer = train(spec, write, tmp_path, reward_funcs=functions)
    assert logged(trainer, "rewards/last_reward/mean") == 1.0
    assert logged(trainer, "rewards/group_reward/mean") == 0.5
    assert server.paths().count("POST /contest/score_group") == 2
    assert server.paths().count("POST /create") == 4, "no session was opened just for scoring"


def test_groups_are_runs_of_one_task_of_one_split(server: RunningServer) -> None:
    """The shortest answer of each run wins, so what is scored together shows in the rewards."""
    reward = spec_of(server, adapters.Contest).group_reward
    completions = ["1", "22", "333", "4444", "55555", "666666"]
    assert reward(completions=completions, task_index=[3, 3, 4, 4, 3, 3]) == [1.0, 0.0] * 3
    several = combine({"a": spec_of(server, adapters.Contest), "b": spec_of(server)}).group_reward
    environments = ["a", "a", "b", "b", "a", "a"]
    scored = several(completions=completions, environment=environments, task_index=[3] * 6)
    assert scored == [1.0, 0.0, None, None, 1.0, 0.0]
    splits = ["train", "train", "train", "train", "nowhere", "nowhere"]
    assert reward(completions=completions, task_index=[3] * 6, split=splits) == [1.0, 0.0, 0.0, 0.0, None, None]


def test_group_scoring_where_there_is_none(server: RunningServer) -> None:
    """Asking for it is a mistake, found before training."""
    with pytest.raises(UsageError, match="does not score groups"):
        spec_of(server).group_reward  # noqa: B018
    with pytest.raises(UsageError, match="none of the environments"):
        combine({"echo": spec_of(server)}).group_reward  # noqa: B018


def test_several_environments_in_grpo(server: RunningServer, tmp_path: Path) -> None:
    """Two servers on two ports, and two variants of one of them, in one step."""

    def write(prompt: str) -> str:
        return add_up(prompt) if "What is" in prompt else play_echo(prompt)

    with serve(SlowEcho) as url:
        slow = OpenRewardSpec(adapters.SlowEcho, base_url=url, indices=[1])
        both = combine(
            {
                "quiz": spec_of(server, adapters.Quiz, indices=[4]),
                "slow": slow,
                "echo": spec_of(server, indices=[0], prompts="dataset"),
                "contest": spec_of(server, adapters.Contest, indices=[3]),
            }
        )
        functions = [both.reward_funcs, both.group_reward]
        trainer = train(both, write, tmp_path, batch=8, reward_funcs=functions)
    assert logged(trainer, "rewards/last_reward/mean") == 1.0
    assert logged(trainer, "rewards/group_reward/mean") == 1.0
    assert {type(rollout).__name__ for rollout in trainer.environments} == {"Quiz", "SlowEcho", "Echo", "Contest"}
    variants = {path.split("/")[1] for path in server.paths() if path.endswith("/call")}
    assert variants == {"quiz", "echo", "contest"}


def rewards(samples: list[Any]) -> list[tuple[float, dict[str, float]]]:
    """The reward of each sample, and its parts."""
    return [
        (
            sample.metrics["reward"],
            {name: value for name, value in sample.metrics.items() if name.startswith("rewards/")},
        )
        for sample in samples
    ]


@pytest.mark.parametrize("prompts", ["session", "dataset"])
def test_the_asynchronous_trainer(server: RunningServer, prompts: Any) -> None:
    """There the adapter owns the reward, and it counts once."""
    for total, parts in rewards(roll_out_asynchronously(spec_of(server, num_tasks=3, prompts=prompts), 6, play_echo)):
        assert total == 1.0
        assert parts["rewards/Echo"] == 1.0
        assert parts["rewards/last_reward"] != parts["rewards/last_reward"], "not a number: it left the reward alone"


@pytest.mark.parametrize("prompts", ["session", "dataset"])
def test_terminal_tools_in_the_asynchronous_trainer(server: RunningServer, prompts: Any) -> None:
    """The reward function gets the completions but no adapters; it finds the session by the prompt."""
    for total, _ in rewards(roll_out_asynchronously(spec_of(server, adapters.Quiz, prompts=prompts), 8, add_up)):
        assert total == 1.0
    for total, _ in rewards(roll_out_asynchronously(spec_of(server, adapters.Riddle, prompts=prompts), 8, guess_first)):
        assert total == 3.0


def test_several_environments_in_the_asynchronous_trainer(server: RunningServer) -> None:
    """Each environment's adapters own their reward, or find it by the prompt."""
    both = combine({"echo": spec_of(server, indices=[1]), "quiz": spec_of(server, adapters.Quiz, indices=[2])})

    def write(prompt: str) -> str:
        return add_up(prompt) if "What is" in prompt else play_echo(prompt)

    assert [total for total, _ in rewards(roll_out_asynchronously(both, 8, write))] == [1.0] * 8


@pytest.mark.parametrize("group_first", [False, True])
def test_group_scoring_in_the_asynchronous_trainer(server: RunningServer, group_first: bool) -> None:
    """A session is opened for it, since the rollouts' own are out of reach."""
    spec = spec_of(server, adapters.Contest, num_tasks=2)
    functions = [spec.group_reward, spec.reward_funcs] if group_first else [spec.reward_funcs, spec.group_reward]
    samples = roll_out_asynchronously(spec, 4, add_up, reward_funcs=functions)
    assert [total for total, _ in rewards(samples)] == [2.0] * 4


def test_an_unpickled_factory_in_grpo(server: RunningServer, tmp_path: Path) -> None:
    """As in a trainer that runs in a Ray actor: the adapter owns the reward, and it counts once there as well."""
    from types import SimpleNamespace

    spec = spec_of(server, adapters.Quiz, num_tasks=2)
    sent = SimpleNamespace(
        train_dataset=spec.train_dataset,
        environment_factory=pickle.loads(pickle.dumps(spec.environment_factory)),
        reward_funcs=spec.reward_funcs,
    )
    trainer = train(sent, add_up, tmp_path)
    assert logged(trainer, "reward") == logged(trainer, "rewards/Quiz/mean") == 1.0


def test_copies_of_a_factory_are_not_for_another_process(server: RunningServer) -> None:
    """Their adapters leave the reward to the reward function; a prompt that is copied is still its rollout's."""
    factory = spec_of(server, adapters.Quiz).environment_factory
    for copied in (copy.copy(factory), copy.deepcopy(factory)):
        assert not hasattr(copied(), "get_reward")
    rollout = pickle.loads(pickle.dumps(factory))()
    prompts = copy.deepcopy([[{"role": "user", "content": "" + rollout.reset(task_index=2)}]])
    assert rollout.get_reward() is None
    assert last_reward(completions=["4"], prompts=prompts) == [1.0]


def test_a_factory_in_a_ray_actor(server: RunningServer) -> None:
    """It pickles with cloudpickle too, and plays there."""
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=1, include_dashboard=False)
    try:
        from tests.runtime.children import roll_out

        ray.get(ray.remote(roll_out).remote(spec_of(server).environment_factory))
    finally:
        ray.shutdown()


def test_what_a_group_is_scored_by() -> None:
    """TRL's messages as those of the wire: calls and results are blocks, a result is part of a user's turn."""
    completion = [
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [{"type": "function", "function": {"name": "look", "arguments": {"where": "box"}}}],
        },
        {"role": "tool", "name": "look", "content": "a cat"},
        {"role": "assistant", "content": "A cat."},
    ]
    calling, result, answer = transcript(completion)
    assert [block["type"] for block in calling["blocks"]] == ["text", "tool_call"]
    assert calling["blocks"][1]["input"] == {"where": "box"}
    assert result["role"] == "user" and result["blocks"][0]["tool_call_id"] == calling["blocks"][1]["id"]
    assert answer == {"role": "assistant", "blocks": [{"type": "text", "text": "A cat."}]}
    assert transcript("A cat.") == [answer]


@pytest.mark.parametrize("arguments", ['{"where": ', '["box"]', "[" * 100_000, 7])
def test_a_group_is_scored_whatever_its_calls_look_like(server: RunningServer, arguments: Any) -> None:
    """Arguments that are not an object are text: the model wrote them, and that must not end the training."""
    calling = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "look", "arguments": arguments}}],
    }
    _, written, block = transcript([calling])[0]["blocks"]
    assert written["text"] == str(arguments) and (block["name"], block["input"]) == ("look", {})
    reward = spec_of(server, adapters.Contest).group_reward
    answer = {"role": "assistant", "content": "1"}
    assert reward(completions=[[calling, answer], [answer]], task_index=[0, 0]) == [1.0, 1.0]
