"""What a rule is, and the sentences that many rules share."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal, get_args

Severity = Literal["error", "warning", "info", "off"]
Profile = Literal["training", "code"]

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From the most severe to none."""

PROFILES: tuple[Profile, ...] = get_args(Profile)


@dataclass(frozen=True)
class Rule:
    """One kind of change.

    Attributes:
        id: Kebab case; it never changes.
        category: The section of the catalogue that lists it.
        training: Severity for a training run whose prompt contains the schema text.
        code: Severity for code that calls the adapter.
        sentence: The message of a finding; `{what}`, `{old}`, `{new}`, `{path}` (the last part of the pointer),
            `{around}` (what that part stands in) and `{was}` (what was renamed, under its old name) are filled in.
        meaning: What happened.
        why: Why it matters.
        react: What to do about it.
    """

    id: str
    _: KW_ONLY
    category: str
    training: Severity
    code: Severity
    sentence: str
    meaning: str
    why: str
    react: str

    @property
    def about_files(self) -> bool:
        """Whether it is about generated files.

        Such a finding cannot be accepted: generating again fixes it, and a missing or edited snapshot would hide
        whatever the environment does.
        """
        return self.category == "files"

    def severity(self, profile: Profile) -> Severity:
        """The severity that the catalogue gives it in a profile."""
        return self.code if profile == "code" else self.training


REGENERATE = "Generate again, and review the difference."
RETRAIN = "Generate again; start a new run, or keep the old server for the current one."
CALLERS = "Generate again, change the callers, and start a new run: what the model has learnt no longer works."
PROMPT = "The model's prompt changes, so rewards before and after are not strictly comparable. Calls continue to work."
REJECTS = "The server refuses calls that it used to accept, and the model keeps making them."
NOTHING = "Neither callers nor the prompt are affected."
NOTE = "Nothing to do; generating again records it."
