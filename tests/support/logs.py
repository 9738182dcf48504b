"""What a CI runner and a terminal would obey in a text. It knows nothing of how orl-codegen escapes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

GITHUB = frozenset(
    """
    add-mask add-matcher add-path debug echo endgroup error group internal-set-repo-path notice remove-matcher
    save-state set-env set-output stop-commands warning
    """.split()
)
"""The commands that GitHub's runner registers (actions/runner, `ActionCommandManager`); it ignores their case."""

BRACKETS = ("##[", "##vso[", "##teamcity[")
"""What commands of GitHub, of Azure and of TeamCity begin with, anywhere in a line."""


def commands_in(log: str) -> list[str]:
    """Every command in a log, also in mid-line: whatever wraps the lines of a log may let one begin there."""
    return [command for line in log.replace("\r", "\n").split("\n") for command in _in_line(line)]


def _in_line(line: str) -> Iterator[str]:
    for begin in BRACKETS:
        if begin in line.lower():
            yield line[line.lower().index(begin) :][:60]
    for at in range(len(line)):
        if line.startswith("::", at):
            name, closed, _ = line[at + 2 :].partition("::")
            if closed and name.split(" ")[0].lower() in GITHUB:
                yield line[at:][:60]


FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Letters and accents that fonts leave out, among those that Unicode calls neither control nor format."""


def controls_in(text: str) -> set[str]:
    """The characters that a terminal, an editor or a pager may obey, or hide; line ends are none of them."""
    return {character for character in set(text) if _is_control(character)}


def _is_control(character: str) -> bool:
    odd = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    return (odd or character in FILLERS) and character != "\n"
