"""Prompts that stand in the dataset: fetched once, turned into TRL's messages, compared with what each session says."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from orl_codegen.errors import SessionError
from orl_codegen.runtime.blocks import Images, decoded, rendered, text_of
from orl_codegen.runtime.plan import Plan
from orl_codegen.runtime.prompt_digest import digest_of
from orl_codegen.sessions.loop import event_loop
from orl_codegen.trl.progress import advancing

logger = logging.getLogger(__name__)

JSON = dict[str, Any]

AT_ONCE = 16  # sessions that are open at the same time while prompts are fetched


def fetch(plan: Plan, indices: Sequence[int], progress: bool | None = None) -> list[list[JSON] | None]:
    """The messages of each task, as the wire has them; None where the plan lets the training go on without the task.

    Shows how far it is: on a terminal by default, always with `progress=True`, never with False.

    Raises:
        SessionError: A session could not be opened, or none of them.
    """
    with advancing("Fetching prompts", len(indices), progress) as advance:
        return event_loop().run(_fetch(plan, indices, advance))


async def _fetch(plan: Plan, indices: Sequence[int], advance: Callable[[], None]) -> list[list[JSON] | None]:
    free = asyncio.Semaphore(AT_ONCE)
    failures: list[SessionError] = []

    async def messages(index: int) -> list[JSON] | None:
        async with free:
            session = plan.open(plan.task(index), messages=True)
            try:
                return await asyncio.wrap_future(session.opening)
            except SessionError as error:
                failures.append(error)
                if plan.on_reset_failure == "raise" or len(failures) == len(indices):
                    raise
                return None
            finally:
                await session.close()
                advance()

    tasks = [asyncio.ensure_future(messages(index)) for index in indices]
    try:
        fetched = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()  # after an error, those that are left
    if failures:
        logger.warning("%d of %d tasks were left out of the dataset. %s", len(failures), len(indices), failures[0])
    return fetched


def rows(prompts: Sequence[list[JSON]], images: Images) -> list[JSON]:
    """For each prompt, the columns `prompt` and `prompt_digest`, and `images` where any of them holds one.

    TRL fills the images of the column in where the messages say `{"type": "image"}`.
    """
    if images != "pil" or not any(_pictures(messages) for messages in prompts):
        shown: Images = "placeholder" if images == "pil" else images
        return [{"prompt": _as_text(messages, shown), "prompt_digest": digest_of(messages)} for messages in prompts]
    return [_with_images(messages) for messages in prompts]


def _as_text(messages: list[JSON], images: Images) -> list[JSON]:
    return [message | {"content": str(rendered(message["content"], images))} for message in _trl_messages(messages)]


def _with_images(messages: list[JSON]) -> JSON:
    prompt, pictures = [], []
    for message in _trl_messages(messages):
        content = []
        for block in message["content"]:
            picture = block.get("type") == "image" and message["role"] != "tool"  # TRL fills in none in those
            part = decoded(block) if picture else {"type": "text", "text": str(rendered([block], "placeholder"))}
            pictures += [part.pop("image")] if part["type"] == "image" else []
            content.append(part)
        prompt.append(message | {"content": content})
    return {"prompt": prompt, "prompt_digest": digest_of(messages), "images": pictures}


def _pictures(messages: list[JSON]) -> bool:
    return any(block.get("type") == "image" for message in messages for block in _blocks(message))


def _trl_messages(messages: list[JSON]) -> list[JSON]:
    """The messages with the roles and keys of TRL; their content is still made of blocks."""
    names: dict[str, str] = {}
    return [turned for message in messages for turned in _turned(message, names)]


def _turned(message: Mapping[str, Any], names: dict[str, str]) -> Iterator[JSON]:
    """One message of the wire. In TRL a tool's result is a message of its own, and calls are not in the content."""
    by_type: dict[str, list[JSON]] = {"tool_result": [], "tool_call": [], "reasoning": []}
    content: list[JSON] = []
    for block in _blocks(message):
        by_type.get(str(block.get("type")), content).append(block)
    for result in by_type["tool_result"]:
        call = str(result.get("tool_call_id"))
        yield {"role": "tool", "name": names.get(call, ""), "content": _blocks(result)}
    turned: JSON = {"role": str(message.get("role")), "content": content}
    if by_type["reasoning"]:
        turned["reasoning_content"] = text_of(by_type["reasoning"])
    if by_type["tool_call"]:
        names.update((str(call.get("id")), str(call.get("name"))) for call in by_type["tool_call"])
        turned["tool_calls"] = [_call(block) for block in by_type["tool_call"]]
    if content or len(turned) > 2 or not by_type["tool_result"]:
        yield turned


def _blocks(holder: Mapping[str, Any]) -> list[JSON]:
    """The blocks of a message or of a tool's result, whatever the server put there."""
    blocks = holder.get("blocks")
    return [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []


def _call(block: Mapping[str, Any]) -> JSON:
    # As text: Arrow would give every call the keys of all the others.
    return {
        "type": "function",
        "function": {"name": str(block.get("name")), "arguments": json.dumps(block.get("input"))},
    }
