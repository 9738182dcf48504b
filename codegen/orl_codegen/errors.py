"""Every error that orl-codegen raises on purpose.

    OrlCodegenError
    ├── UsageError             the command or the arguments cannot be carried out as given
    │   ├── ConfigError        the same, from `[tool.orl-codegen]` of pyproject.toml
    │   └── ExtraError         packages that it takes are not installed
    ├── TargetError            TARGET is none of the three kinds, or names no environment
    ├── ServerError            the server could not be reached, or did not answer as ORS says
    ├── SnapshotError          a file is not a snapshot, or was edited by hand
    ├── SchemaError            a tool's input_schema is refused
    ├── ConflictError          two tasks give one tool different schemas (`--on-conflict error`)
    ├── VerificationError      a rendered module failed a check; nothing was written
    ├── OutputError            the output folder cannot be written
    └── RolloutError           the run time could not go on
        ├── SessionError       a session could not be opened
        ├── SessionLimitError  `max_sessions` are open, and none of them ends
        ├── ToolError          the environment raised an exception in a tool
        ├── PreflightError     a trainer's settings would make the training fail, or learn from wrong data
        ├── PromptMismatch     a session's prompt is not the one in the dataset
        └── SchemaDrift        the live tools no longer fit the adapter

A message is one paragraph: what failed, why, and the command or change that fixes it. Text of a server is shown
escaped (`printable`), never raw, and never holds a key or a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable

UNSEEN = re.compile(
    "[\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What takes no room, or moves what stands around it: C1 controls, separators of lines, bidi marks, halves of surrogate
pairs, and whatever Unicode has fonts ignore, except the two signs that choose between the forms of an emoji. The list
is spelled out because files are written by it, and the tables of each Python are those of another Unicode."""

_GITHUB = (
    "add-mask|add-matcher|add-path|debug|echo|endgroup|error|group|internal-set-repo-path|notice|remove-matcher|"
    "save-state|set-env|set-output|stop-commands|warning"
)

_COMMAND = re.compile(
    rf"(?<=#)#(?=(?:vso|teamcity)?\[)|(?<=:)(?:(?<!\w:):(?=[a-z][\w-]*(?:\s|::|\Z))|:(?=(?:{_GITHUB})(?:\s|::|\Z)))",
    re.IGNORECASE,
)
"""The character that makes a command of what a server wrote, where CI reads it in a log: the second one of `##[name]`,
which GitHub finds anywhere in a line (Azure has `##vso[`, TeamCity `##teamcity[`), and of `::name::`, which it finds at
the beginning of one. Inside a word only the names that GitHub has are commands: `std::vector` stays as it is."""


class OrlCodegenError(Exception):
    """Base class. The command line prints the message and ends with status 2."""

    def __init__(self, message: str = "") -> None:
        super().__init__(printable_lines(message))  # as a whole: two texts, safe alone, may be a command together


class UsageError(OrlCodegenError):
    """The command or the arguments cannot be carried out as given."""


class ConfigError(UsageError):
    """`[tool.orl-codegen]` of pyproject.toml holds something that is not understood."""


class ExtraError(UsageError):
    """What was asked for takes packages that an extra of orl-codegen brings, and that are not installed."""


class TargetError(OrlCodegenError):
    """TARGET is none of the three kinds, or what it names is not an environment."""


class ServerError(OrlCodegenError):
    """The server could not be reached, or did not answer as the Open Reward Standard says."""


class SnapshotError(OrlCodegenError):
    """A file is not a snapshot of ours, or its digest does not match its content."""


class SchemaError(OrlCodegenError):
    """A tool's input_schema is refused: a reference that leaves it, a limit exceeded, or no object at all."""


class ConflictError(OrlCodegenError):
    """Two tasks give one tool different schemas, and the user asked for an error rather than a wider tool."""


class VerificationError(OrlCodegenError):
    """A rendered module failed a check. Nothing was written."""


class OutputError(OrlCodegenError):
    """The output folder cannot be written."""


class RolloutError(OrlCodegenError):
    """The run time could not go on."""


class SessionError(RolloutError):
    """A session could not be opened, after the retries that were allowed."""


class SessionLimitError(RolloutError):
    """`max_sessions` are open, and none of them ends before another one opens: training cannot go on."""


class ToolError(RolloutError):
    """The environment raised an exception in a tool. The session goes on, unless the next call finds it lost."""


class PreflightError(RolloutError):
    """A trainer's settings are certain to make the training fail, or learn from wrong data. Nothing has begun yet."""


class PromptMismatch(RolloutError):
    """A session's prompt is not the one that stands in the dataset: the environment is not deterministic."""


class SchemaDrift(RolloutError):
    """The live tools no longer fit the adapter: it has to be generated again."""


def printable(text: object, limit: int = 200) -> str:
    """Text from outside, made safe for a terminal, a log line and an error message.

    Control, format (bidi, zero-width), surrogate and private-use characters become `\\x..` escapes, and so does one
    character of each command to a CI runner: `##[` is shown as `#\\x23[`, which people can read, and no runner finds.
    What is longer than `limit` characters is cut.
    """
    shown = defused(str(text)[: limit + 1])
    return shown if len(shown) <= limit else shown[:limit] + "…"


def printable_lines(text: str, spelled: Callable[[str], str] | None = None) -> str:
    """The same for each line of a text, whole. `spelled` escapes a character as the format of the text wants it."""
    return "\n".join(defused(line, spelled) for line in text.split("\n"))


def defused(text: str, spelled: Callable[[str], str] | None = None) -> str:
    """What `printable` makes of a text, but never cut."""
    spell = spelled or python_escape
    text = _COMMAND.sub(lambda found: spell(found[0]), text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if _is_seen(character) else spell(character) for character in text)


def _is_seen(character: str) -> bool:
    import unicodedata

    kept = character.isprintable() or unicodedata.category(character) == "Zs"
    return kept and not UNSEEN.match(character)


def python_escape(character: str) -> str:
    """The escape of a character in Python, also of one that Python does not escape by itself."""
    escaped = character.encode("unicode_escape", "surrogatepass").decode("ascii")
    return escaped if escaped != character else f"\\x{ord(character):02x}"


def json_escape(character: str) -> str:
    """The escape of a character in JSON: beyond U+FFFF, that of both halves of its surrogate pair."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
