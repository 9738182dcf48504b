"""What a server answers to a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from orl_codegen.ors import limits
from orl_codegen.ors.failures import Malformed, Refused
from orl_codegen.ors.parts import Part
from orl_codegen.ors.redaction import Mask

JSON = dict[str, Any]


class Output(NamedTuple):
    """What a tool answered. The blocks are those of the wire; the reward is finite, or None."""

    blocks: list[JSON]
    reward: float | None
    metadata: JSON | None
    finished: bool


class CallRefused(Exception):
    """The server did not carry a call out, because of how the model made it. The session goes on.

    Attributes:
        reason: `not_found`, `input_validation`, `episode_finished` and so on; None from older servers.
    """

    def __init__(self, detail: str, reason: str | None = None) -> None:
        super().__init__(detail)
        self.reason = reason


class NotOffered(CallRefused):
    """The tool is none of those that the task offers, so the server was not asked: it might have carried the call out.

    Attributes:
        offered: The wire names of those that are.
    """

    def __init__(self, name: str, offered: frozenset[str]) -> None:
        super().__init__(f"{name} is not a tool of this task", "not_found")
        self.offered = offered


def output_of(answer: Any, mask: Mask, shown: Callable[[Any], str]) -> Output:
    """The output in an answer to a call, for the model and for reward functions.

    Args:
        answer: The JSON that the stream ended with.
        mask: Takes keys and secrets out of it.
        shown: Makes a value safe for a message.

    Raises:
        CallRefused: The call was malformed, or the episode has finished.
        Malformed: The answer is not one to a call.
    """
    result = Part(answer, "call", shown)
    if not result.field("ok").flag():
        error, reason = result.field("error").text("the call was refused"), result.field("reason").text("")
        raise CallRefused(mask.text(error[: limits.DETAIL_BYTES]), reason or None)
    output = result.field("output")
    metadata = output.field("metadata")
    return Output(
        mask.json([block.block() for block in output.field("blocks").list()]),
        output.field("reward").reward(),
        None if metadata.value is None else mask.json(metadata.object()),
        output.field("finished").flag(False),
    )


def scores_of(answer: Any, count: int, shown: Callable[[Any], str]) -> list[float | None]:
    """The rewards in an answer to `/score_group`, one for each of `count` candidates.

    Raises:
        Malformed: There are not as many, or one is not a reward.
    """
    scores = Part(answer, "score_group", shown).field("scores").list()
    if len(scores) != count:
        raise Malformed(f"the server scored {len(scores)} of {count} candidates")
    return [score.field("reward").reward() for score in scores]


def is_about_the_body(refused: Refused) -> bool:
    """Whether the server refuses what the model wrote, and not a header or a path, which are ours."""
    problems = refused.detail if refused.status in (400, 422) else None
    return (
        isinstance(problems, list)
        and len(problems) > 0
        and all(isinstance(problem, dict) and (problem.get("loc") or [""])[0] == "body" for problem in problems)
    )
