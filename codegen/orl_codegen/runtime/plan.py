"""What an `OpenRewardSpec` settles once and every adapter that it makes goes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from orl_codegen.ors.endpoint import Endpoint
from orl_codegen.runtime.blocks import Images
from orl_codegen.runtime.vocabulary import Environment

if TYPE_CHECKING:
    from orl_codegen.runtime.adapter import RolloutAdapter
    from orl_codegen.sessions.session import Session

Prompts = Literal["session", "dataset"]
OnResetFailure = Literal["raise", "unscored"]

ADVICE = {
    "raise": "See what its server says, or let the training go on without such rollouts: "
    'OpenRewardSpec(..., on_reset_failure="unscored").',
    "unscored": "See what its server says.",
}


@dataclass
class Plan:
    """How rollouts of one environment are run. It pickles; its repr shows neither the key nor a secret.

    Attributes:
        adapter: The generated class.
        endpoint: Where the environment is.
        split: The split of the tasks, where a row of the dataset names no other.
        toolset: The built-in toolset that sessions are opened with.
        prompts: Whether prompts come with each session, or stand in the dataset.
        images: What images are made of.
        drop_failed_rollouts: Whether a failure takes away a reward that was seen before it.
        on_reset_failure: What happens where no session can be opened.
        verify: Whether the next session that opens has its tools compared with the adapter. One that has not got that
            far by the time it is open, or is given up, leaves it to the next.
        keep_for_group: Whether sessions stay open after their episode, because a group will be scored in one of them.
    """

    adapter: type[RolloutAdapter]
    endpoint: Endpoint
    split: str
    toolset: str | None = None
    prompts: Prompts = "session"
    images: Images = "placeholder"
    drop_failed_rollouts: bool = False
    on_reset_failure: OnResetFailure = "raise"
    verify: bool = True
    keep_for_group: bool = False

    @property
    def environment(self) -> Environment:
        """What the adapter says of its environment."""
        return self.adapter._environment

    def task(self, index: int, split: str | None = None) -> dict[str, Any]:
        """A task of a split, as the wire names it; by default of the plan's own."""
        return {"split": split or self.split, "index": index}

    def open(self, task: Mapping[str, Any], *, messages: bool = False, prompt_digest: str | None = None) -> Session:
        """Begin to open a session for a task. With a digest, its messages have to be those that the digest is of."""
        from orl_codegen.runtime.agreement import compare
        from orl_codegen.sessions.session import Session
        from orl_codegen.trl.prompts import check

        compared: list[bool] = []

        def check_tools(listing: Any) -> None:
            compare(self.adapter, listing)
            compared.append(True)

        # The first session that lists its tools answers for all. Those that open at the same time ask for none.
        verifying, self.verify = self.verify, False
        session = Session(
            self.endpoint,
            task,
            toolset=self.toolset,
            messages=messages or prompt_digest is not None,
            advice=ADVICE[self.on_reset_failure],
            check_tools=check_tools if verifying else None,
            check_prompt=None if prompt_digest is None else partial(check, digest=prompt_digest),
        )
        if verifying:
            session.opening.add_done_callback(lambda _: setattr(self, "verify", not compared))
        return session
