"""The base class of every generated adapter: one rollout at a time, from `reset` through its calls to its reward.

Nothing is imported here that costs anything, because every generated module imports this one.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from orl_codegen.errors import RolloutError, SessionError, ToolError
from orl_codegen.runtime.unanswered import Unanswered
from orl_codegen.runtime.vocabulary import UNSET, Environment, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Future

    from orl_codegen.ors.outputs import CallRefused, Output
    from orl_codegen.runtime.ahead import Ahead
    from orl_codegen.runtime.plan import Plan
    from orl_codegen.sessions.handle import Pending, SessionHandle

FINISHED = Unanswered("The episode has finished: this call was not carried out.", "episode_finished")
FAILED = Unanswered("The environment has failed and takes no more calls.", "environment_failed")
SCORED = Unanswered("The rollout has been scored, and its session closed: this call was not carried out.", "scored")
UNAVAILABLE = "The environment is not available."


class Sent:
    """A call that was sent. Calling it waits for the result, and keeps what the environment answered.

    Args:
        receive: Waits for the result.
        count: Is told whether the call was carried out, and otherwise why not.
        answer: Is done once there is nothing to wait for; None where there never was.
    """

    def __init__(
        self,
        receive: Callable[[], ToolResult],
        count: Callable[[str | None], None],
        answer: Future[Output] | None = None,
    ) -> None:
        self._receive, self._count, self.answer = receive, count, answer

    def __call__(self) -> ToolResult:
        try:
            result = self._receive()
        except ToolError:
            self._count("tool_raised")
            raise
        self._count(result.reason if isinstance(result, Unanswered) else None)
        return result


class RolloutAdapter:
    """One rollout in an environment. TRL takes each public method of a subclass for a tool: there are no others here.

    A call is answered here, and leaves no trace in `rewards`, `metadata` and `last_output`, where its arguments do not
    fit, where the task does not offer the tool, after the end of the episode or of the session, and once the rollout
    has been scored.

    Attributes:
        reward: The last reward that was not null, or None.
        rewards: The reward of each call that the environment answered; None where it gave none, refused the call, or
            raised an exception.
        metadata: The metadata of the same calls, likewise.
        finished: Whether a tool has ended the episode. The reward stands from then on.
        last_output: What the environment answered last, as text; whole, also where the model was shown less of it.
        failure: Why the session is lost, or could not be opened. An exception in a tool does not end it.
    """

    reward: float | None
    rewards: list[float | None]
    metadata: list[dict[str, Any] | None]
    finished: bool
    last_output: str
    failure: str | None

    _environment: Environment
    _ahead: Ahead | None = None
    _concurrent_tools: frozenset[str] = frozenset()
    _preflight: Any = None  # a `Preflight` of the trainer that plays the rollout, if one does

    def __init__(self, plan: Plan | None = None) -> None:
        from orl_codegen.sessions.loop import close_on_signals
        from orl_codegen.sessions.turns import Turns

        self._plan = plan or _own_plan(type(self))
        self._concurrent_tools = self._plan.concurrent_tools
        _import_for_rollouts()
        self._session: SessionHandle | None = None
        self._turns = Turns()
        self._begin()
        close_on_signals()

    def reset(
        self,
        /,
        *,
        task_index: int = 0,
        split: str | None = None,
        task_spec: Mapping[str, Any] | None = None,
        prompt_digest: str | None = None,
        **row: Any,
    ) -> ToolResult | None:
        """Open a fresh session for a task, and close the last one in the background.

        Args:
            task_index: Which task of the split.
            split: Which split; by default the one that the adapter or its `OpenRewardSpec` was made for.
            task_spec: The task itself, instead of its index.
            prompt_digest: Digest of the prompt that stands in the dataset already; the session then opens in the
                background, and has to come up with the same prompt.
            row: The other columns of the dataset, which are of no use here.

        Returns:
            The prompt; None where it stands in the dataset.

        Raises:
            SessionError: No session could be opened.
            SchemaDrift: The environment's tools no longer fit the adapter.
            PromptMismatch: An earlier session's prompt was not the one in the dataset.
            PreflightError: The trainer's settings are certain to make the training fail.
        """
        from orl_codegen.runtime.prompt_digest import check_prompt

        if self._preflight is not None:
            self._preflight.begin(self)
        try:
            self._raise_what_stops_training()
        finally:
            self._close()
        with self._turns:
            self._begin()
            task = self._task(task_index, split, task_spec)
            if prompt_digest is None:
                self._session = self._take_ahead(task) or self._plan.open(task, rollout=True)
                return self._checked(row.get("prompt"), self._first_prompt(self._session))
            self._session = self._plan.open(
                task, rollout=True, messages=True, check_prompt=partial(check_prompt, digest=prompt_digest)
            )
            return None

    def _open_ahead(
        self,
        /,
        *,
        task_index: int = 0,
        split: str | None = None,
        task_spec: Mapping[str, Any] | None = None,
        prompt_digest: str | None = None,
        **row: Any,
    ) -> Ahead | None:
        """Close the last session, and begin to open the one that `reset` will ask for with the same row.

        Returns:
            That session, to be closed by the caller in case `reset` is not called; None where `reset` will not wait.

        Raises:
            Exception: What `reset` will raise without opening a session.
        """
        from orl_codegen.runtime.ahead import Ahead

        if prompt_digest is not None:
            return None
        if self._preflight is not None:
            self._preflight.begin(self)
        self._raise_what_stops_training()
        task = self._task(task_index, split, task_spec)
        self._close()
        self._ahead = Ahead(task, self._plan.open(task, rollout=True))
        return self._ahead

    def _take_ahead(self, task: dict[str, Any]) -> SessionHandle | None:
        ahead, self._ahead = self._ahead, None
        return None if ahead is None else ahead.take(task)

    def _task(self, index: int, split: str | None, spec: Mapping[str, Any] | None) -> dict[str, Any]:
        return self._plan.task(int(index), split) if spec is None else {"task_spec": dict(spec)}

    def _first_prompt(self, session: SessionHandle) -> ToolResult:
        from orl_codegen.runtime.blocks import rendered

        try:
            return rendered(session.prompt(), self._plan.images)
        except RolloutError as error:
            if self._stops_training(error):
                self._session = None
                raise
            self.failure = str(error)
            return UNAVAILABLE

    def _checked(self, asked: Any, answered: ToolResult) -> ToolResult:
        """The prompt of a session, once the trainer's preflight has seen it."""
        if self._preflight is not None:
            try:
                self._preflight.prompted(self, asked, answered)
            except RolloutError:
                self._close()
                raise
        return answered

    def _call(self, name: str, input: dict[str, Any]) -> ToolResult:
        """Call the tool `name`; arguments that are `UNSET` are left out of its input.

        Returns:
            The result; inside `_sending`, a function that waits for it.

        Raises:
            ToolError: The environment raised an exception. TRL tells the model so, and the episode goes on.
        """
        if self._turns.mine:
            return cast("ToolResult", self._sent(name, input))
        with self._turns:
            return self._sent(name, input)()

    @contextmanager
    def _sending(self) -> Iterator[None]:
        """Calls of this thread are sent without waiting for those before, and give functions that wait for the results.
        These are to be called in the same order, within the block. Other threads wait for its end."""
        with self._turns:
            yield

    def _sent(self, name: str, input: dict[str, Any]) -> Sent:
        count = self._count if self._environment.terminal_tool is None else partial(self._count_unless_terminal, name)
        if (over := self._over()) is not None:
            return Sent(lambda: over, count)
        session = self._session
        if session is None:
            raise RolloutError("No session is open. Call reset() before a tool.")
        try:
            answer = session.call(name, {key: value for key, value in input.items() if value is not UNSET})
        except SessionError as error:
            lost = self._lost(session, error)
            return Sent(lambda: lost, count)
        return Sent(partial(self._received, name, session, answer), count, answer.future)

    def _count(self, problem: str | None) -> None:
        """Note that the model has made a call, and why it was not carried out, if it was not."""
        self._counts[problem] = self._counts.get(problem, 0) + 1

    def _count_unless_terminal(self, name: str, problem: str | None) -> None:
        terminal = self._environment.terminal_tool
        if terminal is None or name != terminal.name:
            self._count(problem)

    def _over(self) -> Unanswered | None:
        """What every call is answered with, once there is such an answer."""
        if self.finished:
            return FINISHED
        if self.failure is not None:
            return FAILED
        return SCORED if self._scored else None

    def _received(self, name: str, session: SessionHandle, answer: Pending[Output]) -> ToolResult:
        from orl_codegen.ors.outputs import CallRefused

        if (over := self._over()) is not None:
            return over  # since it was sent: by a call before it
        try:
            output = answer()
        except CallRefused as refusal:
            return self._refused(name, refusal)
        except ToolError as error:
            self._note(str(error), None, None)
            raise
        except SessionError as error:
            return self._lost(session, error)
        return self._record(output)

    def _lost(self, session: SessionHandle, error: SessionError) -> Unanswered:
        if self._scored:
            return SCORED  # the call was under way; the rollout itself has not failed
        self._raise_what_stops_training()
        self.failure = str(error)
        session.close_soon()
        return FAILED

    def _close(self) -> None:
        """End the session at once, together with the call that may be under way in another thread."""
        session, self._session = self._session, None
        if session is not None:
            session.close_soon()

    def _begin(self) -> None:
        self.reward = None
        self.rewards = []
        self.metadata = []
        self._counts: dict[str | None, int] = {}
        self.finished = False
        self.last_output = ""
        self.failure = None
        self._message_taken = False
        self._scored = False

    def _record(self, output: Output) -> ToolResult:
        from orl_codegen.runtime.blocks import rendered, shortened

        result = rendered(output.blocks, self._plan.images) or "(no output)"
        self._note(str(result), output.reward, output.metadata)
        self.finished = output.finished
        if self.finished:
            self._release()
        return shortened(result, self._plan.max_tool_output)

    def _refused(self, name: str, refusal: CallRefused) -> Unanswered:
        from orl_codegen.ors.outputs import NotOffered
        from orl_codegen.runtime.refusals import explained

        text = explained(type(self), name, refusal)
        if not isinstance(refusal, NotOffered):
            self.finished = refusal.reason == "episode_finished"
            self._note(text, None, None)
        return text

    def _note(self, text: str, reward: float | None, metadata: dict[str, Any] | None) -> None:
        """Keep what the environment answered to a call."""
        from orl_codegen.runtime.suspect_results import warn_of_chat_tokens

        warn_of_chat_tokens(type(self), text)
        self.rewards.append(reward)
        self.metadata.append(metadata)
        self.last_output = text
        self.reward = self.reward if reward is None else reward

    # What the reward functions use.

    def _awaits_message(self) -> bool:
        """Whether the terminal tool has yet to be given the model's last message."""
        if self.finished or self._message_taken or self._scored or self.failure is not None or self._session is None:
            return False
        return self._environment.terminal_tool is not None

    def _take_message(self, text: str) -> None:
        """End the rollout with the model's last message. Where the terminal tool raises an exception, it has given no
        reward: an earlier one stands, and otherwise the rollout is unscored."""
        terminal = self._environment.terminal_tool
        if terminal is not None and self._awaits_message():
            self._message_taken = True
            try:
                self._call(terminal.name, {} if terminal.arg is None else {terminal.arg: text})
            except ToolError as error:
                self._warn_of_no_grade(error)
            self._release()

    def _warn_of_no_grade(self, error: ToolError) -> None:
        import logging

        logging.getLogger(__name__).warning(
            "The terminal tool of %s gave no reward: %s. Check the server log.", type(self).__name__, error
        )

    def _score(self) -> float | None:
        """The reward of the rollout, or None where it has none, or loses it to a failure."""
        dropped = self.failure is not None and self._plan.drop_failed_rollouts
        return None if dropped else self.reward

    def _release(self) -> None:
        """Close the session, whose episode is over, unless a group is still to be scored in it."""
        session = self._session  # another thread may take it away meanwhile
        if session is not None and not self._plan.keep_for_group:
            session.close_soon()

    def _close_scored(self) -> None:
        """Close the session of a rollout that has been scored, in the background. What it has earned stays readable."""
        self._scored = True
        session = self._session
        if session is not None:
            session.close_soon()

    def _stops_training(self, error: BaseException) -> bool:
        return not isinstance(error, SessionError) or self._plan.on_reset_failure == "raise"

    def _raise_what_stops_training(self) -> None:
        """Raise what went wrong while the session opened behind the model's turn. TRL hands the exceptions of a tool to
        the model, so this is raised again where TRL lets it through: in `reset` and in the reward functions."""
        session = self._session
        error = session.opening_error() if session is not None else None
        if error is not None and self._stops_training(error):
            raise error

    def __del__(self) -> None:
        session = getattr(self, "_session", None)
        if session is not None:
            session.close_soon()


def _import_for_rollouts() -> None:
    """Import what `reset` and the tools would import otherwise, perhaps on other threads: a child that is forked in the
    middle of an import waits for that thread for good, and it has no such thread."""
    import orl_codegen.ors.outputs
    import orl_codegen.runtime.blocks
    import orl_codegen.runtime.prompt_digest
    import orl_codegen.runtime.refusals
    import orl_codegen.runtime.suspect_results  # noqa: F401


def _own_plan(adapter: type[RolloutAdapter]) -> Plan:
    """The plan of an adapter that was built without an `OpenRewardSpec`."""
    from orl_codegen.ors.endpoint import endpoint
    from orl_codegen.runtime.agreement import Agreement
    from orl_codegen.runtime.plan import Plan

    environment = adapter._environment
    where = endpoint(environment.target, environment.variant)
    return Plan(environment, where, environment.split, Agreement(adapter, wanted=True), environment.toolset)
