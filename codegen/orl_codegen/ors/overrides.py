"""Environment variables of a session's container, which the platform sets in place of the environment's own.

They travel in the request that creates a session (`{"env": {...}}`, as in openreward 0.1.167), and the platform carries
them out; openreward's own server does not read them. Their values may be keys, so they are masked as secrets are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orl_codegen.errors import UsageError, printable

OPEN_TO_ALL = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
"""What anybody may override; the owner of an environment may override any variable, says openreward 0.1.167."""


def check_overrides(overrides: object) -> None:
    """Refuse overrides of the wrong form, naming the variable alone: the value may be a key.

    Raises:
        UsageError: It is not a mapping of names of variables to texts.
    """
    if not isinstance(overrides or {}, Mapping):
        raise UsageError("env_overrides is not a mapping. Pass env_overrides={variable: value}.")
    for name, value in dict(overrides or {}).items():  # type: ignore[call-overload]
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise UsageError(
                f"env_overrides has {printable(repr(name).partition('=')[0], 60)}, which is not the name of a variable."
                " Pass env_overrides={variable: value}."
            )
        if not isinstance(value, str) or "\0" in value:
            raise UsageError(
                f"The value of {printable(name)} in env_overrides is not text that a variable can hold. Pass "
                "env_overrides={variable: value}, numbers as text, too."
            )


def warn_where_ignored(overrides: Mapping[str, str], variant: str) -> None:
    """Say of overrides that go to a server of one's own, and not to the platform, that they may have no effect."""
    if overrides:
        import logging

        logging.getLogger(__name__).warning(
            "env_overrides are sent to the server of %s, but only the platform is known to carry them out. Otherwise "
            "set the variables where the server is started.",
            printable(variant),
        )


def reserved(overrides: Iterable[str]) -> list[str]:
    """The variables that only the owner of an environment may override."""
    return [name for name in overrides if name not in OPEN_TO_ALL]
