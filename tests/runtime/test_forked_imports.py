"""Forking while another thread plays its first rollout."""

from __future__ import annotations

from tests.support.processes import Program
from tests.support.servers import RunningServer


def test_a_fork_in_the_middle_of_an_import(server: RunningServer) -> None:
    """A child can use every module that a rollout needs: none of them is being imported by another thread."""
    source = """
        import multiprocessing
        from importlib.machinery import SourceFileLoader
        from tests.runtime.children import roll_out

        importing, execute = threading.Event(), SourceFileLoader.exec_module

        def slowly(self, module):
            if module.__name__.startswith("orl_codegen.") and not importing.is_set():
                importing.set()
                time.sleep(2)
            execute(self, module)

        factory = OpenRewardSpec(Echo, base_url=sys.argv[1]).environment_factory
        first = factory()
        SourceFileLoader.exec_module = slowly

        def play():
            first.reset()
            first.wait(seconds=0)
            first.reset(prompt_digest="none")
            first._close()

        thread = threading.Thread(target=play)
        thread.start()
        importing.wait(1)
        child = multiprocessing.get_context("fork").Process(target=roll_out, args=(factory,))
        child.start()
        child.join(6)
        print(child.exitcode)
        child.kill()
        thread.join()
    """
    program = Program(source, server.url)
    assert program.first_line == "0\n", program.end(20)
    program.end(20)
