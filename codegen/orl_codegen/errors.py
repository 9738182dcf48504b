"""Every error that orl-codegen raises on purpose.

    OrlCodegenError
    ├── UsageError             the command or the arguments cannot be carried out as given
    │   └── ConfigError        the same, from `[tool.orl-codegen]` of pyproject.toml
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
        ├── PromptMismatch     a session's prompt is not the one in the dataset
        └── SchemaDrift        the live tools no longer fit the adapter

A message is one paragraph: what failed, why, and the command or change that fixes it. Text of a server is shown
escaped (`printable`), never raw, and never holds a key or a secret.
"""

from __future__ import annotations


class OrlCodegenError(Exception):
    """Base class. The command line prints the message and ends with status 2."""


class UsageError(OrlCodegenError):
    """The command or the arguments cannot be carried out as given."""


class ConfigError(UsageError):
    """`[tool.orl-codegen]` of pyproject.toml holds something that is not understood."""


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


class PromptMismatch(RolloutError):
    """A session's prompt is not the one that stands in the dataset: the environment is not deterministic."""


class SchemaDrift(RolloutError):
    """The live tools no longer fit the adapter: it has to be generated again."""


def printable(text: object, limit: int = 200) -> str:
    """Text from outside, made safe for a terminal, a log line and an error message.

    Control, format (bidi, zero-width), surrogate and private-use characters become `\\x..` escapes, and what is
    longer than `limit` characters is cut.
    """
    import unicodedata

    shown = "".join(
        character
        if unicodedata.category(character)[0] != "C" and character not in "\u2028\u2029"
        else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in str(text)[: limit + 1]
    )
    return shown if len(shown) <= limit else shown[:limit] + "…"
