"""What an `OpenRewardSpec` settles once, and every adapter that it makes follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from orl_codegen.ors import limits
from orl_codegen.ors.endpoint import Endpoint
from orl_codegen.runtime.agreement import Agreement
from orl_codegen.runtime.blocks import Images
from orl_codegen.runtime.rollout_log import RolloutLog
from orl_codegen.runtime.vocabulary import Environment
from orl_codegen.sessions.handle import SessionHandle
from orl_codegen.sessions.slots import Slots

Prompts = Literal["session", "dataset"]
OnResetFailure = Literal["raise", "unscored"]

ALTERNATIVES = {
    "raise": ' Or let the training go on without such rollouts: OpenRewardSpec(..., on_reset_failure="unscored").',
    "unscored": "",
}


@dataclass
class Plan:
    """How rollouts of one environment are run. It pickles; its repr shows neither the key nor a secret.

    Attributes:
        environment: What the adapter records about its environment.
        endpoint: Where the environment is.
        split: The split of the tasks, where a row of the dataset names no other.
        agreement: Has sessions learn the tools that are live, where that is wanted.
        toolset: The built-in toolset that sessions are opened with.
        prompts: Whether prompts come with each session, or stand in the dataset.
        images: What images are made of.
        drop_failed_rollouts: Whether a failure takes away a reward that was seen before it.
        on_reset_failure: What happens where no session can be opened.
        call_within: Seconds that a call may take while the server answers pings.
        concurrent_tools: The wire names of the tools whose calls need not wait for each other within a rollout.
        max_tool_output: How many characters of a tool result the model is shown; None for all.
        slots: How many sessions may be on the server at a time.
        log: Where the rollouts are logged, if they are.
        keep_for_group: Whether sessions stay open after their episode, because a group will be scored in one of them.
    """

    environment: Environment
    endpoint: Endpoint
    split: str
    agreement: Agreement
    toolset: str | None = None
    prompts: Prompts = "session"
    images: Images = "placeholder"
    drop_failed_rollouts: bool = False
    on_reset_failure: OnResetFailure = "raise"
    call_within: float = limits.CALL_WITHIN
    concurrent_tools: frozenset[str] = frozenset()
    max_tool_output: int | None = None
    slots: Slots = field(default_factory=Slots)
    log: RolloutLog | None = None
    keep_for_group: bool = False

    def task(self, index: int, split: str | None = None) -> dict[str, Any]:
        """A task of a split, as the wire names it; by default of the plan's own."""
        return {"split": split or self.split, "index": index}

    def open(
        self,
        task: Mapping[str, Any],
        *,
        rollout: bool = False,
        messages: bool = False,
        check_prompt: Callable[[list[dict[str, Any]]], None] | None = None,
    ) -> SessionHandle:
        """Begin to open a session for a task.

        Args:
            task: As `task` gives it, or `{"task_spec": ...}`.
            rollout: Whether a rollout is played in it, which is logged where that is wanted.
            messages: Ask for the prompt as messages, not as blocks.
            check_prompt: Given the prompt; what it raises ends the session.
        """
        return SessionHandle(
            self.endpoint,
            task,
            slots=self.slots,
            toolset=self.toolset,
            messages=messages,
            call_within=self.call_within,
            alternative=ALTERNATIVES[self.on_reset_failure],
            learn_tools=self.agreement.learning(task),
            check_prompt=check_prompt,
            witness=self.log.witness(task) if rollout and self.log else None,
        )
