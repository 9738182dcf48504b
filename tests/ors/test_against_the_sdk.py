"""The SDK's client and ours ask the same real servers the same questions, and every answer is compared.

Where the two differ on purpose, `test_faults.py` says how.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict
from typing import Any

import pytest
from openreward.api.environments.client import AsyncEnvironmentsAPI
from openreward.api.errors import ToolCallError, ToolFailed

from orl_codegen.ors import limits
from orl_codegen.ors.client import Client
from orl_codegen.ors.endpoint import Endpoint, endpoint
from orl_codegen.ors.failures import Failure, ToolRaised
from orl_codegen.ors.outputs import CallRefused
from orl_codegen.ors.session import Session
from orl_codegen.ors.transport import Pool
from tests.environments.answers import Contest, Riddle
from tests.environments.echo import Echo, MoodyEcho
from tests.environments.pictures import Dialogue, Gallery
from tests.environments.vault import Vault
from tests.support.servers import RunningServer, running

SECRETS = {"TOKEN": ("hush", [])}

CALLS: list[tuple[type, int, str, Any]] = [
    (Echo, 3, "echo", {"text": "word3"}),
    (Echo, 0, "echo", {"text": "wr\u00f6ng \u2028 \U0001f600"}),
    (Echo, 0, "echo", {"txt": 1}),
    (Echo, 0, "fly", {}),
    (Echo, 0, "step", {"number": 7}),
    (MoodyEcho, 3, "echo", {"text": "x"}),
    (MoodyEcho, 6, "echo", {"text": "x"}),
    (Riddle, 0, "guess", {"number": 1, "why-so": "because"}),
    (Riddle, 0, "guess", {"number": "many", "why-so": None}),
    (Riddle, 0, "submit", {}),
    (Gallery, 1, "look", {}),
    (Gallery, 1, "nothing", {}),
    (Vault, 0, "tell", {}),
]

ENVIRONMENTS = (Echo, MoodyEcho, Riddle, Contest, Gallery, Dialogue, Vault)


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running(*ENVIRONMENTS) as server:
        yield server


def name_of(environment: type) -> str:
    return environment.__name__.lower()


def both(
    server: RunningServer,
    environment: type,
    theirs: Callable[[Any], Awaitable[Any]],
    ours: Callable[[Endpoint, Pool], Awaitable[Any]],
) -> tuple[Any, Any]:
    """What each client makes of the same question; no session is left behind by either."""

    async def ask_theirs() -> Any:
        async with AsyncEnvironmentsAPI(server.url, None) as api:  # type: ignore[arg-type]
            return await theirs(api.get(name_of(environment), variant=name_of(environment)))

    async def ask_ours() -> Any:
        async with Pool() as pool:
            return await ours(endpoint(server.url, name_of(environment), secrets=SECRETS), pool)

    answers = asyncio.run(ask_theirs()), asyncio.run(ask_ours())
    assert server.wait_for_sessions(0) == 0
    return answers


def session_of(place: Endpoint, pool: Pool, index: int) -> Session:
    return Session(place, pool, {"split": "train", "index": index}, open_within=20, call_within=20)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_questions_about_an_environment(server: RunningServer, environment: type) -> None:
    """Splits, numbers of tasks, tasks and tools."""

    async def theirs(api: Any) -> Any:
        tools = await api.list_tools()
        tasks = await api.get_task_range("train", 0, 3)
        return {
            "splits": await api.list_splits(),
            "num_tasks": await api.num_tasks("train"),
            "task": (await api.get_task("train", 1)).task_spec,
            "range": [task.task_spec for task in tasks],
            "tools": [(tool.name, tool.description, tool.input_schema) for tool in tools],
        }

    async def ours(place: Endpoint, pool: Pool) -> Any:
        client = Client(place, pool)

        async def post(route: str, **body: Any) -> Any:
            return await client.post(place.path(route), {"split": "train", **body}, within=limits.ANSWER_WITHIN)

        tools = (await client.get(place.path("tools"), within=20))["tools"]
        return {
            "splits": [split["name"] for split in await client.get(place.path("splits"), within=20)],
            "num_tasks": (await post("num_tasks"))["num_tasks"],
            "task": (await post("task", index=1))["task"],
            "range": (await post("task_range", start=0, stop=3))["tasks"],
            "tools": [(tool["name"], tool["description"], tool["input_schema"]) for tool in tools],
        }

    expected, answered = both(server, environment, theirs, ours)
    assert answered == expected


@pytest.mark.parametrize("environment", [Echo, Gallery, Dialogue, Contest])
def test_what_a_session_says(server: RunningServer, environment: type) -> None:
    """The prompt as blocks and as messages, and the tools of the session."""

    async def theirs(api: Any) -> Any:
        async with api.session(split="train", index=1) as session:
            messages = await session.get_messages()
            return {
                "prompt": [_wire(asdict(block)) for block in await session.get_prompt()],
                "messages": [
                    (message.role, [_wire(asdict(block)) for block in message.blocks]) for message in messages
                ],
                "tools": [tool.name for tool in await session.list_tools()],
            }

    async def ours(place: Endpoint, pool: Pool) -> Any:
        session = session_of(place, pool, 1)
        try:
            await session.open()
            messages = await session.messages()
            return {
                "prompt": [_wire(block) for block in await session.prompt()],
                "messages": [(message["role"], [_wire(block) for block in message["blocks"]]) for message in messages],
                "tools": [tool["name"] for tool in (await session.ask("task_tools"))["tools"]],
            }
        finally:
            await session.close(limits.EXIT_WITHIN)

    expected, answered = both(server, environment, theirs, ours)
    assert answered == expected


@pytest.mark.parametrize(("environment", "index", "tool", "input"), CALLS)
def test_calls(server: RunningServer, environment: type, index: int, tool: str, input: Any) -> None:
    """Outputs, refusals with their reasons, and exceptions of the environment."""

    async def theirs(api: Any) -> Any:
        async with api.session(split="train", index=index, secrets=SECRETS) as session:
            try:
                output = await session.call_tool(tool, input)
            except ToolCallError as error:
                return "refused", error.reason, error.detail
            except ToolFailed as error:
                return "raised", str(error).partition(") ")[2]  # the SDK puts the session in front
            blocks = [_wire(asdict(block)) for block in output.blocks]
            return blocks, output.reward, output.metadata, output.finished

    async def ours(place: Endpoint, pool: Pool) -> Any:
        session = session_of(place, pool, index)
        try:
            await session.open()
            blocks, reward, metadata, finished = await session.call(tool, input)
            return [_wire(block) for block in blocks], reward, metadata, finished
        except CallRefused as refused:
            return "refused", refused.reason, str(refused)
        except ToolRaised as raised:
            return "raised", str(raised)
        finally:
            await session.close(limits.EXIT_WITHIN)

    expected, answered = both(server, environment, theirs, ours)
    assert answered == expected or _masked(expected) == answered


def test_scores_of_a_group(server: RunningServer) -> None:
    """One reward for each candidate."""
    texts = ["four", "4", "it is four"]

    async def theirs(api: Any) -> Any:
        from openreward.api.environments.types import GroupCandidate, Message, TextBlock

        candidates = [
            GroupCandidate(messages=[Message(role="assistant", blocks=[TextBlock(text=text)])]) for text in texts
        ]
        async with api.session(split="train", index=1) as session:
            return [score.reward for score in await session.score_group(candidates)]

    async def ours(place: Endpoint, pool: Pool) -> Any:
        session = session_of(place, pool, 1)
        try:
            await session.open()
            blocks = [[{"type": "text", "text": text}] for text in texts]
            return await session.score_group([{"messages": [{"role": "assistant", "blocks": one}]} for one in blocks])
        finally:
            await session.close(limits.EXIT_WITHIN)

    expected, answered = both(server, Contest, theirs, ours)
    assert answered == expected == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(("environment", "index"), [(Echo, 10_000), (MoodyEcho, 1)])
def test_sessions_that_cannot_be_opened(server: RunningServer, environment: type, index: int) -> None:
    """Both say what the server said."""

    async def theirs(api: Any) -> Any:
        try:
            async with api.session(split="train", index=index) as session:
                return await session.get_prompt()
        except Exception as error:
            return getattr(error, "status", None), getattr(error, "message", None)

    async def ours(place: Endpoint, pool: Pool) -> Any:
        session = session_of(place, pool, index)
        try:
            await session.open()
            return await session.prompt()
        except Failure as failure:
            return getattr(failure, "status", None), getattr(failure, "message", None)
        finally:
            await session.close(limits.EXIT_WITHIN)

    expected, answered = both(server, environment, theirs, ours)
    assert answered == expected


def _wire(block: Any) -> Any:
    """A block without the keys that one of the two spells differently or leaves out."""
    return {"mimeType" if key == "mime_type" else key: value for key, value in block.items() if value is not None}


def _masked(answer: Any) -> Any:
    """The SDK's answer with the secret masked, as ours has it wherever the server quotes it."""
    if isinstance(answer, str):
        return answer.replace("hush", "***")
    if isinstance(answer, (list, tuple)):
        return type(answer)(map(_masked, answer))
    return {key: _masked(part) for key, part in answer.items()} if isinstance(answer, dict) else answer
