"""Forks at random moments while other threads play: every child plays, and the parent does not notice."""

from __future__ import annotations

from collections.abc import Iterator

from tests.reliability.figures import Figure
from tests.reliability.interruption.clients import serving, training

CHILD_WITHIN = 10  # seconds

FORKING = f"""
import random
from orl_codegen.sessions.loop import close_sessions

chosen = random.Random(int(SEED))
spec = OpenRewardSpec(Echo, base_url=sys.argv[1], variant="lingeringecho")
adapters = [spec.environment_factory() for _ in range(8)]
wrong, ended = [], threading.Event()

def play(number):
    adapter = adapters[number]
    while not ended.is_set():
        adapter.reset(task_index=number)
        said = adapter.wait(seconds=0.01), adapter.echo(text=f"word{{number}}")
        if said != ("waited", "match") or adapter.failure:
            wrong.append(("parent", number, said, adapter.failure))

def child(adapter):
    adapter._score(), adapter.reward, adapter._awaits_message()
    adapter.reset(task_index=50)
    assert adapter.echo(text="word50") == "match", adapter.failure
    close_sessions()

def status(pid):
    deadline = time.monotonic() + {CHILD_WITHIN}
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hangs"

threads = [threading.Thread(target=play, args=[number]) for number in range(len(adapters))]
for thread in threads:
    thread.start()
for fork in range(int(COUNT)):
    time.sleep(chosen.random() * 0.1)
    pid = os.fork()
    if not pid:
        try:
            child(chosen.choice(adapters))
        except BaseException as error:
            print("child", repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        if fork % 2:
            sys.exit()
        os._exit(0)
    if (how := status(pid)) != 0:
        wrong.append(("child", fork, how))
ended.set()
for thread in threads:
    thread.join()
print(wrong)
"""


def forks(seed: int, share: float) -> Iterator[Figure]:
    """The figure of this module."""
    count = max(2, round(20 * share))
    with serving() as server:
        client = training(FORKING.replace("SEED", str(seed)).replace("COUNT", str(count)), server)
        ended = client.ended(within=20 + 2 * count)
    right = (ended.status, ended.output, ended.errors, ended.left) == (0, "[]\n", "", 0)
    yield Figure(
        f"{count} forks while 8 threads play",
        "every child played, and so did the parent" if right else "some did not",
        right,
        () if right else (f"--seed {seed}: {ended}",),
    )
