"""Hostile environments through the whole generator: each is refused in a clear paragraph, or becomes a module that is
what its contract says and runs nothing. And the proof that this could fail."""

from __future__ import annotations

import ast
import inspect
import io
import json
import multiprocessing
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, get_type_hints

from orl_codegen.errors import OrlCodegenError, VerificationError
from orl_codegen.generator.contract.contract import Contract, build
from orl_codegen.generator.discovery import answers
from orl_codegen.generator.options import Options
from orl_codegen.generator.output.rendering import render
from orl_codegen.generator.output.verification import audit, type_check
from orl_codegen.generator.pipeline import adapter
from orl_codegen.generator.snapshot import Snapshot, TaskTool, dump, load
from tests.reliability.attack.canaries import CARELESS, PAYLOADS, canary, runs_carelessly
from tests.reliability.attack.fuzzing import ROOT, environment, texts_in
from tests.reliability.attack.injections import changed
from tests.reliability.figures import Figure

ENVIRONMENTS = 50_000
BATCH = 2_500
IN_PROCESS = 1_000
"""Up to how many environments two further processes are not worth their start."""

SHOWN_EVERY, TYPED_EVERY, CONTROL_EVERY = 10, 40, 25
"""Of how many environments one is shown to transformers, type-checked, or given to careless code."""

CALLED = {"Environment", "TerminalTool", "TypedDict", "tool", "_call"}
"""What a module may call."""


@dataclass(frozen=True)
class Trials:
    """What came of some environments.

    Attributes:
        tried: How many there were.
        made: How many became modules.
        refused: How many were refused.
        shown: How many modules transformers showed a model.
        typed: How many modules mypy has read.
        careless: In how many environments something ran once careless code was made of it, of `controls`.
        faults: What went wrong, a line each.
    """

    tried: int = 0
    made: int = 0
    refused: int = 0
    shown: int = 0
    typed: int = 0
    careless: int = 0
    controls: int = 0
    faults: tuple[str, ...] = ()

    def __add__(self, other: Trials) -> Trials:
        mine, theirs = vars(self), vars(other)
        return Trials(**{name: mine[name] + theirs[name] for name in mine})


@contextmanager
def begun(seed: int, share: float) -> Iterator[Iterator[Trials]]:
    """What comes of the environments, a batch after the other. Where there are many, processes work on them from now
    on, whenever the batches are asked for."""
    count = max(100, round(ENVIRONMENTS * share))
    ranges = [range(start, min(start + BATCH, count)) for start in range(0, count, BATCH)]
    if count <= IN_PROCESS:
        yield (batch(seed, numbers) for numbers in ranges)
        return
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        yield pool.map(batch, [seed] * len(ranges), ranges)


def environments(batches: Iterable[Trials]) -> Iterator[Figure]:
    """The figures of hostile environments."""
    trials = sum(batches, Trials())
    count = trials.tried
    yield Figure(
        f"{count:,} hostile environments through the generator",
        f"{trials.made:,} modules that are their contract and {trials.refused:,} refusals in one clear paragraph; "
        f"{len(trials.faults)} faults, 0 payloads run"
        if not trials.faults
        else f"{len(trials.faults):,} faults",
        not trials.faults and min(trials.made, trials.refused) > count / 10,
        trials.faults,
    )
    yield Figure(
        "a sample of these modules",
        f"{trials.typed:,} pass mypy --strict, and transformers shows {trials.shown:,} as intended",
        not trials.faults and min(trials.typed, trials.shown) > 0,
    )
    yield from _controls(trials)
    yield _audited()


def _controls(trials: Trials) -> Iterator[Figure]:
    """Whether the payloads would run at all."""
    tried = [(place, payload) for place, payloads in PAYLOADS.items() for payload in payloads]
    dead = [f"{payload!r} does not run {place}" for place, payload in tried if not runs_carelessly(place, payload)]
    yield Figure(
        f"positive control: {len(tried)} payloads in code that is put together without care",
        f"{len(tried) - len(dead)} run",
        not dead,
        tuple(dead),
    )
    yield Figure(
        f"positive control: {trials.controls:,} of the environments in such code",
        f"{trials.careless:,} run something",
        trials.careless > trials.controls / 4,
    )


def _audited() -> Figure:
    """Whether the audit would see a module that says something else."""
    whole = load((ROOT / "generated" / "kitchen.json").read_text("utf-8"))
    tools = tuple(tool for tool in whole.tools if tool["name"] == "search-recipes")
    made = build(replace(whole, tools=tools, task_tools=()))
    (_, same), *changes = changed(render(made, "kitchen"))
    missed = [f"the audit does not see {what}" for what, source in changes if not _is_refused(source, made)]
    if _is_refused(same, made):
        missed.append("the audit refuses a module that is its contract")
    return Figure(
        f"{len(changes)} changes to a module", f"{len(changes) - len(missed)} refused", not missed, tuple(missed)
    )


def _is_refused(source: str, made: Contract) -> bool:
    try:
        audit(source, made)
    except VerificationError:
        return True
    return False


# Many trials.


def batch(seed: int, numbers: Sequence[int]) -> Trials:
    """What comes of some environments; their modules are type-checked in one run."""
    sources: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `"\\d"` in careless code
        done = sum((trial(seed, number, sources) for number in numbers), Trials(tried=len(numbers)))
    return done + _type_checked(seed, sources)


def _type_checked(seed: int, sources: dict[str, str]) -> Trials:
    try:
        if sources:
            type_check(sources)
    except OrlCodegenError as error:
        return Trials(faults=(f"--seed {seed}, one of {', '.join(sources)}: {error}",))
    return Trials(typed=len(sources))


# One trial.


def trial(seed: int, number: int, sources: dict[str, str]) -> Trials:
    """Take one environment through the generator; some modules are added to `sources`, to be type-checked."""
    given = environment(seed, number)
    done = _control(given) if number % CONTROL_EVERY == 0 else Trials()
    with canary() as ran:
        try:
            made, source = generated(json.dumps(given).encode())
            done += Trials(made=1, shown=_shown(source, made) if number % SHOWN_EVERY == 0 else 0)
            check(source, made)
            if number % TYPED_EVERY == 0:
                sources[f"m{number}.py"] = source
        except VerificationError as error:
            done += _fault(seed, number, f"the generator does not pass its own audit: {error}")
        except OrlCodegenError as error:
            done += Trials(refused=1) if _is_clear(str(error)) else _fault(seed, number, f"refused with {str(error)!r}")
        except Exception as error:
            done += _fault(seed, number, f"{type(error).__name__}: {error}")
    return done + (_fault(seed, number, "a payload ran") if ran else Trials())


def _fault(seed: int, number: int, what: str) -> Trials:
    again = f"python -c 'from tests.reliability.attack.environments import repeat; repeat({seed}, {number})'"
    return Trials(faults=(f"{ascii(what)[1:-1]} ({again})",))


def repeat(seed: int, number: int) -> None:
    """Print an environment, and run it again, with its traceback."""
    given = environment(seed, number)
    print(json.dumps(given, indent=2))
    with canary() as ran:
        made, source = generated(json.dumps(given).encode())
        print(source)
        check(source, made)
        _shown(source, made)
    print(f"payloads run: {len(ran)}")


def generated(body: bytes) -> tuple[Contract, str]:
    """What the generator makes of the answers of a server."""
    answer = answers.parse(body, "The answer of the server to /tools")
    tools = tuple(answers.tool_specs(answer, "The answer of the server to /tools"))
    taken = Snapshot(
        target="http://127.0.0.1:1",
        variant=answer["variant"],
        split="train",
        splits=tuple(answers.splits(answer["splits"], "The answer of the server to /splits")),
        tools=tools,
        probed=(0,),
        task_tools=tuple(TaskTool(spec, (0,)) for spec in answers.tool_specs(answer["task_tools"], "/task_tools")),
        terminal_tool=answers.terminal_tool(answer, "The answer of the server to /tools"),
    )
    ready = adapter(load(dump(taken)), Options())
    audit(ready.module, ready.contract)
    return ready.contract, ready.module


def check(source: str, made: Contract) -> None:
    """A module is printable, has no instruction for a tool that reads comments, calls nothing that it should not, and
    can be imported and described.

    Raises:
        AssertionError: It is not so.
    """
    assert source.replace("\n", "").isprintable(), "a character that does not print"
    assert tokenize.detect_encoding(io.BytesIO(source.encode()).readline)[0] == "utf-8", "an encoding"
    tree = ast.parse(source, type_comments=True)
    assert not tree.type_ignores, "an instruction for mypy"
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = {node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in calls}
    assert names <= CALLED, f"calls of {sorted(names - CALLED)}"
    for function in _functions(_imported(source, made)):
        get_type_hints(function)


def _imported(source: str, made: Contract) -> type[Any]:
    namespace: dict[str, Any] = {"__name__": "made"}
    exec(compile(source, "<made>", "exec", dont_inherit=True), namespace)
    found: type[Any] = namespace[made.class_name]
    return found


def _functions(imported: type[Any]) -> list[Any]:
    """What TRL takes for tools of an adapter."""
    members = inspect.getmembers(imported, inspect.isfunction)
    return [function for name, function in members if not name.startswith("_") and name not in ("reset", "get_reward")]


def _shown(source: str, made: Contract) -> int:
    """See how transformers shows the tools of a module to a model.

    Raises:
        AssertionError: A text or a parameter is another one.
    """
    from transformers.utils import get_json_schema

    functions = {function.__name__: function for function in _functions(_imported(source, made))}
    assert set(functions) == {tool.wire_name for tool in made.tools}, f"the tools {sorted(functions)}"
    for tool in made.tools:
        shown = get_json_schema(functions[tool.wire_name])["function"]
        texts = {name: part["description"] for name, part in shown["parameters"]["properties"].items()}
        assert shown["description"] == tool.text, "another description"
        assert texts == {parameter.name: parameter.text for parameter in tool.parameters}, "other parameters"
    return 1


def _is_clear(message: str) -> bool:
    return message.isprintable() and len(message) < 2_000 and message.endswith((".", "?"))


def _control(given: dict[str, Any]) -> Trials:
    """Whether something in an environment runs, once code is made of it without care."""
    texts = [text for text in texts_in(given) if "canary" in text]
    ran = any(runs_carelessly(place, text) for text in texts for place in chain(CARELESS, ["template"]))
    return Trials(controls=1, careless=int(ran))
