"""`max_sessions`: as many sessions as a server can bear, first come, first served, and nothing waits for ever."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trl
from openreward.environments import Server

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import SessionError, SessionLimitError, UsageError
from orl_codegen.ors import limits
from orl_codegen.sessions.loop import close_sessions
from orl_codegen.trl import GRPOTrainer
from tests.environments.answers import Quiz
from tests.environments.echo import Echo, MoodyEcho, SlowEcho
from tests.runtime import adapters
from tests.support.applications import answering
from tests.support.grpo import call, play_echo, roll_out_asynchronously, train
from tests.support.processes import Program
from tests.support.servers import RunningServer, serving_application

TRAINERS = pytest.mark.parametrize("trainer", [trl.GRPOTrainer, GRPOTrainer], ids=["trl", "ours"])


class Watched:
    """A server that notes how many sessions are live whenever it is told to create one."""

    def __init__(self, running: RunningServer) -> None:
        self.running, self.live = running, [0]

    @property
    def peak(self) -> int:
        """The most sessions that were live at a time."""
        return max(self.live)

    def spec(self, max_sessions: int | None, adapter: Any = adapters.Echo, **options: Any) -> OpenRewardSpec:
        """A spec of an environment on the server."""
        return OpenRewardSpec(adapter, base_url=self.running.url, max_sessions=max_sessions, **options)

    def created(self) -> int:
        """How many sessions were created."""
        return self.running.paths().count("POST /create")


@contextmanager
def watched_server(answers: dict[str, Any] | None = None) -> Iterator[Watched]:
    sdk = Server([Echo, MoodyEcho, SlowEcho, Quiz])
    application = answering(answers or {}, sdk.app)

    live: set[bytes] = set()  # the SDK's own list leaves out those that are being created

    async def counting(scope: Any, receive: Any, send: Any) -> None:
        sid = dict(scope.get("headers", [])).get(b"x-session-id", b"")
        if scope.get("path") == "/create":
            live.add(sid)
            watched.live.append(len(live))
        await application(scope, receive, send)
        if scope.get("path") == "/delete":
            live.discard(sid)

    with serving_application(counting) as running:
        running.server = sdk
        watched = Watched(running)
        yield watched
        close_sessions()
        assert running.wait_for_sessions(0) == 0


@pytest.fixture
def watched() -> Iterator[Watched]:
    with watched_server() as server:
        yield server


def rollouts(spec: OpenRewardSpec, count: int) -> list[Any]:
    return [spec.environment_factory() for _ in range(count)]


def in_background(rollout: Any, index: int = 0) -> None:
    """Begin a rollout as if its prompt stood in the dataset: its session opens while the model writes."""
    rollout._session = rollout._plan.open(rollout._plan.task(index))


def test_never_more_than_so_many(watched: Watched) -> None:
    """Twenty rollouts in a thread pool, three at a time; those that are being created or closed count."""
    spec = watched.spec(3)

    def play(rollout: Any) -> str:
        rollout.reset(task_index=1)
        return str(rollout.echo(text="word1"))

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(play, rollouts(spec, 20))) == ["match"] * 20
    assert watched.peak == 3 and watched.created() == 20


def test_without_a_limit_all_are_open(watched: Watched) -> None:
    """By default nothing waits."""
    played = rollouts(watched.spec(None), 8)
    for rollout in played:
        rollout.reset()
    assert watched.peak == 8


def test_first_come_first_served(watched: Watched) -> None:
    """Sessions open in the order in which they were asked for."""
    played = rollouts(watched.spec(1), 6)
    opened: list[int] = []
    for index, rollout in enumerate(played):
        in_background(rollout, index)
        rollout._session.opening.add_done_callback(lambda _, index=index: opened.append(index))
    for index, rollout in enumerate(played):
        assert rollout.echo(text=f"word{index}") == "match"
    assert opened == list(range(6)) and watched.peak == 1


def test_what_is_closed_in_the_queue_never_reaches_the_server(watched: Watched) -> None:
    """And the one behind it takes its turn."""
    first, second, third = rollouts(watched.spec(1), 3)
    for rollout in (first, second, third):
        in_background(rollout)
    first._session.prompt()
    second._close()
    first._close()
    assert third.echo(text="word0") == "match"
    assert watched.created() == 2


def test_the_queue_does_not_count_as_opening(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session may wait for its turn longer than it may take to open."""
    monkeypatch.setattr(limits, "OPEN_WITHIN", 0.4)
    first, second = rollouts(watched.spec(1), 2)
    for rollout in (first, second):
        in_background(rollout)
    assert first.wait(seconds=1) == "waited"
    first._close()
    assert second.echo(text="word0") == "match"


def test_the_slot_of_a_session_that_cannot_be_opened(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes back when the last attempt has failed."""
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.05)
    broken, well = rollouts(watched.spec(1, adapters.MoodyEcho), 2)
    with pytest.raises(SessionError, match="no sandbox for you"):
        broken.reset(task_index=1)
    well.reset(task_index=0)
    assert well.echo(text="hello") == "match"


def test_the_slot_of_a_session_that_was_lost() -> None:
    """It comes back with the call that finds the session lost."""
    with watched_server({"/echo/call": 410}) as watched:
        lost, well = rollouts(watched.spec(1), 2)
        lost.reset()
        lost.echo(text="word0")
        assert lost.failure is not None
        assert "word0" in well.reset()


@pytest.mark.parametrize("max_sessions", [1, 3])
def test_prompts_are_fetched_within_the_limit(watched: Watched, max_sessions: int) -> None:
    """Every prompt is there, whatever the number of sessions at a time."""
    dataset = watched.spec(max_sessions, num_tasks=12, prompts="dataset").train_dataset
    assert [f"word{index}" in row[0]["content"] for index, row in enumerate(dataset["prompt"])] == [True] * 12
    assert watched.peak == max_sessions


def test_prompts_that_wait_for_the_main_thread(watched: Watched) -> None:
    """Fetching them where this thread holds every slot is an error, and not an hour's wait."""
    spec = watched.spec(1, num_tasks=2, prompts="dataset")
    rollout = spec.environment_factory()
    rollout.reset()
    with pytest.raises(SessionLimitError, match="max_sessions=1 "):
        spec.train_dataset  # noqa: B018


@TRAINERS
def test_single_turns_go_through_few_slots(watched: Watched, tmp_path: Path, trainer: Any) -> None:
    """The first call ends an episode and makes room for the next session, while the trainer waits for that."""
    spec = watched.spec(3, num_tasks=8, prompts="dataset")
    trained = train(spec, play_echo, tmp_path, batch=16, trainer_class=trainer)
    assert [rollout.reward for rollout in trained.environments] == [1.0] * 16
    assert watched.peak == 3


@TRAINERS
def test_terminal_tools_go_through_few_slots(watched: Watched, tmp_path: Path, trainer: Any) -> None:
    """Where only the last message is graded, the reward functions wait for sessions in turn."""
    spec = watched.spec(3, adapters.Quiz, num_tasks=8, prompts="dataset")
    trained = train(spec, lambda prompt: "4", tmp_path, batch=16, trainer_class=trainer)
    assert all(rollout.reward is not None for rollout in trained.environments)
    assert watched.peak == 3


@TRAINERS
def test_as_many_slots_as_rollouts_are_enough(watched: Watched, tmp_path: Path, trainer: Any) -> None:
    """The sessions that a step left open give way to those of the evaluation after it."""
    spec = watched.spec(4, num_tasks=8)
    write = call("step", '{"number": 1}')
    train(spec, lambda prompt: write, tmp_path, eval_dataset=spec.train_dataset, trainer_class=trainer)
    assert watched.peak == 4 and watched.created() >= 8


@TRAINERS
@pytest.mark.parametrize("prompts", ["session", "dataset"])
@pytest.mark.parametrize("on_reset_failure", ["raise", "unscored"])
def test_a_lock_step_that_cannot_go_on(
    watched: Watched, tmp_path: Path, trainer: Any, prompts: Any, on_reset_failure: Any
) -> None:
    """Rollouts that stay open hold every slot while the trainer waits for another one: this ends training at once."""
    spec = watched.spec(3, num_tasks=8, prompts=prompts, on_reset_failure=on_reset_failure)
    spec.train_dataset  # noqa: B018
    write = call("step", '{"number": 1}')
    with pytest.raises(SessionLimitError) as caught:
        train(spec, lambda prompt: write, tmp_path, batch=16, trainer_class=trainer, max_tool_calling_iterations=1)
    message = str(caught.value)
    assert "max_sessions=3 " in message and "per_device_train_batch_size x steps_per_generation" in message
    one_by_one = prompts == "session" and trainer is trl.GRPOTrainer  # no further reset begins before this one fails
    assert ("4 rollouts" if one_by_one else "16 rollouts") in message


@pytest.mark.parametrize("prompts", ["session", "dataset"])
def test_how_long_it_takes_to_notice(watched: Watched, prompts: str) -> None:
    """Less than a second, in a reset or in the first call."""
    first, second = rollouts(watched.spec(1), 2)
    first.reset()
    began = time.monotonic()
    with pytest.raises(SessionLimitError):
        if prompts == "dataset":
            in_background(second)
            second.step(number=1)
        second.reset()
    assert time.monotonic() - began < 1
    second._session = None
    assert first.echo(text="word0") == "match", "the others are as they were"
    assert "word1" in second.reset(task_index=1)


def test_two_specs_that_wait_for_each_other(watched: Watched) -> None:
    """Each has its own slots, and the threads of the trainer wait for both."""
    played = [rollouts(watched.spec(1), 2) for _ in range(2)]
    for first, second in played:
        first.reset()
        in_background(second)
    errors: list[BaseException] = []

    def use(rollout: Any) -> None:
        try:
            rollout.step(number=1)
        except SessionLimitError as error:
            errors.append(error)

    threads = [threading.Thread(target=use, args=(second,), name="orl-codegen-tools") for _, second in played]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert len(errors) == 2


def test_rollouts_that_are_independent_wait(watched: Watched) -> None:
    """Another thread may end its rollout any time, so that nothing is given up."""
    first, second = rollouts(watched.spec(1), 2)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(first.reset).result()
        pool.submit(lambda: (time.sleep(1.5), first.echo(text="word0")))
        second.reset(task_index=1)
    assert second.echo(text="word1") == "match"


def test_a_wait_that_is_too_long(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a limit all the same."""
    monkeypatch.setattr(limits, "SLOT_WITHIN", 0.3)
    first, second = rollouts(watched.spec(1), 2)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(first.reset).result()
        with pytest.raises(SessionLimitError, match=r"none has become free for 0\.3 seconds"):
            pool.submit(second.reset).result()


def test_the_asynchronous_trainer_waits(watched: Watched) -> None:
    """Its rollouts are independent, and play in turn."""
    assert len(roll_out_asynchronously(watched.spec(2, num_tasks=8), 8, play_echo)) == 8
    assert watched.peak == 2


def test_slots_pickle_as_free_ones(watched: Watched) -> None:
    """A process has its own, and as many."""
    spec = watched.spec(1)
    first = spec.environment_factory()
    first.reset()
    copy = pickle.loads(pickle.dumps(spec.environment_factory))()
    copy.reset()
    assert len(watched.running.live_sessions) == 2
    assert copy._plan.slots.limit == 1


def test_slots_of_a_forked_child(watched: Watched) -> None:
    """What its parent holds is not held by the child."""
    source = """
        import multiprocessing
        from tests.runtime.children import roll_out
        spec = OpenRewardSpec(Echo, base_url=sys.argv[1], max_sessions=1)
        adapter = spec.environment_factory()
        adapter.reset()
        child = multiprocessing.get_context("fork").Process(target=roll_out, args=(spec.environment_factory, adapter))
        child.start()
        child.join()
        print(child.exitcode)
    """
    program = Program(source, watched.running.url)
    assert program.first_line == "0\n", program.end()
    program.end()


@pytest.mark.parametrize("max_sessions", [0, -1, 1.5, True, "4"])
def test_what_is_not_a_number_of_sessions(max_sessions: Any) -> None:
    """One clear error."""
    with pytest.raises(UsageError, match=r"max_sessions=.* is invalid. Pass 1 or more, or None"):
        OpenRewardSpec(adapters.Echo, base_url="http://127.0.0.1:1", max_sessions=max_sessions)
