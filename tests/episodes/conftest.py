"""One server for all episodes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orl_codegen.sessions.loop import close_sessions
from tests.environments.answers import Quiz, Riddle
from tests.environments.echo import Echo, MoodyEcho
from tests.environments.pictures import Gallery
from tests.support.servers import RunningServer, running


@pytest.fixture(scope="session")
def served() -> Iterator[RunningServer]:
    with running(Echo, MoodyEcho, Quiz, Riddle, Gallery) as server:
        yield server


@pytest.fixture
def server(served: RunningServer) -> Iterator[RunningServer]:
    """It must have no session open when a test ends."""
    yield served
    assert served.wait_for_sessions(0) == 0
    close_sessions()
