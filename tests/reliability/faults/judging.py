"""What an error of a user has to be like, and how long anything may take."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orl_codegen.ors import limits

DEADLINE = 12.0
"""Seconds for each step of a trial. The waits below add up to a few; the machine may be busy with other trials."""

WAITS = {
    "ANSWER_WITHIN": 1.5,
    "OPEN_WITHIN": 1.5,
    "CLOSE_WITHIN": 0.7,
    "EXIT_WITHIN": 0.5,
    "FIRST_PAUSE": 0.02,
    "LONGEST_PAUSE": 0.05,
    "LONGEST_BACK_OFF": 0.2,
    "PING_EVERY": 0.4,
    "PINGS_LOST": 3,
    "SILENT_FOR": 0.6,
}
CALL_WITHIN = 1.5

ADVICE = re.compile(
    r"\b(Check|Is this|pass|Pass|Write|Fix|Try|name|Generate|Call reset|allow more|Serve|Choose|Leave|leave)\b"
)
INTERNAL = re.compile(
    r"Traceback|\b[A-Z][A-Za-z]*(Error|Exception|Timeout)\b|aiohttp|asyncio|Errno|ssl:default|<\w+ object|\bNone\b"
)
COMPLAINT = re.compile(
    r"never retrieved|never awaited|Unclosed|Exception in callback|Task was destroyed", re.IGNORECASE
)


@dataclass(frozen=True)
class Trial:
    """One trial: a fault at a stage, by its number, on one side."""

    side: str
    number: int
    stage: str
    fault: str

    def __str__(self) -> str:
        return f"{self.side} {self.number}: {self.fault} at {self.stage}"


def faults_of(text: str, named: str) -> list[str]:
    """What is wrong with an error: it is one paragraph that says what to do, and names what happened."""
    checks = {
        "is not one paragraph": "\n" in text.strip() or not text.strip(),
        "is not printable": not text.strip().isprintable(),
        "is too long": len(text) > 1200,
        "does not end a sentence": not text.strip().endswith((".", "?")),
        "says not what to do": not ADVICE.search(text),
        "shows what is inside": INTERNAL.search(text) is not None,
        f"does not name {named}": not re.search(named, text),
    }
    return [f"the error {what}: {text!r}" for what, wrong in checks.items() if wrong]


@contextlib.contextmanager
def short_waits() -> Iterator[None]:
    """Every wait is that of `WAITS`, so that a trial takes a second or two."""
    before = {name: getattr(limits, name) for name in WAITS}
    for name, value in WAITS.items():
        setattr(limits, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(limits, name, value)


def quiet() -> None:
    """What libraries log, and what we warn of, does not belong between the figures."""
    for name in ("uvicorn", "orl_codegen", "asyncio"):
        logging.getLogger(name).addHandler(logging.NullHandler())


class Complaints(logging.Handler):
    """What asyncio and aiohttp log of futures and connections that nobody looked after."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what is a complaint."""
        message = " ".join(record.getMessage().split())
        if COMPLAINT.search(message) and "Proxy._serve" not in message:  # ours to break, in any way
            self.heard.append(message[:500])

    @contextlib.contextmanager
    def listening(self) -> Iterator[Complaints]:
        """Hear them."""
        loggers = [logging.getLogger(name) for name in ("asyncio", "aiohttp.client")]
        for logger in loggers:
            logger.addHandler(self)
        try:
            yield self
        finally:
            for logger in loggers:
                logger.removeHandler(self)


def peak_memory() -> int:
    """The most that this process has had in memory since `forget_peak`, in MiB."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in status if line.startswith("VmHWM"))


def forget_peak() -> int:
    """Count the peak anew, and return what is in memory now, in MiB."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()
