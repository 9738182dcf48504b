"""`env_overrides` of a session: what travels is what the SDK sends, and its values are kept like secrets."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from openreward.api.environments.client import AsyncEnvironmentsAPI
from openreward.environments import Server

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import SessionError, UsageError
from orl_codegen.ors import limits
from orl_codegen.ors.overrides import OPEN_TO_ALL
from orl_codegen.runtime import Environment as Facts
from tests.environments.echo import Echo
from tests.runtime import adapters
from tests.support.applications import answering
from tests.support.platform import KEY, platform
from tests.support.servers import running, serving_application

OVERRIDES = {"OPENAI_API_KEY": "sk-override-0123", "MODE": "f\u00e4st"}


class OfCatalog(adapters.Echo):
    _environment = Facts(target="Owner/Name", variant="echo")


def play(spec: OpenRewardSpec[Any]) -> Any:
    rollout = spec.environment_factory()
    rollout.reset(task_index=1)
    rollout._close()
    return rollout


def test_what_is_sent_is_what_the_sdk_sends() -> None:
    """In the body of the request that creates the session, and in that alone; nothing where there are none."""

    async def theirs(url: str) -> None:
        async with AsyncEnvironmentsAPI(url, KEY, api_base_url=url) as api:
            for overrides in (OVERRIDES, None):
                async with api.get("Owner/Name").session(split="train", index=1, env_overrides=overrides):
                    pass

    with platform(Echo) as there:
        asyncio.run(theirs(there.server.url))
        for overrides in (OVERRIDES, None):
            play(OpenRewardSpec(OfCatalog, env_overrides=overrides, verify=False))
        assert there.server.wait_for_sessions(0) == 0
        assert len(OpenRewardSpec(OfCatalog, env_overrides=OVERRIDES, num_tasks=1).train_dataset) == 1
        bodies = [sent.body for sent in there.to("/create_session")]
    assert bodies == [{"env": OVERRIDES}, {}, {"env": OVERRIDES}, {}, {}]


def test_values_are_masked_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    """A server that repeats one gets it neither to the model nor into a repr; a server of one's own is warned of."""

    prompt = json.dumps([{"type": "text", "text": f"key {OVERRIDES['MODE']}!"}]).encode()
    with serving_application(answering({"/echo/prompt": prompt}, Server([Echo]).app)) as server:
        spec = OpenRewardSpec(adapters.Echo, base_url=server.url, env_overrides=OVERRIDES, verify=False)
        rollout = spec.environment_factory()
        assert rollout.reset(task_index=1) == "key ***!"
        rollout._close()
        assert not [value for value in OVERRIDES.values() if value in repr(vars(spec))]
    assert [record.message[:39] for record in caplog.records if "env_overrides" in record.message] == [
        "env_overrides are sent to the server of"
    ]


def test_a_refusal_says_what_others_may_override(monkeypatch: pytest.MonkeyPatch) -> None:
    """The platform answers with 400 for any other variable, of whoever is not the owner."""
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.01)
    with platform(Echo, answers={"/create_session": 400}):
        with pytest.raises(SessionError, match="Unless the environment is yours, leave MODE out of env_overrides"):
            play(OpenRewardSpec(OfCatalog, env_overrides=OVERRIDES))
        with pytest.raises(SessionError) as raised:
            play(OpenRewardSpec(OfCatalog, env_overrides=dict.fromkeys(OPEN_TO_ALL, "x")))
        assert "env_overrides" not in str(raised.value)


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ("MODE=fast", "is not a mapping"),
        ({"N": 7}, "The value of N in env_overrides is not text"),
        ({"N": "hush\0hush"}, "The value of N in env_overrides is not text"),
        ({"": "x"}, "which is not the name of a variable"),
        ({"KEY=sk-hush": ""}, "which is not the name of a variable"),
        ({3: "x"}, "has 3, which is not the name of a variable"),
    ],
)
def test_bad_overrides(overrides: Any, told: str) -> None:
    """Refused with one paragraph that shows no value, not even one that stands in the place of a name."""
    with pytest.raises(UsageError, match=told) as raised:
        OpenRewardSpec(adapters.Echo, base_url="http://127.0.0.1:1", env_overrides=overrides)
    assert "hush" not in str(raised.value)


def test_prompts_are_not_shared_across_other_variables(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A prompt that is kept belongs to the names of the variables that it was fetched with."""
    fetched = []
    with running(Echo) as server:
        for overrides in (None, None, {"A": "1"}, {"A": "2"}):
            spec = OpenRewardSpec(
                adapters.Echo,
                base_url=server.url,
                num_tasks=1,
                prompts="dataset",
                cache_dir=tmp_path,
                env_overrides=overrides,
            )
            assert len(spec.train_dataset) == 1
            fetched.append(server.paths().count("POST /create"))
    assert fetched == [1, 1, 2, 2]
