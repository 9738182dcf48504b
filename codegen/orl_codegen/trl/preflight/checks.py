"""The checks: each looks at a setting, and says what it found. docs/preflight.md has a heading for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from orl_codegen.errors import printable
from orl_codegen.trl.preflight.diagnosis import Diagnosis, Verdict
from orl_codegen.trl.preflight.server_mode import takes_by_own_count
from orl_codegen.trl.preflight.setting import Setting
from orl_codegen.trl.preflight.tool_calls import USER, unread_calls

Found = tuple[Verdict, str]


def diagnose(setting: Setting, checks: Mapping[str, Callable[[Setting], Found]] | None = None) -> Iterator[Diagnosis]:
    """What each check finds. One that cannot be made is a warning: it says nothing about the training."""
    for name, check in (CHECKS if checks is None else checks).items():
        try:
            yield Diagnosis(name, *check(setting))
        except Exception as error:  # templates and tokenizers are the user's, and may raise anything
            reason = printable(f"{type(error).__name__}: {error}")
            yield Diagnosis(name, "warning", f"This could not be checked: {reason}.")


def _server_mode(setting: Setting) -> Found:
    if setting.vllm_mode != "server" or setting.processes < 2:
        return "ok", "The processes do not share the completions of a vLLM server."
    if not setting.tools:
        return "ok", "There are no tools, so each rollout is one turn, and all processes ask for as many completions."
    if not takes_by_own_count(setting.generate or _trl_generate()):
        return "ok", "This version of TRL hands each rollout its own completion."
    return "error", (
        f'With vllm_mode="server" and {setting.processes} processes, this version of TRL hands rollouts the '
        "completions of others: after a tool call each process takes its share of all completions by its own number of "
        "rollouts, which differs between processes as soon as some rollouts have ended. Use "
        'vllm_mode="colocate", or AsyncGRPOTrainer, or train in one process.'
    )


def _trl_generate() -> Callable[..., object]:
    from trl.generation.vllm_generation import VLLMGeneration

    generate: Callable[..., object] = VLLMGeneration.generate
    return generate


def _columns(setting: Setting) -> Found:
    if setting.keeps_columns:
        return "ok", "Each rollout is told which task it plays."
    return "error", (
        "With remove_unused_columns=True the trainer takes the columns task_index and split away, and every rollout "
        "plays the first task. Leave it at False, which is the default of GRPOConfig."
    )


def _sessions(setting: Setting) -> Found:
    # A training step that has too few sessions says so itself, at once; an evaluation comes later.
    rollouts, limit = setting.evaluated, setting.max_sessions
    if rollouts <= limit:
        return "ok", "No rollout of an evaluation has to wait for the session of another."
    text = f"An evaluation plays {rollouts} rollouts at once in a process, with max_sessions={limit}. "
    if setting.sessions_from_reset:
        return "error", text + (
            f"None of them ends before all have begun. Set per_device_eval_batch_size to {limit} at most, or raise "
            "max_sessions."
        )
    return "warning", text + (
        'That goes well only where sessions end in time: with prompts="dataset" if the first call ends every episode, '
        "with several environments if few rollouts of a batch are in this one. Otherwise raise max_sessions."
    )


def _tool_calls(setting: Setting) -> Found:
    unread = [printable(name) for name in unread_calls(setting)]
    if not unread:
        return "ok", f"TRL reads a call of each of the {len(setting.tools)} tools as the chat template writes it."
    if len(unread) == len(setting.tools):
        return "error", (
            "TRL does not read the calls that the chat template writes, of no tool: it takes them for plain text, and "
            "no tool is ever called. Check response_template (or response_schema) of the tokenizer and "
            "chat_template_kwargs; or the names of the tools, if this template can carry no such name "
            f"({', '.join(unread[:5])})."
        )
    return "warning", (
        f"TRL does not read calls of {', '.join(unread)} as the chat template writes them, and takes them for plain "
        "text or for calls of another tool. Rename these tools in the environment, or use a model whose template can "
        "carry their names."
    )


def _prompt_length(setting: Setting) -> Found:
    longest = max(setting.prompt_length(prompt) for prompt in setting.prompts or [[USER]])
    if setting.prompts:
        text = f"The longest prompt that is known has {longest} tokens with the tools and the chat template"
    else:
        text = f"The tools, without any prompt, have {longest} tokens in the chat template"
    if setting.context is None:
        return "ok", f"{text}; what the server takes is not known here."
    text += f", of {setting.context} that the model takes"
    if longest >= setting.context:
        fails = bool(setting.vllm_mode) or not setting.prompts
        consequence = (
            ": vLLM refuses such a prompt, which ends the training."
            if setting.vllm_mode
            else ": TRL drops the result of every tool call after such a prompt."
        )
        return ("error" if fails else "warning"), f"{text}{consequence} {SHORTER}"
    room = setting.context - longest
    if setting.lockstep and room < setting.max_completion_length:
        return "warning", (
            f"{text}. That leaves {room} for a completion, not max_completion_length={setting.max_completion_length}. "
            f"{SHORTER}"
        )
    return "ok", f"{text}."


SHORTER = (
    "Raise vllm_max_model_length if it is set, leave such tasks out (`indices=`), offer fewer tools, or take a model "
    "with a longer context."
)


def _tool_output(setting: Setting) -> Found:
    limit, room = setting.max_tool_output, setting.max_completion_length
    if not setting.lockstep:
        return "ok", "AsyncGRPOTrainer counts tool results to the context of vLLM's server, not to the completion."
    if not setting.tools:
        return "ok", "There are no tools."
    if limit is None:
        return "ok", (
            f"Nothing limits tool results. One that takes a completion beyond max_completion_length={room} ends its "
            "rollout, and the model never sees it; this is logged when it happens. max_tool_output= cuts long results."
        )
    tokens = round(limit / _characters_a_token(setting))
    text = f"max_tool_output={limit} is about {tokens} tokens, of max_completion_length={room}"
    if tokens < room:
        return "ok", f"{text}."
    return "warning", (
        f"{text}: a single long result does not fit, so TRL drops it and ends the rollout. Set max_tool_output to a "
        f"part of {round(room * _characters_a_token(setting))} characters, or raise max_completion_length."
    )


def _characters_a_token(setting: Setting) -> float:
    """Measured on the texts of the tools, as the template shows them."""
    text = setting.rendered([USER], setting.tool_schemas)
    return len(text) / max(1, len(setting.ids(text)))


CHECKS: Mapping[str, Callable[[Setting], Found]] = {
    "vLLM server": _server_mode,
    "dataset columns": _columns,
    "max_sessions": _sessions,
    "tool calls": _tool_calls,
    "prompt length": _prompt_length,
    "tool results": _tool_output,
}
"""Each check with its name: a heading of docs/preflight.md."""

PROMPT_LENGTH = {"prompt length": _prompt_length}
"""The check that is made once more when a prompt is known."""
