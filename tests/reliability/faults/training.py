"""The faults in training: the dataset, a reset, a call, its reward, a group's scores, and the next reset."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import OrlCodegenError, ToolError
from tests.reliability.faults.injections import Injection
from tests.reliability.faults.judging import CALL_WITHIN, DEADLINE, Trial, faults_of
from tests.reliability.faults.proxy import Proxy, lift, proxied
from tests.reliability.faults.subject import REWARD, SCORES, TASKS, Noting, NotingAdapter
from tests.support.servers import RunningServer

STAGES = (
    "task_range",
    "create_session",
    "create",
    "task_tools",
    "prompt",
    "messages",
    "call",
    "ping",
    "score_group",
    "delete",
    "delete_session",
)
KEY = "key-of-this-trial"
SCORED = {"messages": [{"role": "assistant", "content": "done"}]}


class Rollout:
    """One trial, and what went wrong in it.

    Args:
        trial: The trial.
        injection: Its fault.
        server: The real server.
        elsewhere: A URL that no request must reach.
    """

    def __init__(self, trial: Trial, injection: Injection, server: RunningServer, elsewhere: str) -> None:
        self.wrong: list[str] = []
        self._trial, self._injection, self._server = trial, injection, server
        port = int(server.url.rpartition(":")[2])
        self._proxy = Proxy(port, trial.stage, injection.inject, injection.times, elsewhere)
        self._at = ""

    def run(self) -> list[str]:
        """Play it, and return what went wrong."""
        with proxied(self._proxy) as proxy:
            spec = OpenRewardSpec(
                NotingAdapter,
                base_url=proxy.url,
                num_tasks=2,
                api_key=KEY,
                call_timeout=self._call_within(),
                prompts="dataset" if self._trial.stage == "messages" else "session",
            )
            self._step("dataset", lambda: self._dataset(spec))
            rollout = spec.environment_factory()
            opened = self._step("reset", lambda: self._reset(rollout))
            if opened and self._trial.stage == "score_group":
                self._step("group", lambda: self._group(spec, rollout))
            elif opened:
                self._step("call", lambda: self._call(rollout))
            lift(proxy)
            time.sleep(0.25)  # the host is no longer backed off from
            self._step("next reset", lambda: self._next(rollout))
            rollout._close()
            self._expect_no_session()
        return self.wrong

    def _call_within(self) -> float:
        return 6.0 if self._trial.stage == "ping" else CALL_WITHIN

    def _step(self, name: str, work: Callable[[], Any]) -> Any:
        self._at, began = name, time.monotonic()
        try:
            return work()
        except Exception as error:
            self._expect(False, f"it raised {type(error).__name__}: {error}")
        finally:
            took = time.monotonic() - began
            self._expect(took < DEADLINE, f"it took {took:.1f} s")

    def _expect(self, right: bool, otherwise: str) -> None:
        if not right:
            self.wrong.append(f"{self._trial}: {self._at}: {otherwise}")

    def _judge(self, error: str) -> None:
        named = self._injection.named
        for fault in faults_of(error, f"{named}|pings in a row" if self._trial.stage == "ping" else named):
            self._expect(False, fault)

    def _dataset(self, spec: Any) -> None:
        try:
            rows = spec.rows
        except OrlCodegenError as error:
            self._judge(str(error))
            self._expect(self._trial.stage in ("task_range", "messages"), "it failed without a fault")
            return
        words = [row["word"] for row in rows]
        free_form = self._injection.name == "values of other types"  # tasks may hold anything
        self._expect(words == [task["word"] for task in TASKS[:2]] or free_form, f"it is {rows}")

    def _reset(self, rollout: Any) -> bool:
        try:
            prompt = rollout.reset(task_index=1)
        except OrlCodegenError as error:
            self._judge(str(error))
            return False
        self._expect(prompt == "Note word1.", f"the prompt is {prompt!r}")
        return True

    def _call(self, rollout: Any) -> None:
        text = f"{self._trial.side}-{self._trial.number}"
        before = Noting.carried_out[text]
        seconds = 2.5 if self._trial.stage == "ping" else 0.0
        try:
            answer = rollout.note(text=text, seconds=seconds)
        except ToolError as error:
            self._expect(False, f"the environment did not raise {error}")
            return
        ran = Noting.carried_out[text] - before
        self._expect(ran <= 1, f"the call was carried out {ran} times")
        self._check_answer(rollout, text, answer, ran)

    def _check_answer(self, rollout: Any, text: str, answer: Any, ran: int) -> None:
        if rollout.failure is None:
            right = (str(answer).replace("\ufffd", ""), rollout.rewards, ran) == (text, [REWARD], 1)
            self._expect(right, f"{answer!r} with the rewards {rollout.rewards}, carried out {ran} times")
        else:
            self._judge(rollout.failure)
            self._expect("failed" in str(answer), f"the model is told {answer!r}")
        self._check_metrics(rollout)

    def _check_metrics(self, rollout: Any) -> None:
        from orl_codegen.trl.rewards import last_reward

        logged: dict[str, float] = {}
        (reward,) = last_reward(completions=["done"], environments=[rollout], log_metric=logged.__setitem__)
        expected = REWARD if rollout.failure is None else None
        self._expect(reward == expected, f"the reward is {reward}, and the failure {rollout.failure}")
        failed = float(rollout.failure is not None)
        told = logged.get("environment/failed"), logged.get("environment/scored")
        self._expect(told == (failed, 1 - failed), f"the metrics say {logged}")

    def _group(self, spec: Any, rollout: Any) -> None:
        scores = spec.group_reward(
            completions=[SCORED["messages"]] * 2, task_index=[1, 1], environments=[rollout, object()]
        )
        self._expect(scores in (SCORES, [None, None]), f"the scores are {scores}")

    def _next(self, rollout: Any) -> None:
        prompt = rollout.reset(task_index=0)
        text = f"next-{self._trial.number}"
        self._expect((prompt, rollout.note(text=text)) == ("Note word0.", text), f"{prompt!r}, {rollout.failure}")
        self._expect((rollout.reward, rollout.failure) == (REWARD, None), f"{rollout.reward}, {rollout.failure}")

    def _expect_no_session(self) -> None:
        self._at = "end"
        if self._trial.stage in ("delete", "delete_session") or self._injection.name == "refused":
            return  # a server that hears of no end gives its sessions up by itself
        deadline = time.monotonic() + 5
        while (left := self._left()) and time.monotonic() < deadline:
            time.sleep(0.02)
        self._expect(not left, f"{len(left)} sessions are left on the server")

    def _left(self) -> set[str]:
        return self._proxy.sids & set(self._server.live_sessions)


def trials(injections: tuple[Injection, ...]) -> Iterator[tuple[Trial, Injection]]:
    """Every fault at every stage of training."""
    pairs = [(injection, stage) for injection in injections for stage in STAGES]
    for number, (injection, stage) in enumerate(pairs):
        yield Trial("training", number, stage, injection.name), injection
