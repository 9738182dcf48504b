"""Fixtures that every part of the tests shares."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.servers import RunningServer, running

# Nothing that a developer's shell sets may change a test, and no library may look for news on the network.
for name in ("OPENREWARD_API_KEY", "OPENREWARD_URL", "OPENREWARD_API_URL", "OPENREWARD_SESSION_URL"):
    os.environ.pop(name, None)
os.environ["OPENREWARD_DISABLE_UPDATE_CHECK"] = "1"
os.environ["OPENREWARD_LOG_LEVEL"] = "CRITICAL"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"


@pytest.fixture(scope="session")
def kitchen() -> Iterator[RunningServer]:
    """The demo environment on a server of this process."""
    from orl_codegen.demo import Kitchen

    with running(Kitchen) as server:
        yield server
