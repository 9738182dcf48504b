"""What a server answers to a call, read leniently: an odd field costs that field, not the rollout."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from orl_codegen.ors import limits
from orl_codegen.ors.failures import Malformed, Refused
from orl_codegen.ors.redaction import Mask

logger = logging.getLogger(__name__)

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
    if not isinstance(answer, dict):
        raise Malformed("The server answered a call with something that is not an object.")
    if not answer.get("ok"):
        error = str(answer.get("error") or "the call was refused")[: limits.DETAIL_BYTES]
        raise CallRefused(mask.text(error), answer.get("reason"))
    output = answer.get("output")
    blocks = output.get("blocks") if isinstance(output, dict) else None
    if not isinstance(output, dict) or not isinstance(blocks, list):
        raise Malformed(f"The server answered a call with {shown(output)}, which is not a tool output.")
    return Output(
        mask.json([block for block in blocks if isinstance(block, dict)]),
        finite(output.get("reward"), shown),
        mask.json(output["metadata"]) if isinstance(output.get("metadata"), dict) else None,
        output.get("finished") is True,
    )


def finite(reward: Any, shown: Callable[[Any], str]) -> float | None:
    """A reward as a finite float; anything else is None, with a warning unless it is null."""
    if isinstance(reward, int | float) and not isinstance(reward, bool):
        with contextlib.suppress(OverflowError):  # an integer beyond any float
            if math.isfinite(reward):
                return float(reward)
    if reward is not None:
        logger.warning("The reward %s is not a finite number, so the call counts as unscored.", shown(reward))
    return None


def scores_of(answer: Any, count: int, shown: Callable[[Any], str]) -> list[float | None]:
    """The rewards in an answer to `/score_group`, one for each of `count` candidates.

    Raises:
        Malformed: There are not as many.
    """
    scores = answer.get("scores") if isinstance(answer, dict) else None
    if not isinstance(scores, list) or not all(isinstance(score, dict) for score in scores):
        raise Malformed("the server answered with something that is not a list of scores")
    if len(scores) != count:
        raise Malformed(f"the server scored {len(scores)} of {count} candidates")
    return [finite(score.get("reward"), shown) for score in scores]


def is_about_the_body(refused: Refused) -> bool:
    """Whether the server refuses what the model wrote, and not a header or a path, which are ours."""
    problems = refused.detail if refused.status in (400, 422) else None
    return (
        isinstance(problems, list)
        and len(problems) > 0
        and all(isinstance(problem, dict) and (problem.get("loc") or [""])[0] == "body" for problem in problems)
    )
