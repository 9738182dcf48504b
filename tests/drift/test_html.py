"""The HTML report: what people see of a finding, and that nothing of a server's is anything but text in it."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orl_codegen.drift.acceptance import Acceptance
from orl_codegen.drift.change import Change
from orl_codegen.drift.findings import Report
from orl_codegen.drift.formats.html import html_report
from orl_codegen.errors import defused, printable, printable_lines
from tests.drift.reports import ORDINARY, hostile, report, unreachable

FRAGMENTS = (
    *("</div>", "<script>alert(1)</script>", "<style>*{}</style>", "-->", "<!--", "]]>", "&lt;", "&", '"', "'", "`"),
    *("{{ x }}", "{% x %}", "\x00", "\r\n", "\u202e", "\ud800", "##[error]", "<img src=x onerror=x>", "</title>", "<"),
)
texts = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), min_size=1).map("".join).filter(bool)


class Page(HTMLParser):
    """A parsed page: its elements in order, and the text inside each class."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.outline: list[tuple[str, object]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[list[str]] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Enter an element."""
        if tag != "mark":
            self.outline.append((tag, attrs))
        classes = (dict(attrs).get("class") or "").split()
        for name in classes:
            self.texts.setdefault(name, []).append("")
        if tag not in ("meta", "input"):
            self._open.append(classes)

    def handle_endtag(self, tag: str) -> None:
        """Leave the element."""
        self._open.pop()

    def handle_data(self, data: str) -> None:
        """Add a text to all the elements around it."""
        for name in {name for classes in self._open for name in classes}:
            self.texts[name][-1] += data

    def handle_comment(self, data: str) -> None:
        """Note what no page has."""
        self.outline.append(("comment", data))


def about(text: str) -> Report:
    """A report in which every text of the server is this one, or begins with it."""
    change = Change("tool-description-changed", text, f"/{text}", text, f"{text}x")
    [checked] = report([change]).checked
    accepted = (Acceptance(text, environment=text, fingerprint="0" * 12),)
    failed = replace(checked.comparisons[0], outcome="failed", note=text)
    checked = replace(checked, name=text, target=text, comparisons=(*checked.comparisons, failed), diff=f"+{text}")
    return replace(report([change]), checked=(checked,), unused=accepted)


@settings(max_examples=40, deadline=None)
@given(texts)
def test_no_text_of_a_server_leaves_its_place(text: str) -> None:
    """Whatever a server writes, the page has the same elements and attributes, and says the text where it belongs."""
    page, plain = Page(html_report(about(text))), Page(html_report(about("word")))
    if "\n" not in text:  # each line of a diff is an element
        assert page.outline == plain.outline
    assert page.texts["value"] == [printable_lines(text), printable_lines(f"{text}x")]
    assert page.texts["name"] == [printable(text)]
    assert page.texts["note"] == ["switched off", defused(text)]


def test_the_policy_allows_the_style_and_nothing_else() -> None:
    """The browser loads nothing, runs nothing, and applies the one style of the page, which the policy names."""
    page = html_report(report(hostile()))
    [policy] = re.findall('http-equiv="Content-Security-Policy" content="(.*?)">', page)
    [style] = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    expected = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert policy.replace("&#39;", "'").replace("&#43;", "+") == expected
    assert not re.search(
        r"<script|<link|<img|\bstyle=|\bon\w+=|url\(|@import|src=", Page(page).outline.__repr__() + style
    )


def test_findings_stand_under_their_tool_with_both_values() -> None:
    """Each tool has its findings with severity, message, the old and the new value, the rule and what to do."""
    page = Page(html_report(report(ORDINARY)))
    assert page.texts["name"] == ["search"] and page.texts["place"][:2] == [
        "generated/kitchen.py:42",
        "generated/kitchen.py:7",
    ]
    assert page.texts["badge"] == ["error", "warning", "info"]
    assert page.texts["words"][0] == "The parameter query of search became required."
    assert page.texts["value"][2:4] == ["Find.", "Find recipes."]
    assert page.texts["where"][0].split() == [
        "param-became-required",
        "/input_schema/properties/query",
        ORDINARY[0].fingerprint,
    ]


def test_what_is_there_can_be_shown_and_hidden_without_a_script() -> None:
    """Each severity that occurs has a checkbox, ticked at first, and a label with its count."""
    page = Page(html_report(report(ORDINARY)))
    boxes = [dict(attrs) for tag, attrs in page.outline if tag == "input"]  # type: ignore[call-overload]
    assert [box["id"] for box in boxes] == ["show-error", "show-warning", "show-info"]
    assert all("checked" in box for box in boxes)
    assert "error 1" in page.texts["error"][0]


@pytest.mark.parametrize(
    ("found", "said"), [(report(()), "No drift"), (unreachable(), "could not be reached: refused.")]
)
def test_a_page_without_findings_says_what_happened(found: Report, said: str) -> None:
    """Without findings the page says so; what could not be compared is told with the reason."""
    page = html_report(found)
    assert said in page and "<article" not in page


def test_a_huge_value_is_cut_around_what_differs() -> None:
    """Of a huge value the page shows the difference and what is around it."""
    old, new = f"{'a' * 200_000} old {'z' * 200_000}", f"{'a' * 200_000} new {'z' * 200_000}"
    page = html_report(report([Change("tool-description-changed", "search", "/description", old, new)]))
    assert len(page) < 40_000 and "<mark>old</mark>" in page and "<mark>new</mark>" in page
