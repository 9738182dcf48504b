"""What every part of the tests starts from."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest

# Nothing that a developer's shell sets may change a test, and no library may look for news on the network.
for name in ("OPENREWARD_API_KEY", "OPENREWARD_URL", "OPENREWARD_API_URL", "OPENREWARD_SESSION_URL"):
    os.environ.pop(name, None)
os.environ["OPENREWARD_DISABLE_UPDATE_CHECK"] = "1"
os.environ["OPENREWARD_LOG_LEVEL"] = "CRITICAL"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"


LEVEL = logging.getLogger().level


@pytest.fixture(autouse=True)
def _logging_is_as_it_was() -> Iterator[None]:
    """An evaluation of Inspect, in a test or in a fixture, sets the level of the root logger and gives it a handler."""
    _restore_logging()
    yield
    _restore_logging()


def _restore_logging() -> None:
    root = logging.getLogger()
    root.setLevel(LEVEL)
    for handler in [handler for handler in root.handlers if type(handler).__module__.startswith("inspect_ai")]:
        root.removeHandler(handler)
