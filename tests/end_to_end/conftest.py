"""One server of environments, one tiny model that knows what is played in them, and the server of that model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from inspect_ai.log import EvalLog

from orl_codegen.inspect.scripted import scripted
from tests.end_to_end.rollouts import ALL, SERVED, played, script, to_learn
from tests.support.servers import RunningServer, running
from tests.support.tiny_models import Served, one_thread, teach, transformers_serve


@pytest.fixture(scope="package", autouse=True)
def _on_one_thread() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture(scope="package")
def environments() -> Iterator[RunningServer]:
    with running(*SERVED) as server:
        yield server


@pytest.fixture
def server(environments: RunningServer) -> Iterator[RunningServer]:
    """It must have no session open when a test ends."""
    yield environments
    assert environments.wait_for_sessions(0) == 0


@pytest.fixture(scope="package")
def mocked(environments: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> list[EvalLog]:
    """Everything played by a mock model."""
    folder = tmp_path_factory.mktemp("mocked")
    return [played(what, environments.url, scripted(script(what, folder)), folder) for what in ALL]


@pytest.fixture(scope="package")
def weights(mocked: list[EvalLog], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny model that has learned what the mock model wrote."""
    folder = tmp_path_factory.mktemp("tiny-model")
    teach([each for log, what in zip(mocked, ALL, strict=True) for each in to_learn(log, what)], folder)
    return folder


@pytest.fixture(scope="package")
def model_server(weights: Path) -> Iterator[Served]:
    with transformers_serve(weights) as served:
        yield served
