"""256 rollouts of 20 calls, ten rounds of them, with adapters that are kept and reset as trainers do."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from orl_codegen.trl.overlapping import OverlappingCalls
from orl_codegen.trl.rewards import last_reward
from tests.reliability.figures import Figure
from tests.reliability.load.bench import Bench
from tests.reliability.load.readings import becomes, reading
from tests.reliability.load.scripts import Judge, Script, outcome, scripted

ROLLOUTS, CALLS, ROUNDS = 256, 20, 10
WARM = 2
"""Rounds after which nothing may grow any more."""

Played = tuple[Any, list[str]]
"""The prompt of a rollout, and the outcomes of its calls."""


def rollouts(bench: Bench) -> Iterator[Figure]:
    """Play all rounds; those that end a third of them as our `GRPOTrainer` plays them, the others in free threads."""
    count = max(8, round(ROLLOUTS * bench.share) // 2 * 2)
    rounds = ROUNDS if bench.share >= 0.1 else WARM + 2
    specs = bench.specs(max_sessions=count // 2)
    adapters = [specs[task % 2].environment_factory() for task in range(count)]
    judge, calls, seconds, warm = Judge(), 0, 0.0, None
    for number in range(rounds):
        if number == WARM:
            becomes(0, bench.live)
            warm = reading()
        scripts = [scripted(bench.seed, task, number, CALLS) for task in range(count)]
        began = time.monotonic()
        played = (overlapped if number % 3 == 1 else in_threads)(adapters, scripts)
        seconds += time.monotonic() - began
        calls += sum(script.lost_at + ("lost" in script.ends) for script in scripts)
        examine(judge, adapters, scripts, played)
    left = becomes(0, bench.live)
    last = reading()  # before what the suite itself keeps
    for script in (scripted(bench.seed, task, number, CALLS) for number in range(rounds) for task in range(count)):
        judge.expect(script)
    books = [server.books() for server in bench.servers]
    judge.audit(*books, rounds=range(rounds))
    assert warm is not None
    yield _results(bench, judge, f"{count} rollouts x {CALLS} calls x {rounds} rounds", calls, seconds)
    peak = max(each.peak for each in books)
    yield Figure(
        f"max_sessions={count // 2} for each of two servers, all through them",
        f"at most {peak} at a time; {left} left in the end",
        peak <= count // 2 and left == 0,
    )
    grown = warm.growth(last)
    memory = f"memory {(last.memory - warm.memory) / 2**20:+.1f} MiB"
    yield Figure(
        f"what the client holds after round {rounds}, next to round {WARM}",
        f"{memory}, descriptors {last.descriptors - warm.descriptors:+d}, threads {last.threads - warm.threads:+d}, "
        f"tasks {last.tasks - warm.tasks:+d}, sessions {last.sessions - warm.sessions:+d}",
        not grown,
        tuple(f"{name} grew by {by}: {warm} {last}" for name, by in grown.items()),
    )


def _results(bench: Bench, judge: Judge, what: str, calls: int, seconds: float) -> Figure:
    failing = sum(judge.raised.values()) + sum(judge.refused.values())
    found = (
        f"{calls} calls at {calls / seconds:.0f} a second, {failing} of them raised or refused; "
        f"{len(judge.faults)} wrong results, rewards, failures or counts"
    )
    faults = (f"{fault}; {bench.command}" for fault in judge.faults)
    return Figure(what, found, not judge.faults, tuple(faults))


def in_threads(adapters: Sequence[Any], scripts: Sequence[Script]) -> list[Played]:
    """Each rollout in a thread of its own, as `AsyncGRPOTrainer` plays them."""
    with ThreadPoolExecutor(len(adapters)) as pool:
        return list(pool.map(play, adapters, scripts))


def play(adapter: Any, script: Script) -> Played:
    """Play one rollout."""
    prompt = adapter.reset(task_index=script.task)
    return prompt, [outcome(partial(adapter.note, **script.arguments(number))) for number in range(len(script.ends))]


def overlapped(adapters: Sequence[Any], scripts: Sequence[Script]) -> list[Played]:
    """All rollouts turn by turn, as `orl_codegen.trl.GRPOTrainer` plays them."""
    for adapter, script in zip(adapters, scripts, strict=True):
        adapter._open_ahead(task_index=script.task)
    prompts = [adapter.reset(task_index=script.task) for adapter, script in zip(adapters, scripts, strict=True)]
    completions: list[list[dict[str, Any]]] = [[] for _ in adapters]
    calls = OverlappingCalls([{"note": adapter.note} for adapter in adapters], completions)
    found: list[list[str]] = [[] for _ in adapters]
    for number in range(CALLS):
        for messages, script in zip(completions, scripts, strict=True):
            function = {"name": "note", "arguments": script.arguments(number)}
            messages.append({"role": "assistant", "tool_calls": [{"type": "function", "function": function}]})
        for messages, script, table, outcomes in zip(completions, scripts, calls.tables, found, strict=True):
            outcomes.append(outcome(partial(table["note"], **script.arguments(number))))
            messages.append({"role": "tool", "content": outcomes[-1]})
    calls.stop()
    return list(zip(prompts, found, strict=True))


def examine(judge: Judge, adapters: Sequence[Any], scripts: Sequence[Script], played: Sequence[Played]) -> None:
    """Score a round, and judge it."""
    metrics: dict[str, float] = {}
    rewards = last_reward(environments=adapters, completions=[[]] * len(adapters), log_metric=metrics.__setitem__)
    for adapter, script, (prompt, found) in zip(adapters, scripts, played, strict=True):
        judge.compare(script, prompt, found, adapter)
    expected = [script.reward for script in scripts]
    if rewards != expected:
        judge.faults.append(f"round {scripts[0].round}: the reward function gave {rewards}, not {expected}")
    failed = sum("lost" in script.ends for script in scripts) / len(scripts)
    scored = sum(reward is not None for reward in expected) / len(scripts)
    wanted = {"environment/scored": scored, "environment/finished": 0.0, "environment/failed": failed}
    if not wanted.items() <= metrics.items():
        judge.faults.append(f"round {scripts[0].round}: the metrics {metrics}, not {failed} failed, {scored} scored")
