"""Answers to calls that the environment has not carried out. It is imported with every generated module."""

from __future__ import annotations


class Unanswered(str):
    """What the model is told of a call that the environment has not carried out. To trainers it is a text like others.

    Attributes:
        reason: Why: `not_offered`, `episode_finished`, `environment_failed` or `scored`; or what the server says
            (`input_validation`, `not_found`, and so on), or `refused` where it gives no reason.
    """

    reason: str

    def __new__(cls, text: str, reason: str = "refused") -> Unanswered:
        """Make a text with a reason."""
        made = super().__new__(cls, text)
        made.reason = reason
        return made
