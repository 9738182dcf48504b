"""docs/other-trainers.md: its code plays rollouts of the demo in the loops of others."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from orl_codegen import OpenRewardSpec, tools
from orl_codegen.environments.kitchen import Kitchen as KitchenEnvironment
from tests.docs.blocks import blocks
from tests.support.models import chat_server, tool_call
from tests.support.servers import RunningServer, running

SERVED = {"dish": "risotto", "ingredients": ["rice", "stock"]}


@pytest.fixture(scope="module")
def kitchen() -> Iterator[RunningServer]:
    with running(KitchenEnvironment) as server:
        yield server
        assert server.wait_for_sessions(0) == 0


def code(title: str, server: RunningServer | None = None) -> dict[str, Any]:
    """Execute a block of the page, and return what it defines."""
    (block,) = [each for each in blocks("other-trainers.md", "python") if each.title == title]
    source = block.source.replace("http://127.0.0.1:8080", server.url if server else "")
    defined: dict[str, Any] = {"__name__": title.removesuffix(".py")}
    exec(compile(source, title, "exec", dont_inherit=True), defined)
    return defined


def test_the_loop_of_the_page(kitchen: RunningServer) -> None:
    """Prompt, results and reward, as the page prints them."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code("loop.py", kitchen)
    prompt, found, served, reward = printed.getvalue().splitlines()
    assert prompt == "A guest wants something italian, ready in 40 minutes. Serve a dish that fits. 5"
    assert (found, served, reward) == ('["risotto"]', "The guest tastes it.", "0.33")


def called(name: str, **arguments: Any) -> str:
    """A call in the form of Hermes and Qwen."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


@pytest.mark.filterwarnings("ignore")
def test_a_rollout_in_skyrl(kitchen: RunningServer) -> None:
    """Its environment gives the prompt, the results of calls, what is wrong with a call, and the reward at the end."""
    made = code("skyrl_kitchen.py")
    environment = made["KitchenEnv"]({"base_url": kitchen.url}, {"task_index": 0, "split": "test"})
    messages, _ = environment.init([{"role": "system", "content": "Cook."}])
    assert messages[-1]["content"].startswith("A guest wants something italian")
    first = environment.step("Hm. " + called("search-recipes", query="ris") + "<tool_call>{oops}</tool_call>")
    assert first["observations"][0] == {"role": "tool", "content": '["risotto"]'} and not first["done"]
    assert first["observations"][1]["content"].startswith("The call is not JSON")
    last = environment.step(called("serve_dish", **SERVED))
    assert (last["done"], last["reward"]) == (True, 0.67)
    environment.close()


@pytest.mark.filterwarnings("ignore")
def test_rollouts_in_verifiers(kitchen: RunningServer) -> None:
    """Its environment shows the model the tools of training, answers its calls, and gives the environment's reward."""
    from openai import AsyncOpenAI

    from generated.kitchen import Kitchen

    turns = [tool_call("search-recipes", query="ris"), tool_call("serve_dish", **SERVED)]
    environment = code("verifiers_kitchen.py")["KitchenEnv"](
        OpenRewardSpec(Kitchen, base_url=kitchen.url, split="test"), max_turns=5
    )
    with chat_server(lambda body: turns[sum(each["role"] == "assistant" for each in body["messages"])]) as (url, asked):

        async def played() -> Any:
            async with AsyncOpenAI(base_url=url, api_key="none") as client:
                return await environment.evaluate(client, "tiny", num_examples=1, rollouts_per_example=2)

        results = asyncio.run(played())
    assert [output["reward"] for output in results["outputs"]] == [0.67, 0.67]
    assert asked[0]["tools"] == tools(Kitchen)
    assert [message["role"] for message in asked[-1]["messages"]] == ["user", "assistant", "tool"]
