"""Comments that describe the fields of nested types, made from text that a server wrote.

Only people read these comments, but programs look into comments too: `# type: ignore`, `# fmt: off`, `# noqa` and many
others are instructions. So a word that could begin such an instruction is put in backquotes, which every tool that
looks for it takes for plain text.
"""

from __future__ import annotations

import re
import textwrap

from orl_codegen.errors import defused

_TOOLS = "(?i:flake8|isort|noinspection|nopep8|noqa|nosec|nosemgrep|nosonar|pragma|pylint|pyre|pyright|ruff|yapf)"

_INSTRUCTION = re.compile(
    # What a comment, or another one inside it, begins with: `type: ignore`, `fmt: off`, `flake8=noqa`. A capitalized
    # word (`Note: ...`) is prose, because tools spell these words in lower case.
    r"(?P<start>(?:^|(?<=[#;]))\s*)(?P<first>[a-z_][\w.-]*)(?=\s*[:=](?!//))"
    # What some tools find anywhere in a comment, and some of them in any case; unless it has both backquotes already.
    rf"|(?:(?<![\w`])|(?<=`)(?!{_TOOLS}`))(?P<anywhere>{_TOOLS})(?!\w)"
)


def comment(text: str, width: int) -> tuple[str, ...]:
    """The lines of a comment, each `# ...` and at most `width` characters unless a single word is longer.

    Whatever the text holds, a line is a comment and nothing more: blanks and line ends of every kind become single
    spaces, and characters that do not print become visible escapes.
    """
    words = " ".join(text.split())
    guarded = _guarded(defused(words))
    # The word that a line begins with is known only after wrapping, and then may need its two backquotes.
    lines = textwrap.wrap(guarded, width - len("# ``"), break_long_words=False, break_on_hyphens=False)
    return tuple(f"# {_guarded(line)}" for line in lines)


def _guarded(text: str) -> str:
    return _INSTRUCTION.sub(lambda found: f"{found['start'] or ''}`{found['first'] or found['anywhere']}`", text)
