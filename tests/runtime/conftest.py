"""Fixtures of the run time's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orl_codegen.sessions.loop import close_sessions
from tests.environments.answers import Contest, Quiz, Riddle
from tests.environments.echo import Echo, MoodyEcho, SlowEcho
from tests.environments.pictures import Dialogue, Gallery
from tests.environments.vault import Vault
from tests.support.servers import RunningServer, running


@pytest.fixture(scope="session")
def shared_server() -> Iterator[RunningServer]:
    with running(Echo, SlowEcho, MoodyEcho, Quiz, Riddle, Contest, Gallery, Dialogue, Vault) as server:
        yield server


@pytest.fixture
def server(shared_server: RunningServer) -> Iterator[RunningServer]:
    """One server with every environment of these tests; it must have no session open when a test ends."""
    shared_server.requests.clear()
    yield shared_server
    assert shared_server.wait_for_sessions(0) == 0
    close_sessions()  # waits for the last request of those that are closing, which is not the next test's
