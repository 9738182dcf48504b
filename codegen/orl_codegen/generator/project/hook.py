"""The hook of pre-commit that checks the committed adapters against their snapshots."""

from __future__ import annotations

import re
from textwrap import indent
from typing import Any

from orl_codegen.version import REPOSITORY, __version__

ID = "orl-codegen-check"

ENTRY = f"""\
- repo: https://github.com/{REPOSITORY}
  rev: v{__version__}
  hooks:
    - id: {ID}
"""


def with_hook(text: str) -> str | None:
    """The text of a .pre-commit-config.yaml with the hook; the same one if it has the hook, None if that is not safe.

    The entry goes to the end, and the result is read back: it must say what it said before, and have the entry.
    """
    before = _loaded(text)
    if not text.strip() or before is None:
        return f"repos:\n{indent(ENTRY, '  ')}" if not text.strip() else None
    repos = before.get("repos")
    if not isinstance(repos, list):
        return None
    if any(_has_hook(repo) for repo in repos):
        return text
    depths = re.findall(r"^( *)- ", text, re.MULTILINE)
    added = f"{text.rstrip()}\n{indent(ENTRY, min(depths, default='  '))}"
    return added if _loaded(added) == {**before, "repos": [*repos, *_loaded_entry()]} else None


def _loaded(text: str) -> dict[str, Any] | None:
    """The mapping that a YAML text holds; None if it holds anything else."""
    import yaml  # type: ignore[import-untyped]

    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _loaded_entry() -> list[Any]:
    import yaml

    entry = yaml.safe_load(ENTRY)
    assert isinstance(entry, list)
    return entry


def _has_hook(repo: Any) -> bool:
    hooks = repo.get("hooks") if isinstance(repo, dict) else None
    return any(isinstance(hook, dict) and hook.get("id") == ID for hook in hooks or ())
