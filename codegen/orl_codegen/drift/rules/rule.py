"""What a rule is, and the sentences that many rules share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info", "off"]
Profile = Literal["training", "code"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info", "off")
"""From the gravest to none."""


@dataclass(frozen=True)
class Rule:
    """One kind of change.

    Attributes:
        id: Kebab case, stable for ever.
        category: The part of the catalogue it stands in.
        sentence: The message of a finding; `{what}`, `{old}` and `{new}` are filled in.
        meaning: What happened.
        why: Why it matters.
        react: How to react.
        code: Severity for code that calls the adapter.
        training: Severity for a training run whose prompt holds the schema text.
    """

    id: str
    category: str
    sentence: str
    meaning: str
    why: str
    react: str
    code: Severity
    training: Severity

    @property
    def about_files(self) -> bool:
        """Whether it is about our own files: what makes those right again is the next run, so nobody may live with it,
        and a snapshot that is gone or edited would hide whatever the environment does."""
        return self.category == "files"

    def severity(self, profile: Profile) -> Severity:
        """The severity that the catalogue gives it in a profile."""
        return self.code if profile == "code" else self.training


REGENERATE = "Generate again, and review the difference."
RETRAIN = "Generate again; start a new run, or keep the old server for the one under way."
CALLERS = "Generate again, change the callers, and start a new run: what the model has learnt no longer works."
PROMPT = "The model's prompt changes, so rewards before and after are not strictly comparable. Calls go on working."
REJECTS = "The server refuses calls that it used to accept, and the model goes on making them."
NOTHING = "Neither callers nor the prompt are affected."
NOTE = "Nothing to do; generating again records it."


def breaking(id: str, category: str, sentence: str, meaning: str) -> Rule:
    return Rule(id, category, sentence, meaning, REJECTS, CALLERS, code="error", training="error")


def visible(id: str, category: str, sentence: str, meaning: str) -> Rule:
    return Rule(id, category, sentence, meaning, PROMPT, REGENERATE, code="info", training="warning")
