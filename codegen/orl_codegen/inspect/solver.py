"""The solver: the model plays one rollout in a session of the environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inspect_ai.model import ChatMessageUser, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolInfo

from orl_codegen.episodes.episode import Episode
from orl_codegen.errors import SessionError
from orl_codegen.inspect.rollout import SAMPLE, keep
from orl_codegen.inspect.tooling import carry_out, content_of, showing_exactly, tool_infos
from orl_codegen.trl.spec import OpenRewardSpec


@solver
def rollout(spec: OpenRewardSpec[Any], max_turns: int) -> Solver:
    """Plays a rollout: prompt, turns of the model with their calls, the last message to the terminal tool.

    Args:
        spec: The environment.
        max_turns: How many messages the model may write. The calls of the last one are made.
    """

    shown = tool_infos(spec._adapter)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.store.set(SAMPLE, state.sample_id)
        async with Episode(spec) as episode:
            prompt = await episode.areset(task_index=state.metadata["task_index"], split=state.metadata["split"])
            state.messages = [ChatMessageUser(content=content_of(prompt))]
            before: list[int] = []
            try:
                while len(before) < max_turns and not _over(episode):
                    before.append(len(episode.adapter.rewards))
                    if not await _turn(state, episode, shown):
                        break
                await episode.ascore(state.output.completion)
            finally:
                keep(state.store, episode, before)
            if episode.adapter.failure is not None:
                raise SessionError(episode.adapter.failure)
        return state

    return solve


def _over(episode: Episode[Any]) -> bool:
    return episode.adapter.finished or episode.adapter.failure is not None


async def _turn(state: TaskState, episode: Episode[Any], shown: Sequence[ToolInfo]) -> bool:
    """One message of the model, and its calls, one after another. Returns whether it made any."""
    state.output = await showing_exactly(get_model()).generate(state.messages, tools=shown)
    state.messages.append(state.output.message)
    written = [*state.messages]
    calls = state.output.message.tool_calls or []
    for call in calls:
        state.messages.extend(await carry_out(episode, call, written))
    return bool(calls)
