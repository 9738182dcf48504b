"""The optional parts of the package: what each takes, and what is said where it is not installed."""

from __future__ import annotations

from collections.abc import Collection

from orl_codegen.errors import ExtraError

EXTRAS: dict[str, tuple[str, ...]] = {
    "generate": (
        "black",
        "click",
        "datamodel_code_generator",
        "jinja2",
        "jsonschema",
        "mypy",
        "openreward",
        "platformdirs",
        "referencing",
        "rich",
        "tomlkit",
        "watchfiles",
        "yaml",
    ),
    "eval": ("filelock", "inspect_ai", "PIL", "psutil", "rich", "transformers"),
    "trl": ("datasets", "filelock", "PIL", "psutil", "rich", "transformers", "trl"),
}
"""The extras of pyproject.toml, by the names of the modules that they bring."""

SHOWN = 3  # missing modules that a message names


def require(extra: str, what: str, modules: Collection[str] = ()) -> None:
    """Check, before any work is done, whether an extra is installed. Nothing is imported.

    Args:
        extra: The name of the extra.
        what: Needs it, as the beginning of a sentence.
        modules: What it needs of the extra, if not all.

    Raises:
        ExtraError: Modules are missing. The message is one line, with the command that installs them.
    """
    from importlib.util import find_spec

    missing = [module for module in modules or EXTRAS[extra] if find_spec(module) is None]
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        raise ExtraError(
            f"{what} needs packages that are not installed ({', '.join(missing[:SHOWN])}{more}). Install them with "
            f"`pip install 'orl-codegen[{extra}]'`."
        )
