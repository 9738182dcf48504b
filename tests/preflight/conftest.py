"""Fixtures of these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orl_codegen.sessions.loop import close_sessions
from tests.environments.answers import Quiz
from tests.environments.echo import Echo
from tests.environments.library import Library
from tests.support.servers import RunningServer, running


@pytest.fixture(scope="session")
def shared_server() -> Iterator[RunningServer]:
    with running(Library, Echo, Quiz) as server:
        yield server


@pytest.fixture
def server(shared_server: RunningServer) -> Iterator[RunningServer]:
    """One server with every environment of these tests; it must have no session open when a test ends."""
    shared_server.requests.clear()
    yield shared_server
    assert shared_server.wait_for_sessions(0) == 0
    close_sessions()
