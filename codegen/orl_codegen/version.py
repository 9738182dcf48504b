"""The version of the package, in a module of its own so that every room can name it."""

from __future__ import annotations

__version__ = "0.1.0"

REPOSITORY = "orl-codegen/orl-codegen"
"""The repository on GitHub, where the action and the pre-commit hook come from."""
