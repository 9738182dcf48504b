"""The pytest plugin: the fixture `orl_mock`. Every run of pytest loads it, so all else is imported late."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from orl_codegen.standin.mocking import StandIn


@pytest.fixture
def orl_mock() -> Iterator[Callable[..., StandIn]]:
    """Start stand-ins that end with the test: `orl_mock("generated/kitchen.json", rewards=[None, 1.0]).url`.

    It takes what `orl_codegen.standin.mock` takes.
    """
    with contextlib.ExitStack() as running:

        def start(source: str | os.PathLike[str], **options: Any) -> StandIn:
            from orl_codegen.standin.mocking import mock

            return running.enter_context(mock(source, **options))

        yield start
