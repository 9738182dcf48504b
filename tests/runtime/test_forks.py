"""A child that is forked while other threads use an adapter: it plays sessions of its own, and the parent's stay as
they are."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import pytest

from tests.environments.echo import LingeringEcho, SlowEcho
from tests.support.processes import Program
from tests.support.servers import RunningServer, running

FORKING = """
from orl_codegen.errors import SessionError
from orl_codegen.sessions.loop import close_sessions

def play(adapter):
    adapter.reset(task_index=7)
    assert adapter.echo(text="word7") == "match", adapter.failure
    assert (adapter.reward, adapter.rewards, adapter.failure) == (1.0, [1.0], None)

def forked(child, end):
    pid = os.fork()
    if pid:
        return pid
    try:
        child()
        close_sessions()  # its own: no hook runs in os._exit
        status = 0
    except BaseException as error:
        print(f"the child: {error!r}", file=sys.stderr, flush=True)
        status = 1
    end(status)

def status(pid, within=15):
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "it hangs"

def thread(work, begun, *arguments, **named):
    started = threading.Thread(target=work, args=arguments, kwargs=named)
    started.start()
    while not begun():
        time.sleep(0.01)
    time.sleep(0.2)
    return started
"""

MOMENTS = {
    "a call": """
        adapter, = adapters = opened(1)
        busy = thread(adapter.wait, lambda: adapter._turns._waiting, seconds=2)
    """,
    "calls in a queue": """
        adapter, = adapters = opened(1)
        busy = thread(adapter.wait, lambda: adapter._turns._waiting, seconds=2)
        thread(adapter.wait, lambda: len(adapter._turns._waiting) == 2, seconds=0)
    """,
    "a reset": """
        spec = OpenRewardSpec(Echo, base_url=sys.argv[1], variant="slowecho")
        adapter, = adapters = [spec.environment_factory()]
        busy = thread(adapter.reset, lambda: adapter._session, task_index=0)
    """,
    "the fetch of the dataset": """
        from orl_codegen.sessions.loop import event_loop
        spec = OpenRewardSpec(Echo, base_url=sys.argv[1], variant="slowecho", num_tasks=2, prompts="dataset")
        adapter, = adapters = opened(1)
        busy = thread(lambda: spec.rows, lambda: len(event_loop().opened) == 3)
    """,
    "the lock of its turns": """
        adapter, = opened(1)
        thread(adapter._turns._mutex.acquire, adapter._turns._mutex.locked)
    """,
    "the lock of its prompt": "adapter, = opened(1); thread(adapter._session.opening._condition.acquire, lambda: True)",
    "the lock of the loop": """
        from orl_codegen.sessions.loop import _process
        adapter, = opened(1)
        thread(_process._starting.acquire, _process._starting.locked)
    """,
}
"""Where another thread is, or what it holds."""

CHILDREN = {
    "resets": "play(adapter)",
    "plays a new one": """
        play(OpenRewardSpec(Echo, base_url=sys.argv[1], variant="lingeringecho").environment_factory())
    """,
    "calls": """
        said = adapter.wait(seconds=0)
        assert "no more calls" in said and "process" in adapter.failure, (said, adapter.failure)
        play(adapter)
    """,
    "reads and drops it": """
        adapter.reward, adapter.rewards, adapter.metadata, adapter.finished, adapter.last_output, adapter.failure
        adapter._score(), adapter._awaits_message(), adapter._raise_what_stops_training()
        adapter._take_message("Done"), adapter._close_scored()
        adapters.clear()
        del adapter
        import gc
        gc.collect()
    """,
}

ENDS = {"os._exit": "os._exit", "sys.exit": "sys.exit"}


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running(LingeringEcho, SlowEcho) as server:
        yield server


def program(moment: str, child: str, end: str) -> str:
    """The parent: it forks at that moment, waits for the child, and goes on with what it has."""
    return "\n".join(
        [
            FORKING,
            textwrap.dedent(moment),
            f"def child():\n    global adapter\n{textwrap.indent(textwrap.dedent(child), '    ')}",
            f"pid = forked(child, {end})",
            "print(status(pid), flush=True)",
        ]
    )


def outcome(server: RunningServer, source: str) -> tuple[str, str]:
    """What the parent said, and its errors."""
    run = Program(source, server.url)
    _, _, output, errors = run.end(30)
    assert server.wait_for_sessions(0) == 0
    return (run.first_line + output).strip(), errors


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_child_resets_whatever_other_threads_hold(server: RunningServer, moment: str) -> None:
    """It opens a session of its own at once, and does not wait for what only its parent goes on with."""
    run = Program(program(MOMENTS[moment], CHILDREN["resets"], "os._exit"), server.url)
    assert (run.first_line, run.end(30)[3]) == ("0\n", "")
    assert server.wait_for_sessions(0) == 0


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("child", CHILDREN)
def test_the_parent_goes_on_as_if_there_were_no_child(server: RunningServer, child: str, end: str) -> None:
    """Its call is answered and its session stays open, whatever the child does with what it has inherited."""
    source = program(MOMENTS["a call"], CHILDREN[child], ENDS[end])
    source += "\nbusy.join()\nprint(adapter.last_output, adapter.echo(text='word0'), adapter.failure)"
    assert outcome(server, source) == ("0\nwaited match None", "")


def test_a_child_uses_the_spec_while_its_dataset_is_fetched(server: RunningServer) -> None:
    """The thread that fetches does not exist there; the child fetches for itself."""
    source = program(MOMENTS["the fetch of the dataset"], "assert len(spec.rows) == 2", "os._exit")
    source += "\nbusy.join()\nprint(len(spec.rows))"
    assert outcome(server, source) == ("0\n2", "")


def test_a_call_or_prompt_of_the_parents_session_raises_at_once(server: RunningServer) -> None:
    """In the child, a session that its parent is still opening gives an error and no endless wait."""
    child = """
        handle = adapter._session
        for use in (handle.prompt, lambda: handle.call("wait", {}), lambda: handle.score_group([])):
            try:
                use()
            except SessionError as error:
                assert "reset()" in str(error)
            else:
                raise AssertionError("no error")
        handle.close_soon()
        play(adapter)
    """
    source = program(MOMENTS["a reset"], child, "os._exit") + "\nbusy.join()\nprint(adapter.failure)"
    assert outcome(server, source) == ("0\nNone", "")
