"""A small part of `make reliability` runs with all tests."""

from __future__ import annotations

import pytest

from tests.reliability.__main__ import SUITES, suite

SHARE = 0.003


@pytest.mark.parametrize("name", SUITES)
def test_every_figure_holds(name: str) -> None:
    """A small share of each suite, at least one of everything, holds what docs/reliability.md promises."""
    figures = [*suite(name)(seed=7, share=SHARE)]
    assert figures and all(figure.holds for figure in figures), "\n".join(map(str, figures))
