"""The log of rollouts that the platform keeps, as `log_rollouts=` asks for it: what of a rollout goes into it."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orl_codegen.ors.endpoint import Endpoint, platform_api
from orl_codegen.ors.outputs import Output
from orl_codegen.ors.rollout_events import (
    LoggedRun,
    MessageType,
    begin_event,
    message_event,
    new_id,
    task_event,
    without_none,
)
from orl_codegen.runtime.blocks import rendered
from orl_codegen.runtime.vocabulary import Environment
from orl_codegen.sessions.loop import EventLoop, event_loop
from orl_codegen.sessions.uploads import Upload, Uploads
from orl_codegen.sessions.witness import Witness

JSON = dict[str, Any]

ROLES: Mapping[str, MessageType] = {"system": "system_message", "assistant": "assistant_message"}


class RolloutLog:
    """Where the rollouts of one environment are logged. It pickles: each process has a queue of its own.

    Args:
        run: The run that they are logged under.
        environment: What the adapter records about its environment.
        endpoint: Where the environment is.

    Raises:
        UsageError: There is no key of the platform.
    """

    def __init__(self, run: LoggedRun, environment: Environment, endpoint: Endpoint) -> None:
        self.run, self.environment, self.endpoint = run, environment, endpoint
        api_url, key = platform_api(endpoint)
        self._api = replace(endpoint, api_url=api_url, api_key=key)
        self._uploads: dict[EventLoop, Uploads] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_uploads": {}}

    def witness(self, task: Mapping[str, Any]) -> LoggedRollout:
        """What logs the rollout of a task."""
        return LoggedRollout(self, task)

    def add(self, upload: Upload, event: JSON) -> None:
        """Have an event uploaded; to be called on the event loop."""
        loop = event_loop()
        if loop not in self._uploads:
            self._uploads[loop] = Uploads(self._api, self.endpoint.api_url is not None, loop)
        self._uploads[loop].add(upload, event)

    def masked(self, value: Any) -> Any:
        """JSON without the key of the environment, its secrets, and the key of the platform; masked in place."""
        return self._api.mask.json(self.endpoint.mask.json(value))

    def kept(self, value: Mapping[str, Any] | None) -> JSON | None:
        """An object of the environment as it goes into the log; None where it is nested too deeply."""
        try:
            return None if value is None else without_none(self.masked(copy.deepcopy(dict(value))))
        except RecursionError:
            return None


class LoggedRollout(Witness):
    """Logs one rollout."""

    def __init__(self, log: RolloutLog, task: Mapping[str, Any]) -> None:
        self._log, self._task = log, dict(task)
        self._upload: Upload | None = None
        self._messages = 0

    def opened(self, messages: list[JSON]) -> None:
        """The messages of the prompt."""
        for part in messages:
            self._say(ROLES.get(part["role"], "user_message"), _text(part["blocks"]))

    def answered(self, name: str, input: JSON, output: Output) -> None:
        """A call and its result; the model's last message, where a terminal tool takes it."""
        outcome = {"reward": output.reward, "isFinished": output.finished}
        metadata, text = self._log.kept(output.metadata) or {}, _text(output.blocks)
        terminal = self._log.environment.terminal_tool
        if terminal is not None and name == terminal.name:
            said = str(input.get(terminal.arg, "")) if terminal.arg else ""
            result = {"terminal_tool": name, "output": self._log.masked(text), "metadata": metadata}
            self._say("assistant_message", said, **outcome, metadata=result)
        else:
            self._say("tool_result", text, callId=self._call(name, input), **outcome, metadata=metadata)

    def refused(self, name: str, input: JSON, reason: str) -> None:
        """A call, and why it had no result."""
        self._say("tool_result", reason, callId=self._call(name, input), metadata={"error": True})

    def failed(self, reason: str) -> None:
        """The end of the rollout, which its environment did not see."""
        self._say("system_message", reason, isFinished=True, metadata={"failure": True})

    def _call(self, name: str, input: JSON) -> str:
        call = new_id()
        self._say("tool_call", json.dumps(input, ensure_ascii=False), name=name, callId=call)
        return call

    def _say(self, type: MessageType, content: str, **more: Any) -> None:
        upload = self._upload or self._begin()
        self._log.add(upload, message_event(upload.id, self._messages, type, self._log.masked(content), **more))
        self._messages += 1

    def _begin(self) -> Upload:
        self._upload = upload = Upload(new_id())
        log = self._log
        event = begin_event(
            upload.id,
            log.run,
            environment=log.endpoint.deployment,
            variant=log.endpoint.variant,
            split=self._task.get("split"),
            metadata={"contract": log.environment.digest},
            task_spec=log.kept(self._task.get("task_spec")),
        )
        log.add(upload, event)
        if "index" in self._task:
            log.add(upload, task_event(upload.id, self._task["index"]))
        return upload


def _text(blocks: list[JSON]) -> str:
    """Blocks as a log shows them: pictures as a line each, which says of what type they are."""
    return str(rendered(blocks, "placeholder"))
