"""However a process ends, no session of it is left on the server."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from openreward.environments import Server

from orl_codegen.ors.limits import EXIT_WITHIN
from tests.environments.echo import LingeringEcho
from tests.support.applications import hanging
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


def test_sigterm_closes_the_sessions_and_still_ends_the_process(server: RunningServer) -> None:
    """Without a handler of the program's own, the process dies of the signal, after its sessions have closed."""
    program = Program("adapters = opened(16)\nready()\ntime.sleep(60)", named(server))
    assert len(server.live_sessions) == 16
    program.signal(signal.SIGTERM)
    status, seconds, _, errors = program.end()
    assert status == -signal.SIGTERM, errors
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


def test_an_ignored_sigterm_stays_ignored(server: RunningServer) -> None:
    """A process that is meant to survive SIGTERM survives it, with its sessions."""
    source = """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        adapters = opened(1)
        ready()
        os.kill(os.getpid(), signal.SIGTERM)
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
    """The sessions cannot close, and the process ends all the same, without a word."""
    with serving_application(hanging(("/delete",), Server([LingeringEcho]).app)) as hung:
        program = Program("adapters = opened(2)\nready()", hung.url)
        status, seconds, _, errors = program.end()
        assert (status, errors) == (0, "")
        assert seconds < AT_MOST


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
