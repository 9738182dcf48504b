"""`OpenRewardSpec`: what a trainer needs of one environment."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, get_args

from orl_codegen.errors import UsageError, printable
from orl_codegen.extras import require
from orl_codegen.ors import limits
from orl_codegen.ors.endpoint import endpoint
from orl_codegen.ors.rollout_events import run_of
from orl_codegen.ors.secrets import Secrets
from orl_codegen.runtime.adapter import RolloutAdapter
from orl_codegen.runtime.agreement import Agreement
from orl_codegen.runtime.blocks import Images
from orl_codegen.runtime.plan import OnResetFailure, Plan, Prompts
from orl_codegen.runtime.rollout_log import RolloutLog
from orl_codegen.runtime.vocabulary import generated_tools
from orl_codegen.sessions.loop import close_on_signals
from orl_codegen.sessions.slots import Slots
from orl_codegen.trl.cached import cached
from orl_codegen.trl.factory import Adapter, Factory
from orl_codegen.trl.rewards import last_reward

if TYPE_CHECKING:
    from datasets import Dataset

    from orl_codegen.trl.group import GroupReward
    from orl_codegen.trl.sharing import SharedAnswers

Reward = Callable[..., list[float | None]]


class OpenRewardSpec(Generic[Adapter]):
    """Wires a generated adapter into a trainer.

        spec = OpenRewardSpec(Kitchen, num_tasks=64)
        trainer = GRPOTrainer(..., train_dataset=spec.train_dataset,
                              environment_factory=spec.environment_factory, reward_funcs=spec.reward_funcs)

    Args:
        adapter: The generated class.
        num_tasks: Train on the first so many tasks of the split; by default on all. Excludes `indices`.
        split: Which split the tasks come from.
        indices: Train on the tasks at these indices.
        api_key: Key of the platform, instead of OPENREWARD_API_KEY. A URL gets a key only if one is passed here.
        secrets: Handed to the environment in each session: `{key: value}`, or `{key: (value, [allowed domain, ...])}`.
        env_overrides: Environment variables that the platform sets in the container of each session, in place of the
            environment's own: `{variable: value}`. They are masked as secrets are. Owners may override any; others
            OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY.
        base_url: Where the environment runs, if not where the adapter was made from.
        variant: Which environment of the server, if not the one that the adapter was made from.
        include_metadata: Whether the fields of the tasks become columns of the dataset.
        prompts: `"session"`: each session's prompt is appended when the rollout begins. `"dataset"`: the prompts stand
            in the dataset, and sessions open while the model writes its first turn.
        verify: Whether the first session's tools are compared with the adapter's.
        images: `"pil"` for vision models, `"placeholder"` for a line of text, `"drop"` for nothing.
        toolset: The built-in toolset to open sessions with, if not the one that the adapter was made with.
        drop_failed_rollouts: Whether a rollout that the infrastructure ended loses a reward that it had seen.
        on_reset_failure: `"raise"`, or `"unscored"` to go on where no session can be opened: its rollout is unscored,
            and with `prompts="dataset"` the task is left out of the dataset.
        call_timeout: Seconds that a tool call, or scoring a group, may take while the server still answers pings; by
            default an hour. A server that answers no pings is given up after a minute, whatever this says.
        cache_dir: With `prompts="dataset"`, a folder that keeps the prompts for the next run, which then opens no
            session to fetch them. The tasks are asked for in each run; one that has changed has its prompt fetched
            again. Prompts that depend on anything else, such as the values of `secrets`, need a folder for each.
        progress: Whether fetching prompts shows how far it is; by default only on a terminal.
        max_sessions: How many sessions this process may have on the server at a time, counting those that are being
            created or closed; by default as many as there are rollouts. Further ones wait for their turn.
        concurrent_tools: Names of tools, as the model knows them, whose calls may run at the same time within a rollout
            without changing what they answer. `orl_codegen.trl.GRPOTrainer` sends several of them in a row in order,
            without waiting in between. By default each call waits for the one before.
        max_tool_output: How many characters of a tool result the model is shown: half of them from its beginning, half
            from its end, with a note in between that says how many were left out. By default all. Images stay, and
            rewards, metadata and `last_output` are those of the whole result.
        log_rollouts: Upload the rollouts to the platform under this name of a run: prompts, calls, results, rewards and
            failures, with keys and secrets masked. `{"run_name": ..., "model_name": ...}` also says what the run is
            (`RUN_INFO` in `ors/rollout_events.py`). By default nothing is uploaded.

    Raises:
        UsageError: The arguments exclude each other, or the environment cannot be reached with them.
        ExtraError: With `images="pil"`, Pillow is not installed.
    """

    def __init__(
        self,
        adapter: type[Adapter],
        *,
        num_tasks: int | None = None,
        split: str = "train",
        indices: Sequence[int] | None = None,
        api_key: str | None = None,
        secrets: Secrets | None = None,
        env_overrides: Mapping[str, str] | None = None,
        base_url: str | None = None,
        variant: str | None = None,
        include_metadata: bool = True,
        prompts: Prompts = "session",
        verify: bool = True,
        images: Images = "placeholder",
        toolset: str | None = None,
        drop_failed_rollouts: bool = False,
        on_reset_failure: OnResetFailure = "raise",
        call_timeout: float = limits.CALL_WITHIN,
        cache_dir: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
        max_sessions: int | None = None,
        concurrent_tools: Collection[str] = (),
        max_tool_output: int | None = None,
        log_rollouts: str | Mapping[str, Any] | None = None,
    ) -> None:
        if not (isinstance(adapter, type) and issubclass(adapter, RolloutAdapter) and hasattr(adapter, "_environment")):
            raise UsageError(
                f"OpenRewardSpec takes a generated class, not {printable(repr(adapter))}. Generate it with "
                "`orl-codegen TARGET -o generated/`, and pass the class that the module defines."
            )
        _check_tasks(num_tasks, indices)
        _one_of("prompts", prompts, get_args(Prompts))
        _one_of("images", images, get_args(Images))
        if images == "pil":
            require("trl", 'images="pil"', ["PIL"])
        _one_of("on_reset_failure", on_reset_failure, get_args(OnResetFailure))
        _check_limits(call_timeout, max_sessions, max_tool_output)
        _check_tools(adapter, concurrent_tools)
        self._num_tasks = num_tasks
        self._indices = None if indices is None else [int(index) for index in indices]
        self._include_metadata = include_metadata
        self._cache_dir = cache_dir
        self._progress = progress
        environment = adapter._environment
        where = endpoint(
            environment.target,
            variant or environment.variant,
            base_url=base_url,
            api_key=api_key,
            secrets=secrets,
            env_overrides=env_overrides,
        )
        self._adapter = adapter
        self._plan = Plan(
            environment,
            where,
            split,
            Agreement(adapter, wanted=verify),
            toolset=toolset or environment.toolset,
            prompts=prompts,
            images=images,
            drop_failed_rollouts=drop_failed_rollouts,
            on_reset_failure=on_reset_failure,
            call_within=call_timeout,
            concurrent_tools=frozenset(concurrent_tools),
            max_tool_output=max_tool_output,
            log=None if log_rollouts is None else RolloutLog(run_of(log_rollouts), environment, where),
            slots=Slots() if max_sessions is None else Slots(max_sessions),
        )
        close_on_signals()  # adapters may be made on other threads, which cannot arrange it

    def __repr__(self) -> str:
        return f"OpenRewardSpec({self._adapter.__qualname__}, {self._plan.endpoint.shown()})"

    @cached
    def train_dataset(self) -> Dataset:
        """One row a task: `prompt`, `split` and `task_index` (which `reset` takes), and the fields of the task.

        Raises:
            ExtraError: The extra `trl` is not installed.
            UsageError: There is no such split, variant or index.
            ServerError: The server could not be reached.
            SessionError: With `prompts="dataset"`, a session could not be opened; or none of them, with
                `on_reset_failure="unscored"`.

        The processes of one run on one machine fetch its tasks and prompts once. None has to wait for the others to
        ask, so this may be used in some of them only.
        """
        from orl_codegen.trl.dataset import to_dataset

        return to_dataset(self.rows)

    @cached
    def environment_factory(self) -> Factory[Adapter]:
        """Makes the adapter of one rollout."""
        return Factory(self._adapter, self._plan)

    @property
    def reward_funcs(self) -> Reward:
        """The last reward of each rollout that was not null."""
        return last_reward

    @cached
    def group_reward(self) -> GroupReward:
        """A further reward function: the environment scores the rollouts of each task against each other.

        Raises:
            UsageError: The environment offers no group scoring.
        """
        from orl_codegen.trl.group import GroupReward

        if not self.scores_groups:
            raise UsageError(f"{self._adapter.__name__} has no group_reward: its environment does not score groups.")
        self._plan.keep_for_group = True
        return GroupReward(self._plan)

    @property
    def scores_groups(self) -> bool:
        """Whether the environment offers group scoring."""
        return self._plan.environment.group_scoring

    @cached
    def tasks(self) -> list[tuple[int, dict[str, Any]]]:
        """The index in the split, and the fields, of each task.

        Raises:
            UsageError: There is no such split, variant or index.
            ServerError: The server could not be reached.
        """
        return self._answers.tasks(self._num_tasks, self._indices)

    @cached
    def _answers(self) -> SharedAnswers:
        from orl_codegen.trl.sharing import SharedAnswers

        return SharedAnswers(self._plan, self._cache_dir)

    @cached
    def rows(self) -> list[dict[str, Any]]:
        """The rows of `train_dataset` before they are one: `combine` puts those of several specs together."""
        from orl_codegen.trl import dataset, prompts

        require("trl", "A dataset of tasks")
        plan = self._plan
        rows = dataset.task_rows(plan.split, self.tasks, self._include_metadata)
        if plan.prompts == "session":
            return rows
        fetched = self._answers.prompts(self.tasks, self._progress)
        there = [(row, messages) for row, messages in zip(rows, fetched, strict=True) if messages is not None]
        columns = prompts.rows([messages for _, messages in there], plan.images)
        return [row | prompt for (row, _), prompt in zip(there, columns, strict=True)]


def _check_tasks(num_tasks: int | None, indices: Sequence[int] | None) -> None:
    if num_tasks is not None and indices is not None:
        raise UsageError("Pass num_tasks or indices, not both.")
    if num_tasks is not None and num_tasks < 1:
        raise UsageError(f"num_tasks={num_tasks} leaves nothing to train on. Pass 1 or more.")
    if indices is not None and (len(indices) == 0 or min(indices) < 0):
        raise UsageError("indices are those of tasks, counted from 0: pass one at least, and none below 0.")


def _check_limits(call_timeout: float, max_sessions: int | None, max_tool_output: int | None) -> None:
    if not 0 < call_timeout < math.inf:
        raise UsageError(f"call_timeout={call_timeout} is invalid. Pass a number of seconds above 0.")
    for name, limit in (("max_sessions", max_sessions), ("max_tool_output", max_tool_output)):
        if limit is not None and not (type(limit) is int and limit > 0):
            raise UsageError(f"{name}={printable(repr(limit))} is invalid. Pass 1 or more, or None for no limit.")


def _check_tools(adapter: type[RolloutAdapter], names: Collection[str]) -> None:
    known = [method.__tool__.name for method in generated_tools(adapter)]
    unknown = [names] if isinstance(names, str) else [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            f"concurrent_tools={printable(repr(names))} is invalid: {printable(', '.join(map(repr, unknown)))} is not "
            f"a tool of the generated class. Pass a list of names, out of {printable(', '.join(known))}."
        )


def _one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        known = " or ".join(f'"{one}"' for one in allowed)
        raise UsageError(f"{name}={printable(repr(value))} is invalid. Pass {known}.")
