"""`make reliability`: run the suites one after another, print their figures, and end with 1 if one does not hold."""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from importlib import import_module

from tests.reliability.figures import Figure, Suite

SUITES = ("faults", "interruption", "attack", "load")
SHOWN_FAULTS = 20


def main() -> int:
    """Run the suites, and return the exit status."""
    arguments = _arguments()
    print(f"--seed {arguments.seed} --share {arguments.share:g}", flush=True)
    held = [_run(name, arguments.seed, arguments.share) for name in arguments.suites or SUITES]
    return 0 if all(held) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__)
    parser.add_argument("suites", metavar="SUITE", nargs="*", help=f"of {', '.join(SUITES)}; all by default")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--share", type=float, default=1.0, help="how much of each suite to run")
    return parser.parse_args()


def suite(name: str) -> Suite:
    """The suite of that name."""
    measure: Suite = import_module(f"tests.reliability.{name}").measure
    return measure


def _run(name: str, seed: int, share: float) -> bool:
    print(f"\n{name}", flush=True)
    began, held = time.monotonic(), True
    for figure in shortened(suite(name)(seed, share)):
        print(figure, flush=True)
        held = held and figure.holds
    print(f"     {time.monotonic() - began:.0f} s", flush=True)
    return held


def shortened(figures: Iterator[Figure]) -> Iterator[Figure]:
    """The figures, each with its first faults."""
    for figure in figures:
        yield Figure(figure.what, figure.found, figure.holds, figure.faults[:SHOWN_FAULTS])


if __name__ == "__main__":
    raise SystemExit(main())
