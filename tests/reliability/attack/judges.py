"""Who reads what is printed and written, and what each would be made to do. Nothing here is orl-codegen's own."""

from __future__ import annotations

import ast
import json
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

from markdown_it import MarkdownIt

from tests.support.logs import commands_in, controls_in

Judge = Callable[[str], Iterator[str]]

OURS_IN_GITHUB = re.compile(r"^::(error|warning|notice) [\w=/.,% +-]+::", re.MULTILINE)
"""The commands that `--format github` prints on purpose."""

MARKDOWN_TAGS = {"h3", "h4", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "code", "pre"}

JUNIT_TAGS = {"testsuites", "testsuite", "testcase", "skipped", "failure", "error", "system-out"}

HTML_TAGS = frozenset(
    "html head meta title style body header h1 h2 h3 h4 h5 p b span input nav label main ol ul li a section div "
    "article code mark details summary".split()
)

_OURS_IN_HTML = re.compile(r"(#?environment-\d+|show-\w+|checkbox|[a-z ]*)\Z")

BUG = re.compile(r"Traceback \(most recent call last\)|this is a bug in orl-codegen")


def log(text: str) -> Iterator[str]:
    """A terminal, and a runner that looks for commands."""
    yield from (f"a command: {command!r}" for command in commands_in(text))
    yield from (f"a control: {character!r}" for character in sorted(controls_in(text)))
    yield from (f"a bug: {found[0]}" for found in BUG.finditer(text))


def github(text: str) -> Iterator[str]:
    """The same, apart from the commands that are ours; each is alone in its line."""
    yield from log(OURS_IN_GITHUB.sub("", text))
    for line in text.splitlines()[:-1]:
        if not OURS_IN_GITHUB.match(line):
            yield f"a line that is no annotation: {line[:80]!r}"


def markdown(text: str) -> Iterator[str]:
    """GitHub, which renders a comment. The zero-width space keeps it from finding mentions."""
    yield from log(text.replace("@\u200b", "@"))
    html = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(text.partition("-->")[2])
    html = html.replace("<details><summary>Diff of the module</summary>", "").replace(
        "</details>\n", "", html.count("<pre>")
    )
    outside = re.sub(r"<code.*?</code>", "", html, flags=re.DOTALL)
    yield from (f"a tag: {tag}" for tag in {*re.findall(r"<[/!]?(\w+)", outside)} - MARKDOWN_TAGS)
    yield from (f"a mention: {found}" for found in re.findall(r"@\w+", outside))


def html(text: str) -> Iterator[str]:
    """A browser: only our elements, and no attribute with a word of a server's."""
    yield from log(text)
    page = HTMLParser()
    found: list[tuple[str, list[tuple[str, str | None]]]] = []
    page.handle_starttag = lambda tag, attributes: found.append((tag, attributes))  # type: ignore[method-assign]
    page.feed(text.partition("</style>")[2])
    page.close()
    yield from (f"an element: {tag}" for tag in {tag for tag, _ in found} - HTML_TAGS)
    for name, value in {attribute for _, attributes in found for attribute in attributes}:
        if name not in ("class", "id", "for", "href", "type", "checked", "open") or not _OURS_IN_HTML.match(
            value or ""
        ):
            yield f"an attribute: {name}={(value or '')[:60]!r}"


def plain_json(text: str) -> Iterator[str]:
    """A program that reads JSON."""
    yield from log(text)
    try:
        json.loads(text)
    except ValueError as error:
        yield f"not JSON: {error}"


def xml(text: str) -> Iterator[str]:
    """A program that reads JUnit reports."""
    yield from log(text)
    try:
        found = {element.tag for element in ElementTree.fromstring(text.encode("utf-8", "surrogatepass")).iter()}
    except (ElementTree.ParseError, UnicodeError) as error:
        yield f"not XML: {error}"
    else:
        yield from (f"an element: {tag}" for tag in found - JUNIT_TAGS)


def toml(text: str) -> Iterator[str]:
    """A project into whose configuration the blocks are pasted."""
    yield from log(text)
    try:
        accepted: list[dict[str, Any]] = tomllib.loads(text)["tool"]["orl-codegen"]["accept"]
    except (ValueError, KeyError) as error:
        yield f"not TOML: {error}"
    else:
        yield from (f"accepts more: {entry}"[:80] for entry in accepted if "fingerprint" not in entry)


def snapshot(text: str) -> Iterator[str]:
    """An editor, a pager and `git diff`. Commands are no harm in a file."""
    yield from (f"a control: {character!r}" for character in sorted(controls_in(text)))
    try:
        json.loads(text)
    except ValueError as error:
        yield f"not JSON: {error}"


def module(text: str) -> Iterator[str]:
    """The same, and Python, which must find what the templates write and nothing else."""
    yield from (f"a control: {character!r}" for character in sorted(controls_in(text)))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError) as error:
            yield f"not Python: {error}"
            return
    yield from (f"a warning: {warning.message}" for warning in warned)
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = {"tool", "Environment", "TerminalTool", "TypedDict", "self._call"}
    yield from (f"a call: {name}" for name in calls - names)
    imported = {
        node.module if isinstance(node, ast.ImportFrom) else ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    yield from (f"an import: {name}" for name in imported - {"__future__", "typing", "orl_codegen.runtime"})


NAIVE: dict[str, tuple[Judge, str]] = {
    "a log": (log, "error: §"),
    "the log of a runner": (github, "::error file=a.py,line=1::§\nsummary"),
    "a comment": (markdown, "<!-- x -->\n\n| | What changed |\n|---|---|\n| error | § |\n"),
    "JSON": (plain_json, '{"message": "§"}'),
    "XML": (xml, '<testsuites><testcase><failure message="§">§</failure></testcase></testsuites>'),
    "a browser": (html, "<style></style><p>§</p>"),
    "TOML": (toml, '[[tool.orl-codegen.accept]]\nfingerprint = "0"\ntool = "§"\n'),
    "a snapshot": (snapshot, '{"name": "§"}'),
    "a module": (module, 'class A:\n    def a(self):\n        """§"""\n'),
}
"""Each reader, and how somebody prints for it who does not escape."""


def caught_by(payload: str) -> list[str]:
    """The readers that a payload harms where nothing is escaped."""
    return [name for name, (judge, printed) in NAIVE.items() if [*judge(printed.replace("§", payload))]]
