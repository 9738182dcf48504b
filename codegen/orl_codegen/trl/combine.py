"""Several environments in one training run, through TRL's dict of factories."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from orl_codegen.errors import UsageError, printable
from orl_codegen.trl.factory import Factory
from orl_codegen.trl.rewards import last_reward
from orl_codegen.trl.spec import OpenRewardSpec

if TYPE_CHECKING:
    from datasets import Dataset

    from orl_codegen.trl.group import GroupReward

AT_ONCE = 16  # runs of rows that are scored at the same time


def combine(specs: Mapping[str, OpenRewardSpec[Any]]) -> CombinedSpec:
    """Train in several environments at once.

        spec = combine({"kitchen": OpenRewardSpec(Kitchen), "garden": OpenRewardSpec(Garden)})

    Args:
        specs: A spec for each name. The names go into the column `environment`.

    Raises:
        UsageError: No spec was passed, or something else.
    """
    return CombinedSpec(specs)


class CombinedSpec:
    """What `combine` returns: the properties of an `OpenRewardSpec`, for several environments."""

    def __init__(self, specs: Mapping[str, OpenRewardSpec[Any]]) -> None:
        if not specs:
            raise UsageError("combine() got no spec. Pass at least one: combine({name: spec}).")
        for name, spec in specs.items():
            if not isinstance(spec, OpenRewardSpec):
                raise UsageError(
                    f"combine() takes specs, not {printable(repr(spec))}. Wrap the adapter: "
                    f"combine({{{printable(repr(name))}: OpenRewardSpec(...)}})."
                )
        self._specs = dict(specs)

    @cached_property
    def train_dataset(self) -> Dataset:
        """The rows of all the environments, one environment after the other. The column `environment` says which one's
        they are; a column that one of them does not have is None in its rows."""
        from orl_codegen.trl.dataset import to_dataset

        rows = [{"environment": name} | row for name, spec in self._specs.items() for row in spec.rows]
        return to_dataset(_alike(rows))

    @cached_property
    def environment_factory(self) -> dict[str, Factory[Any]]:
        """A factory for each name."""
        return {name: spec.environment_factory for name, spec in self._specs.items()}

    @property
    def reward_funcs(self) -> Callable[..., list[float | None]]:
        """The last reward of each rollout that was not null, whichever environment it was in."""
        return last_reward

    @cached_property
    def group_reward(self) -> CombinedGroupReward:
        """Group scoring, in the environments that offer it.

        Raises:
            UsageError: None of them does.
        """
        scoring = {name: spec for name, spec in self._specs.items() if spec.scores_groups}
        if not scoring:
            raise UsageError("There is no group_reward: none of the environments scores groups.")
        return CombinedGroupReward({name: spec.group_reward for name, spec in scoring.items()})


class CombinedGroupReward:
    """Hands each row to the group reward of its environment. It pickles."""

    def __init__(self, rewards: Mapping[str, GroupReward]) -> None:
        self._rewards = rewards
        self.__name__ = "group_reward"

    def __call__(self, *, completions: Sequence[Any], environment: Sequence[str], **columns: Any) -> list[float | None]:
        """The scores of the completions; None in environments that score no groups."""
        rewards: list[float | None] = [None] * len(completions)
        by_row = {
            key: column
            for key, column in {"completions": completions, **columns}.items()
            if isinstance(column, Sequence) and len(column) == len(environment)
        }

        def score(rows: list[int]) -> None:
            group_reward = self._rewards.get(environment[rows[0]])
            if group_reward is not None:
                scored = group_reward(**{key: [column[row] for row in rows] for key, column in by_row.items()})
                for row, reward in zip(rows, scored, strict=True):
                    rewards[row] = reward

        # Run by run: with the rows of others left out, two groups of one task would follow each other.
        runs = [[row for row, _ in run] for _, run in groupby(enumerate(environment), lambda pair: pair[1])]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(score, runs))
        return rewards


def _alike(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows whose prompts Arrow can hold in one column: where any has content in parts, all have."""
    if not any("images" in row for row in rows):
        return rows
    return [row | {"prompt": [_in_parts(message) for message in row["prompt"]]} for row in rows]


def _in_parts(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    return message | {"content": [{"type": "text", "text": content}] if isinstance(content, str) else content}
