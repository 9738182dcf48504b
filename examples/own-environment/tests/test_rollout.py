"""A rollout as a trainer plays it: through the generated adapter, against a server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from generated.till import Till

from orl_codegen import OpenRewardSpec, serve


@pytest.fixture(scope="module")
def spec() -> Iterator[OpenRewardSpec[Till]]:
    """What a trainer would be given."""
    with serve("till.py:Till") as url:
        yield OpenRewardSpec(Till, base_url=url)


def test_a_rollout(spec: OpenRewardSpec[Till]) -> None:
    """The price is looked up, the change is right, and the environment's reward arrives."""
    rollout = spec.environment_factory()
    assert rollout.reset(task_index=1) == "A customer buys coffee and pays 500 cents."
    assert rollout.look_up_price(item="coffee") == "250"
    assert rollout.give_change(coins=[200, 50]) == "Thank you."
    assert (rollout.reward, rollout.finished) == (1.0, True)


def test_a_call_that_does_not_fit(spec: OpenRewardSpec[Till]) -> None:
    """The model is told what was wrong with a call, and the episode goes on."""
    rollout = spec.environment_factory()
    rollout.reset(task_index=0)
    assert "tea" in str(rollout.look_up_price(item="soup"))  # type: ignore[arg-type]
    assert (rollout.reward, rollout.finished, rollout.failure) == (None, False, None)
