"""`make mutations`: random single changes of real tools, and how many of them drift reports exactly.

Ends with 1 if a change is missed, an equivalent is reported, or fewer than 99.5 % of the changes are reported with the
right rule, place and severities. Each trial is determined by the seed and its number.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.mutations.tools import CORPUS, corpus, project
from tests.mutations.trials import Trial, Trials

REQUIRED = 0.995


def main() -> int:
    """Try, report, and return the exit status."""
    arguments = _arguments()
    environments = corpus(arguments.corpus) if arguments.corpus.is_dir() else project()
    print(f"{sum(map(len, environments))} tools; --seed {arguments.seed} --count {arguments.count}")
    trials = Trials(environments, arguments.seed)
    changes = trials.changes(arguments.count, arguments.kind)
    equivalents = trials.equivalents(arguments.count // 3, arguments.kind)
    report("changes", changes, arguments.examples)
    report("equivalents", equivalents, arguments.examples)
    return 0 if suffices(changes) and suffices(equivalents) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument(
        "--count", type=int, default=5000, help="how many changes; there are a third as many equivalents"
    )
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="a folder of .jsonl files with a tool spec a line")
    parser.add_argument("--kind", default="", help="only the kinds with this in their names")
    parser.add_argument("--examples", type=int, default=3, help="how many to show of each kind")
    return parser.parse_args()


def suffices(trials: Sequence[Trial]) -> bool:
    """Whether nothing is missed, nothing is a false alarm, and nearly all are right."""
    worst = [trial for trial in trials if trial.verdict in ("missed", "false alarm", "refused")]
    return not worst and sum(trial.right for trial in trials) >= REQUIRED * len(trials)


def report(title: str, trials: Sequence[Trial], examples: int) -> None:
    """Print the rates, and of each kind with wrong trials a few of them."""
    by_kind: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        by_kind[trial.kind].append(trial)
    print(f"\n{title}, of {len(by_kind)} kinds: {rates(trials)}")
    for kind, tried in sorted(by_kind.items()):
        wrong = [trial for trial in tried if not trial.right]
        if wrong:
            print(f"\n{kind}: {rates(tried)}", *wrong[:examples], sep="\n")


def rates(trials: Iterable[Trial]) -> str:
    """How many trials ended how."""
    counts = Counter(trial.verdict for trial in trials)
    return ", ".join(
        f"{count} {verdict} ({100 * count / counts.total():.2f} %)" for verdict, count in counts.most_common()
    )


if __name__ == "__main__":
    raise SystemExit(main())
