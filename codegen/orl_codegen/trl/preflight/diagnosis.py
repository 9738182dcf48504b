"""What a check finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Diagnosis:
    """The outcome of one check.

    Attributes:
        check: What was checked, in a word or two: a heading of docs/preflight.md.
        verdict: `error` where the training is certain to fail, or to learn from wrong data.
        text: What was found; and unless it is ok, why that matters and what to do.
    """

    check: str
    verdict: Verdict
    text: str
