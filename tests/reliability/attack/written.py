"""What the command line prints and writes of an environment in which every text is hostile."""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tests.conftest  # noqa: F401 - the variables that it sets count when openreward is imported
from tests.reliability.attack import judges
from tests.reliability.attack.judges import Judge
from tests.reliability.attack.payloads import PAYLOADS, PLAIN, disguised
from tests.support.applications import answering
from tests.support.cli import Outcome, orl_codegen
from tests.support.environments import environment, spec
from tests.support.servers import Application, serving_application

Spec = dict[str, Any]

HARMLESS = "harmless"

FORMATS: Mapping[str, Judge] = {
    "text": judges.log,
    "json": judges.plain_json,
    "github": judges.github,
    "markdown": judges.markdown,
    "sarif": judges.plain_json,
    "junit": judges.xml,
    "html": judges.html,
}


@dataclass(frozen=True)
class Trial:
    """One channel, and what a reader of it would be made to do.

    Attributes:
        channel: What was printed or written.
        texts: How many hostile texts it has been given.
        faults: What came of them.
    """

    channel: str
    texts: int
    faults: tuple[str, ...]


def _tool(name: str, **parameter: Any) -> Spec:
    return spec(name, value={"type": "string", "description": "A value.", **parameter})


def _nested(name: str, key: str, field: Spec) -> Spec:
    return _tool(name, type="object", properties={key: field, "other": {"type": "integer"}}, required=[key])


def _defining(name: str, text: str) -> Spec:
    tool = spec(name, value={"$ref": f"#/$defs/{text.replace('~', '~0').replace('/', '~1')}"})
    tool["input_schema"]["$defs"] = {text: {"title": text, "type": "object", "properties": {text: {}}}}
    return tool


PLACES: Mapping[str, Callable[[str, str], Spec]] = {
    "the name of a tool": lambda name, text: spec(f"{text}{name}"),
    "a description": lambda name, text: spec(name, text),
    "a docstring": lambda name, text: spec(name, f"Go.\n\nArgs:\n    value: {text}\nReturns:\n    {text}", value={}),
    "a key of a spec": lambda name, text: _tool(name) | {text: text},
    "the name of a parameter": lambda name, text: spec(name, **{text: {"type": "string"}}),
    "the description of a parameter": lambda name, text: _tool(name, description=text),
    "a title": lambda name, text: _tool(name, title=text),
    "an enum": lambda name, text: _tool(name, enum=[text, "b"]),
    "a const": lambda name, text: _tool(name, const=text),
    "a default": lambda name, text: _tool(name, default=text),
    "a pattern": lambda name, text: _tool(name, pattern=text),
    "a format": lambda name, text: _tool(name, format=text),
    "an unknown keyword": lambda name, text: _tool(name, **{text: text}),
    "a value of the wrong type": lambda name, text: _tool(name, maxLength=text, minimum=text),
    "the name of a field": lambda name, text: _nested(name, text, {"type": "string"}),
    "the description of a field": lambda name, text: _nested(name, "key", {"type": "string", "description": text}),
    "the key of a list": lambda name, text: _tool(name, type="array", items={"enum": [text]}, examples=[text]),
    "a definition": lambda name, text: _defining(name, text),
}
"""Every text of a tool spec, as a spec that has it."""


def specs(texts: Mapping[str, str]) -> list[Spec]:
    """A tool for each text in each place; its name does not depend on the text, except where the text is the name."""
    pairs = [(text, place) for text in texts.values() for place in PLACES.values()]
    return [place(f"tool{number}", text) for number, (text, place) in enumerate(pairs)]


def wire(tools: list[Spec], text: str) -> Application:
    """A real server whose answers about its tools and splits are these; `text` stands wherever else one can."""
    from openreward.environments import Server

    tasks, more = {"train": [{"index": 0, text: text}]}, {0: [spec(f"{text}task", text)]}
    own = environment([spec("unlisted")], tasks=tasks, task_tools=more)
    terminal = {"name": f"{text}end", "arg": text, "description": text}
    answers = {
        "/made/tools": json.dumps({"tools": tools, "terminal_tool": terminal, text: text}).encode(),
        "/made/splits": json.dumps([{"name": "train", "type": text}, {"name": text, "type": text}]).encode(),
    }
    return answering(answers, otherwise=Server([own]).app)


@contextmanager
def folder() -> Iterator[None]:
    """An empty working directory."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        try:
            yield
        finally:
            os.chdir(before)


ALWAYS = ("bracket", "line ends", "rich")
"""One payload of each kind, which every round has."""


def trials(seed: int, number: int, share: float) -> Iterator[Trial]:
    """What every command prints and writes while the harmless tools of a server turn hostile.

    Args:
        seed: Determines everything that is random.
        number: Of the round, with which the texts differ.
        share: How many of the payloads to try.
    """
    chance = random.Random(f"{seed} written {number}")
    more = chance.sample([*PAYLOADS], round(len(PAYLOADS) * min(1.0, share)))
    texts = {name: disguised(PAYLOADS[name], chance) for name in dict.fromkeys([*ALWAYS, *more])}
    other = texts[chance.choice([*texts])]
    with folder():
        yield from _Round(texts, other).trials()


class _Round:
    """The commands on one server, each with the judge of what it prints."""

    def __init__(self, texts: Mapping[str, str], other: str) -> None:
        self.hostile = specs(texts)
        self.harmless = specs(dict.fromkeys(texts, HARMLESS))
        self.other = other
        self.plain = [PAYLOADS[name] for name in texts if name in PLAIN]

    def trials(self) -> Iterator[Trial]:
        answers = wire(self.harmless, HARMLESS)

        async def turning(scope: Any, receive: Any, send: Any) -> None:
            await answers(scope, receive, send)

        with serving_application(turning) as server:
            common = (server.url, "-o", "out", "--name", "made", "--no-type-check", "--allow-partial")
            yield from self._run("generate", *common, "-q")
            answers = wire(self.hostile, self.other)
            yield from self._run("generate", *common, "-v", "--diff", "--dry-run")
            for name, judge in FORMATS.items():
                more = ("-v", "--diff") if name in ("text", "markdown", "html") else ()
                yield from self._run("check", *common, "--format", name, *more, judge=judge)
            yield from self._accepted(common)
            Path("out/made.json").rename("harmless.json")
            yield from self._run("generate", *common, "-v")
            yield from self._files()
            yield from self._shown(server.url)
        for old, new in (("harmless.json", "out/made.json"), ("out/made.json", "harmless.json")):
            for name, judge in FORMATS.items():
                yield from self._run("diff", old, new, "--format", name, judge=judge)

    def _run(self, *words: str, judge: Judge = judges.log) -> Iterator[Trial]:
        outcome = orl_codegen(*words)
        command = " ".join(word for word in words if not word.startswith("http"))
        yield self._judged(f"{command}: standard output", judge, outcome.out)
        yield self._judged(f"{command}: standard error", judges.log, outcome.err)
        expected = outcome.status < 2 if words[0] == "generate" else outcome.status == 1
        yield Trial(f"{command}: status", 0, () if expected else (f"{outcome.status}: {outcome.err[:300]!r}",))

    def _judged(self, channel: str, judge: Judge, text: str) -> Trial:
        return Trial(channel, len(self.hostile), tuple(judge(text)))

    def _accepted(self, common: tuple[str, ...]) -> Iterator[Trial]:
        """The blocks that `check` prints, pasted into the configuration, accept all that it has found."""
        found = orl_codegen("check", *common, "--accept-block").out
        blocks = found.rpartition("and say why:\n")[2].rpartition("\nTo write the files")[0]
        blocks = blocks.replace("reviewed: say why", "fine")
        Path("pyproject.toml").write_text(blocks, "utf-8")
        yield self._judged("the blocks to paste", judges.toml, blocks)
        again = orl_codegen("check", *common, "--format", "json")
        found = again.err if again.status == 2 else again.out
        yield Trial("the blocks, pasted", len(self.hostile), (found[:500],) if again.status else ())
        Path("pyproject.toml").unlink()

    def _files(self) -> Iterator[Trial]:
        taken, module = Path("out/made.json").read_text("utf-8"), Path("out/made.py").read_text("utf-8")
        yield self._judged("the snapshot", judges.snapshot, taken)
        yield self._judged("the module", judges.module, module)
        same = sorted(json.loads(taken)["tools"], key=str) == sorted(json.loads(json.dumps(self.hostile)), key=str)
        yield Trial("the snapshot, read back", len(self.hostile), () if same else ("it is not what the server said",))

    def _shown(self, url: str) -> Iterator[Trial]:
        for what in (url, "out/made.json", "out/made.py"):
            outcome = orl_codegen("show", what)
            channel = "show " + ("a server" if what == url else what)
            yield self._judged(f"{channel}: standard output", judges.log, outcome.out)
            yield self._judged(f"{channel}: standard error", judges.log, outcome.err)
            lost = [text for text in self.plain if text[:30] not in outcome.out] if what != url else []
            yield Trial(f"{channel}: plain texts", len(self.plain), tuple(f"not shown: {text[:40]!r}" for text in lost))


def failed(outcome: Outcome) -> Iterator[str]:
    """What is wrong with a command that could not do it."""
    if outcome.status != 2 or not outcome.err.strip():
        yield f"status {outcome.status}: {outcome.err[:200]!r}"
    yield from judges.log(outcome.out)
    yield from judges.log(outcome.err)
    if len(outcome.err) > 5000:
        yield f"an error of {len(outcome.err)} characters"
