"""`make mutations`: random single changes of real tools, and the rates at which drift reports them rightly."""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.mutations.tools import CORPUS, corpus, project
from tests.mutations.trials import Trial, Trials, shown

REQUIRED = 0.995
EXAMPLES = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutations", description=__doc__)
    parser.add_argument("--count", type=int, default=5000, help="how many changes; a third as many equivalents")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="a folder of tool specs, as .jsonl files")
    parser.add_argument("--kind", default="", help="only kinds with this in their name")
    parser.add_argument("--examples", type=int, default=EXAMPLES)
    arguments = parser.parse_args()
    environments = corpus(arguments.corpus) if arguments.corpus.is_dir() else project()
    print(f"{sum(map(len, environments))} tools, seed {arguments.seed}")
    trials = Trials(environments, arguments.seed)
    changes = [trial for n in range(arguments.count) if (trial := trials.change(n, arguments.kind))]
    equivalents = [trial for n in range(arguments.count // 3) if (trial := trials.equivalent(n, arguments.kind))]
    ok = [report("changes", changes, arguments.examples), report("equivalents", equivalents, arguments.examples)]
    return 0 if all(ok) else 1


def report(title: str, trials: Sequence[Trial], examples: int) -> bool:
    """Print the rates by kind, and whether they suffice."""
    by_kind: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        by_kind[trial.kind].append(trial)
    print(f"\n{title}: {rates(trials)}")
    for kind, some in sorted(by_kind.items()):
        wrong = [trial for trial in some if trial.verdict != "right"]
        if wrong:
            print(f"\n{kind}: {rates(some)}")
            for trial in wrong[:examples]:
                print(shown(trial))
    right = sum(trial.verdict == "right" for trial in trials)
    worst = any(trial.verdict in ("missed", "false alarm") for trial in trials)
    return not trials or (not worst and right >= REQUIRED * len(trials))


def rates(trials: Iterable[Trial]) -> str:
    """The verdicts, counted."""
    counts = Counter(trial.verdict for trial in trials)
    total = counts.total()
    return ", ".join(f"{verdict} {count} ({100 * count / total:.2f} %)" for verdict, count in counts.most_common())


if __name__ == "__main__":
    raise SystemExit(main())
