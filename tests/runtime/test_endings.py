"""However a process ends, no session of it is left on the server."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest
from openreward.environments import Server

from orl_codegen.ors.limits import EXIT_WITHIN, SENDS
from tests.environments.echo import LingeringEcho
from tests.support.applications import answering, hanging
from tests.support.processes import Program
from tests.support.servers import RunningServer, running, serving_application

AT_MOST = EXIT_WITHIN + 3  # seconds; the interpreter needs some of its own on a busy machine

ENDINGS = {
    "the last line": ("ready()", 0),
    "an exception": ("ready(); raise RuntimeError('training broke')", 1),
    "sessions that are still opening": ("ready(); adapters[0].reset(task_index=0, prompt_digest='sha256:0')", 0),
    "a call that another thread waits for": (
        "call = threading.Thread(target=adapters[0].wait, kwargs={'seconds': 5}, daemon=True)\n"
        "call.start(); time.sleep(0.3); ready()",
        0,
    ),
}


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running(LingeringEcho) as server:
        yield server


def named(server: RunningServer) -> str:
    """The URL with a name in it, which has to be resolved once more for the connections that close the sessions."""
    return server.url.replace("127.0.0.1", "localhost")


@pytest.mark.parametrize("ending", ENDINGS)
def test_all_sessions_close_when_the_process_ends(server: RunningServer, ending: str) -> None:
    """Sixteen sessions, each of which takes a while to close, are gone without anybody having closed them."""
    last_lines, status = ENDINGS[ending]
    program = Program(f"adapters = opened(16)\n{last_lines}", named(server))
    assert program.first_line == "ready\n", program.end()
    returned, seconds, _, errors = program.end()
    assert returned == status, errors
    assert seconds < AT_MOST
    assert server.live_sessions == []
    assert "Unclosed" not in errors and "Task was destroyed" not in errors


@pytest.mark.parametrize("begin", ["threading.Thread(target=work).start()", "ThreadPoolExecutor().submit(work)"])
def test_threads_that_python_waits_for_finish_their_work(server: RunningServer, begin: str) -> None:
    """The main thread ends first; theirs are closed once they are done, with the last call and a further session."""
    source = f"""
        from concurrent.futures import ThreadPoolExecutor
        adapters = opened(2)
        def work():
            time.sleep(0.7)
            print(adapters[0].echo(text="word0"), flush=True)
            adapters[0].reset(task_index=1)
            print(adapters[0].echo(text="word1"), adapters[1].wait(seconds=0.1), flush=True)
        {begin}
        ready()
    """
    program = Program(source, named(server))
    status, _, output, errors = program.end()
    assert (status, output, errors) == (0, "match\nmatch waited\n", "")
    assert server.live_sessions == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_closes_the_sessions_and_still_ends_the_process(server: RunningServer, number: int) -> None:
    """Without a handler of the program's own, the process dies of the signal, after its sessions have closed."""
    program = Program("adapters = opened(16)\nready()\ntime.sleep(60)", named(server))
    assert len(server.live_sessions) == 16
    program.signal(number)
    status, seconds, _, errors = program.end()
    assert (status, errors) == (-number, "")
    assert seconds < AT_MOST
    assert server.live_sessions == []


def test_sigterm_where_other_threads_made_the_adapters(server: RunningServer) -> None:
    """Only the main thread can arrange for the signal, and all that it makes here is the spec."""
    source = """
        spec = OpenRewardSpec(Echo, base_url=sys.argv[1], variant="lingeringecho")
        def work():
            global adapter
            adapter = spec.environment_factory()
            adapter.reset(task_index=0)
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
        ready()
        time.sleep(60)
    """
    program = Program(source, named(server))
    assert len(server.live_sessions) == 1
    program.signal(signal.SIGTERM)
    status, _, _, errors = program.end()
    assert (status, server.live_sessions) == (-signal.SIGTERM, []), errors


def test_sigterm_in_the_middle_of_a_call(server: RunningServer) -> None:
    """The main thread waits for a tool, as it does in `GRPOTrainer`; the signal is handled all the same."""
    program = Program("adapters = opened(4)\nready()\nadapters[0].wait(seconds=5)", named(server))
    program.signal(signal.SIGTERM)
    status, seconds, _, _ = program.end()
    assert (status, server.live_sessions) == (-signal.SIGTERM, [])
    assert seconds < AT_MOST


def test_sigterm_reaches_the_handler_that_was_there(server: RunningServer) -> None:
    """A trainer that saves a checkpoint on SIGTERM still does, and the sessions are closed by then."""
    source = """
        def save(*_):
            print("saved", flush=True)
            sys.exit(7)
        signal.signal(signal.SIGTERM, save)
        adapters = opened(4)
        ready()
        time.sleep(60)
    """
    program = Program(source, named(server))
    program.signal(signal.SIGTERM)
    status, _, output, _ = program.end()
    assert (status, output) == (7, "saved\n")
    assert server.live_sessions == []


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_an_ignored_signal_stays_ignored(server: RunningServer, name: str) -> None:
    """A process that is meant to survive it, as `nohup` does with SIGHUP, survives it, with its sessions."""
    source = f"""
        signal.signal(signal.{name}, signal.SIG_IGN)
        adapters = opened(1)
        ready()
        os.kill(os.getpid(), signal.{name})
        print(adapters[0].echo(text="word0"))
    """
    program = Program(source, named(server))
    status, _, output, _ = program.end()
    assert (status, output) == (0, "match\n")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_of_multiprocessing_have_sessions_of_their_own(server: RunningServer, method: str) -> None:
    """A child opens and leaves its own sessions, which close with it; those of its parent stay open meanwhile."""
    source = f"""
        import multiprocessing
        from tests.runtime.children import roll_out
        adapters = opened(2)
        context = multiprocessing.get_context("{method}")
        factory = OpenRewardSpec(Echo, base_url=sys.argv[1], variant="lingeringecho").environment_factory
        child = context.Process(target=roll_out, args=(factory, adapters[0] if "{method}" == "fork" else None))
        child.start()
        child.join()
        assert child.exitcode == 0, child.exitcode
        ready()
        time.sleep(60)
    """
    program = Program(source, named(server))
    assert program.first_line == "ready\n", program.end()
    assert len(server.live_sessions) == 2
    program.signal(signal.SIGTERM)
    program.end()
    assert server.live_sessions == []


def test_a_server_that_hangs_does_not_keep_the_process() -> None:
    """The sessions cannot close, and the process ends all the same, with a warning of how many there are."""
    with serving_application(hanging(("/delete",), Server([LingeringEcho]).app)) as hung:
        program = Program("adapters = opened(2)\nready()", hung.url)
        status, seconds, _, errors = program.end()
        assert (status, errors) == (
            0,
            f"Sessions of lingeringecho at {hung.url} may still be open on the server: 2 could not be deleted within "
            "2 seconds. The server gives them up when it has heard no ping of them for a while.\n",
        )
        assert seconds < AT_MOST


PLAYING = """
def play(number):
    adapter = OpenRewardSpec(Echo, base_url=sys.argv[1], variant="lingeringecho").environment_factory()
    while True:
        adapter.reset(task_index=number)
        adapter.wait(seconds=0.02)

def player(number):
    try:
        play(number)
    except SessionError as error:
        assert "the process is ending" in str(error) or "was closed" in str(error), error

from orl_codegen.errors import SessionError
adapters = opened(1)
for number in range(16):
    threading.Thread(target=player, args=[number], daemon=True).start()
time.sleep(0.5)
ready()
"""
"""Sixteen threads that open one session after another."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_other_threads_go_on_opening_sessions(server: RunningServer, number: int) -> None:
    """None opens behind the back of those that close."""
    program = Program(PLAYING + "time.sleep(60)", named(server))
    program.signal(number)
    status, seconds, _, errors = program.end()
    assert (status, server.live_sessions) == (-number, []), errors
    assert seconds < AT_MOST


def test_a_handler_that_goes_on_finds_that_sessions_open_again(server: RunningServer) -> None:
    """A trainer may finish its step after SIGTERM: nothing opens while the sessions close, and later it does."""
    source = """
        signal.signal(signal.SIGTERM, lambda *_: print("noted", flush=True))
        adapters = opened(2)
        ready()
        time.sleep(1)
        print(adapters[0].wait(seconds=0), adapters[0].reset(task_index=3), adapters[0].echo(text="word3"))
    """
    program = Program(source, named(server))
    program.signal(signal.SIGTERM)
    status, _, output, errors = program.end()
    assert (status, output) == (
        0,
        "noted\nThe environment has failed and takes no more calls. Echo 'word3' to win. match\n",
    ), errors


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_second_signal_does_not_cut_off_the_closing(first: int) -> None:
    """It takes effect behind it: here SIGINT, which is a KeyboardInterrupt that would leave the wait for the server."""
    with running(LingeringEcho, latency=0.5) as slow:
        program = Program("adapters = opened(2)\nready()\ntime.sleep(60)", slow.url)
        program.signal(first)
        time.sleep(0.1)
        assert len(slow.live_sessions) == 2
        program.signal(signal.SIGINT)
        status, seconds, _, _ = program.end()
        assert status in (-first, -signal.SIGINT)
        assert slow.live_sessions == []
        assert seconds < AT_MOST


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_third_signal_ends_the_process_at_once(number: int) -> None:
    """Where the server does not answer, nobody has to wait for it."""
    with serving_application(hanging(("/delete",), Server([LingeringEcho]).app)) as hung:
        program = Program("adapters = opened(2)\nready()\ntime.sleep(60)", hung.url)
        program.signal(number)
        for _ in range(2):
            time.sleep(0.3)
            program.signal(number)
        status, seconds, _, _ = program.end()
    assert status == -number
    assert seconds < EXIT_WITHIN / 2


def test_ctrl_c_while_python_waits_for_a_pool_of_threads(server: RunningServer) -> None:
    """The main thread has ended; the signal ends the wait that comes before our hook, and with it the hook."""
    source = """
        from concurrent.futures import ThreadPoolExecutor
        adapters = opened(4)
        ThreadPoolExecutor().submit(time.sleep, 1.5)
        ready()
    """
    program = Program(source, named(server))
    time.sleep(0.5)
    program.signal(signal.SIGINT)
    _, _, _, errors = program.end()
    assert server.live_sessions == [], errors


def test_a_signal_while_the_server_creates_a_session() -> None:
    """It is deleted as soon as the server knows it."""
    with running(LingeringEcho, latency=0.5) as slow:
        source = """
            spec = OpenRewardSpec(Echo, base_url=sys.argv[1], variant="lingeringecho")
            adapter = spec.environment_factory()
            threading.Thread(target=adapter.reset, daemon=True).start()
            time.sleep(0.8)
            ready()
            time.sleep(60)
        """
        program = Program(source, slow.url)
        program.signal(signal.SIGTERM)
        status, _, _, errors = program.end()
        assert "POST /create" in slow.paths()
        assert (status, slow.live_sessions) == (-signal.SIGTERM, []), errors


def test_a_session_that_cannot_be_deleted_is_named_once(server: RunningServer) -> None:
    """The request is sent again first; a warning says which environment it was, and not how often."""
    with serving_application(answering({"/delete": 500}, Server([LingeringEcho]).app)) as broken:
        program = Program("adapters = opened(3)\nready()\nadapters.clear()\ntime.sleep(4)", broken.url)
        status, _, _, errors = program.end()
        assert (status, errors) == (
            0,
            f"A session of lingeringecho at {broken.url} may still be open on the server: it could not be deleted "
            "(HTTP 500). The server gives it up when it has heard no ping of it for a while. Further ones are not "
            "reported.\n",
        )
        assert broken.paths().count("POST /delete") == 3 * SENDS


def test_a_reset_that_fails_leaves_nothing_open(server: RunningServer) -> None:
    """Neither at the server, nor in the process, which goes on and opens another session."""
    source = """
        adapters = opened(1)
        try:
            adapters[0].reset(task_index=10_000)
        except Exception as error:
            print(type(error).__name__, flush=True)
        time.sleep(0.2)
        time.sleep(60)
    """
    program = Program(source, named(server))
    assert program.first_line == "SessionError\n"
    assert server.wait_for_sessions(0) == 0
    program.signal(signal.SIGTERM)
    program.end()
