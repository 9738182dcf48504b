"""What becomes of text from outside before anyone sees it."""

from __future__ import annotations

import json
import pickle
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orl_codegen.errors import UNSEEN, ServerError, defused, json_escape, printable, printable_lines, python_escape
from tests.support.logs import commands_in, controls_in

PIECES = [
    "#",
    "##",
    "[",
    ":",
    "::",
    " ",
    "\n",
    "\r",
    "\t",
    "\x1b",
    "vso",
    "teamcity",
    "error",
    "Set-Output",
    "add-mask",
]
PIECES += [
    "stop-commands",
    "name=x",
    ";",
    "]",
    "a",
    "\x9b",
    "\u2028",
    "\u202e",
    "\u200b",
    "\xad",
    "\u3164",
    "\ud800",
    "\\",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("##[set-output name=report;]x", r"#\x23[set-output name=report;]x"),
        ("in a line: ####[group]", r"in a line: ###\x23[group]"),
        ("##VSO[task.setvariable]x ##teamcity[x]", r"#\x23VSO[task.setvariable]x #\x23teamcity[x]"),
        ("::error file=a,line=1::x", r":\x3aerror file=a,line=1::x"),
        (" \t::Add-Mask::x", r" \t:\x3aAdd-Mask::x"),
        ("first\n::stop-commands::x", r"first\n:\x3astop-commands::x"),
        ("glued::add-mask::x", r"glued:\x3aadd-mask::x"),
        ("\x1b[31mred\x9b0m\u202eevil\u200b", r"\x1b[31mred\x9b0m\u202eevil\u200b"),
        ("one\u2028two\u2029three\x85four\r\n", r"one\u2028two\u2029three\x85four\r\n"),
        ("a\u3164b\u034fc\U000e0041d", r"a\u3164b\u034fc\U000e0041d"),
    ],
)
def test_what_a_runner_or_a_terminal_obeys_is_escaped(text: str, shown: str) -> None:
    """Commands of CI runners lose a character to an escape, which people can read; so do controls of every kind."""
    assert printable(text) == shown
    assert str(ServerError(printable_lines(text))) == printable_lines(text)


@pytest.mark.parametrize(
    "text",
    [
        "### Heading [link]", "#[derive(Debug)]", "std::vector<int>", "http://[::1]:8080", "http://[::ffff:10.0.0.1]/",
        "for example::", "x[::2]", "a::b", "# [1]", "Größe 日本語 עברית ⚠️ ✅", "a\xa0b",
    ],
)  # fmt: skip
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    """Headings, names of C++ and Rust, IPv6, emoji and letters of all languages are not touched."""
    assert printable(text) == text


@given(TEXTS)
def test_no_text_gets_out_as_a_command(text: str) -> None:
    """Whatever the pieces are joined to: no command and no control is left, and escaping twice changes nothing."""
    shown = printable(text)
    assert not commands_in(shown) and not controls_in(shown)
    assert printable(shown) == shown


@given(TEXTS, TEXTS)
def test_no_error_joins_two_texts_to_a_command(one: str, two: str) -> None:
    """Texts that are safe alone (`##`, then `[group]`) are not put together to a command by the message of an error."""
    message = str(ServerError(f"{printable(one)}{printable(two)}"))
    assert not commands_in(message)
    assert str(pickle.loads(pickle.dumps(ServerError(message)))) == message


@given(TEXTS)
def test_json_keeps_its_value(text: str) -> None:
    """Escaped as JSON wants it, a text is the same once it is read, and holds no command before."""
    written = printable_lines(json.dumps({text: [text]}, indent=2, ensure_ascii=False), json_escape)
    assert json.loads(written) == {text: [text]}
    assert not commands_in(written) and not controls_in(written)


def test_everything_unseen_is_known() -> None:
    """Beyond what Unicode calls a control, a format or a separator of lines, the list has what fonts ignore."""
    everything = map(chr, range(0x7F, sys.maxunicode + 1))
    left = [character for character in everything if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    visible = {character for character in left if not UNSEEN.match(character)}
    assert {unicodedata.name(character).split()[0] for character in visible} <= {
        "ARABIC",
        "SYRIAC",
        "KAITHI",
        "EGYPTIAN",
    }
    assert defused("".join(left)).isascii()


def test_an_escape_is_python() -> None:
    """The escapes of a text for people are those of Python, so that they can be read back."""
    assert {python_escape(character) for character in "#:\x1b\u2028\n"} == {r"\x23", r"\x3a", r"\x1b", r"\u2028", r"\n"}
