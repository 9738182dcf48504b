"""An environment that lacks a secret: the error names those that the platform says it requires."""

from __future__ import annotations

from typing import Any

import pytest
from openreward import OpenReward
from openreward.environments import Environment, TextBlock, ToolOutput, tool

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import ServerError, SessionError, UsageError
from orl_codegen.generator.discovery.required_secrets import required_secrets
from orl_codegen.generator.options import Options
from orl_codegen.generator.target import parse_target
from orl_codegen.ors import limits
from orl_codegen.runtime import Environment as Facts
from tests.runtime import adapters
from tests.support.discovery import take_snapshot
from tests.support.platform import KEY, platform
from tests.support.servers import dead_url, running

ROUTE = "/v1/environments/Owner/Name/required-secrets"


class Guarded(Environment):
    """Does not open without its secrets."""

    def __init__(self, task_spec: Any = {}, secrets: dict[str, str] = {}) -> None:  # noqa: B006 - as the base class
        super().__init__(task_spec, secrets)
        if not {"OPENAI_API_KEY", "TAVILY_API_KEY"} <= secrets.keys():
            raise ValueError("no credentials")

    @classmethod
    def list_splits(cls) -> list[str]:
        """One split."""
        return ["train"]

    @classmethod
    def list_tasks(cls, split: str) -> list[Any]:
        """One task."""
        return [{}]

    def get_prompt(self) -> list[TextBlock]:
        """No words."""
        return [TextBlock(text="go")]

    @tool
    async def wait(self) -> ToolOutput:
        """Wait."""
        return ToolOutput(blocks=[])


class OfCatalog(adapters.Echo):
    _environment = Facts(target="Owner/Name", variant="guarded")


def test_the_question_is_that_of_the_sdk() -> None:
    """Path and key; and the answer is the same list."""
    with platform(answers={ROUTE: {"secrets": ["OPENAI_API_KEY", "b"]}}) as there:
        theirs = OpenReward().environments.get("Owner/Name").list_required_secrets()
        ours = required_secrets(parse_target("Owner/Name"), Options())
        assert [*ours] == theirs == ["OPENAI_API_KEY", "b"]
        sdk, mine = there.to(ROUTE)
    assert (mine.method, mine.query, mine.body) == (sdk.method, sdk.query, sdk.body)
    assert mine.headers["x-api-key"] == sdk.headers["x-api-key"] == KEY


def test_generating_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that --secret does not pass, in the error of the task that could not be opened."""
    monkeypatch.setenv("MY_KEY", "sk-0123456789")
    with platform(Guarded, answers={ROUTE: {"secrets": ["OPENAI_API_KEY", "TAVILY_API_KEY"]}}) as there:
        for secrets, told in [
            ({}, "requires the secrets OPENAI_API_KEY, TAVILY_API_KEY, which were not passed"),
            ({"OPENAI_API_KEY": "MY_KEY"}, "requires the secret TAVILY_API_KEY, which was not passed"),
        ]:
            with pytest.raises(ServerError, match=f"no credentials.*{told}. Pass each with --secret KEY=ENVVAR"):
                take_snapshot(parse_target("Owner/Name"), Options(secrets=secrets))
        assert there.server.wait_for_sessions(0) == 0


def test_training_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the error of the session that could not be opened."""
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.01)
    with platform(Guarded, answers={ROUTE: {"secrets": ["OPENAI_API_KEY"]}}):
        rollout = OpenRewardSpec(OfCatalog).environment_factory()
        with pytest.raises(SessionError, match="the secret OPENAI_API_KEY, which was not passed"):
            rollout.reset()


@pytest.mark.parametrize("answer", [404, 500, {"secrets": None}, {"secrets": ["\x1b[2Jevil"]}, ["A"]])
def test_an_error_stays_what_it_was_where_the_platform_does_not_say(answer: Any) -> None:
    """Nothing is added, least of all a text that is not a name; asked for itself, the question fails."""
    with platform(Guarded, answers={ROUTE: answer}):
        with pytest.raises(ServerError) as raised:
            take_snapshot(parse_target("Owner/Name"), Options())
        assert "no credentials" in str(raised.value) and "The environment requires" not in str(raised.value)
        with pytest.raises(ServerError, match="does not say which secrets Owner/Name requires") as raised:
            required_secrets(parse_target("Owner/Name"), Options())
        assert "\x1b" not in str(raised.value)


def test_only_the_platform_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of one's own is not asked, and the key stays at home; nor does anything work without a key."""
    with platform(answers={ROUTE: {"secrets": ["OPENAI_API_KEY"]}}) as there, running(Guarded) as server:
        assert required_secrets(parse_target(server.url), Options()) == ()
        with pytest.raises(ServerError, match="no credentials"):
            take_snapshot(parse_target(server.url), Options())
        assert not there.sent and KEY not in str(server.requests)
    monkeypatch.setenv("OPENREWARD_API_URL", dead_url())
    with pytest.raises(UsageError, match="OPENREWARD_API_KEY"):
        required_secrets(parse_target("Owner/Name"), Options())
