"""Several processes of one run: they fetch tasks and prompts once, and each plays its own sessions."""

from __future__ import annotations

import os
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import ServerError
from orl_codegen.ors import limits
from tests.runtime import adapters
from tests.support import ranks
from tests.support.servers import RunningServer, dead_url

PLAY = """
spec = OpenRewardSpec(adapters.Echo, base_url=sys.argv[1], num_tasks=4, prompts="dataset")
mine = spec.train_dataset.select([2 * RANK, 2 * RANK + 1])
rollouts = [spec.environment_factory() for _ in mine]
for rollout, row in zip(rollouts, mine):
    rollout.reset(**row)
done(said=[rollout.echo(text=row["word"]) for rollout, row in zip(rollouts, mine)])
"""

TRAIN = """
from pathlib import Path
from tests.support.grpo import play_echo, train

spec = OpenRewardSpec(adapters.Echo, base_url=sys.argv[1], num_tasks=2, prompts="dataset")
trainer = train(spec, play_echo, Path(sys.argv[2]), batch=2)
rewards = [rollout.reward for rollout in trainer.environments]
done(size=trainer.accelerator.num_processes, tasks=[row["task_index"] for row in spec.rows], reward=rewards)
"""


def creates(server: RunningServer) -> int:
    return server.paths().count("POST /create")


@pytest.mark.parametrize("size", [1, 2])
def test_each_prompt_is_fetched_once(server: RunningServer, tmp_path: Path, size: int) -> None:
    """Two processes ask for what one asks for, and get the same rows; one leaves no file behind."""
    rows = ranks.rows_of(size, server.url, tmp_path / "cache", num_tasks=8, prompts="dataset")
    assert all(each == rows[0] for each in rows) and rows[0][7]["word"] == "word7"
    assert server.wait_for_sessions(0) == 0
    assert creates(server) == 8 and server.paths().count("POST /echo/task_range") == 1
    assert (tmp_path / "cache").exists() == (size > 1)


def test_tasks_are_fetched_once_without_prompts(server: RunningServer, tmp_path: Path) -> None:
    """With `prompts="session"`, and for scattered indices too."""
    first, second = ranks.rows_of(2, server.url, tmp_path, indices=[7, 3, 7])
    assert first == second and [row["task_index"] for row in first] == [7, 3, 7]
    assert server.paths() == ["POST /echo/task_range"] * 2


def test_sessions_belong_to_the_rank_that_plays_them(server: RunningServer, tmp_path: Path) -> None:
    """On the server: as many as there are tasks, and as many as there are rollouts."""
    started = [
        ranks.start(*ranks.program(PLAY, server.url), environment=ranks.of_rank(rank, 2, tmp_path)) for rank in range(2)
    ]
    assert [found["said"] for found in ranks.results(*started)] == [["match", "match"]] * 2
    assert server.wait_for_sessions(0) == 0
    assert creates(server) == 4 + 4


def test_a_rank_alone_waits_for_nobody(server: RunningServer, tmp_path: Path) -> None:
    """The dataset may be used in one process only, and nothing of torch.distributed is needed for it."""
    program = ranks.rows(server.url, "Echo", num_tasks=2)
    alone = ranks.start(*program, environment=ranks.of_rank(1, 8, tmp_path))
    assert len(ranks.results(alone, within=60)[0]["rows"]) == 2


def test_a_task_that_is_left_out_is_left_out_everywhere(server: RunningServer, tmp_path: Path) -> None:
    """Otherwise the processes would train on datasets of different lengths, and wait for each other for good."""
    options: dict[str, Any] = {"indices": [0, 1, 3], "prompts": "dataset", "on_reset_failure": "unscored"}
    first, second = ranks.rows_of(2, server.url, tmp_path, "MoodyEcho", **options, cache_dir=str(tmp_path / "kept"))
    assert [row["task_index"] for row in first] == [row["task_index"] for row in second] == [0, 3]
    assert creates(server) == 2 + 3, "the broken one is tried three times"


def test_a_process_that_is_killed_leaves_no_lock(server: RunningServer, tmp_path: Path) -> None:
    """The system takes the lock from it, and the next process fetches."""
    program = ranks.rows(server.url, "SlowEcho", num_tasks=1, prompts="dataset")
    first = ranks.start(*program, environment=ranks.of_rank(0, 2, tmp_path))
    deadline = time.monotonic() + 30
    while not creates(server) and time.monotonic() < deadline:
        time.sleep(0.01)
    first.kill()
    first.communicate()
    second = ranks.start(*program, environment=ranks.of_rank(1, 2, tmp_path))
    assert len(ranks.results(second, within=60)[0]["rows"]) == 1
    for sid in server.live_sessions:  # of the process that was killed
        asked = urllib.request.Request(f"{server.url}/delete", method="POST", headers={"X-Session-ID": sid})
        urllib.request.urlopen(asked).close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of `datasets`, in a process that is one of two."""
    from datasets import config

    monkeypatch.setattr(config, "HF_DATASETS_CACHE", tmp_path)
    monkeypatch.setenv("WORLD_SIZE", "2")
    return tmp_path


def in_this_process(server: RunningServer, **options: Any) -> list[Any]:
    return OpenRewardSpec(adapters.Echo, base_url=server.url, num_tasks=1, **options).rows


def test_another_run_asks_again(server: RunningServer, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is of one run: a restart by torchrun does not see what was fetched before it; `cache_dir` does."""
    counts = []
    for restart, options in enumerate([{}, {}, {"cache_dir": cache / "kept"}, {"cache_dir": cache / "kept"}]):
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", str(restart))
        for _ in range(2):
            assert len(in_this_process(server, prompts="dataset", **options)) == 1
        counts.append(creates(server))
    assert counts == [1, 2, 3, 3]


def test_a_failure_is_no_answer(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one process could not fetch, the next tries by itself: each raises the error."""
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.1)
    for _ in range(2):
        with pytest.raises(ServerError, match="could not be fetched"):
            OpenRewardSpec(adapters.Echo, base_url=dead_url()).rows  # noqa: B018
    assert not list(cache.rglob("*.jsonl"))


def test_the_folder_of_a_run_is_private(server: RunningServer, cache: Path) -> None:
    """No other user can read it, or have put it there."""
    in_this_process(server)
    (home,) = cache.iterdir()
    (run,) = home.iterdir()
    assert [path.stat().st_mode & 0o777 for path in (home, run)] == [0o700] * 2
    assert {file.stat().st_mode & 0o777 for file in run.iterdir()} == {0o600}


def test_a_folder_that_others_can_write_to_is_not_used(
    server: RunningServer, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor one behind a symbolic link: the process asks for itself, and says so."""
    home = cache / f"orl-codegen-{os.getuid()}"
    home.mkdir()
    home.chmod(0o777)
    assert len(in_this_process(server)) == 1 and not list(home.iterdir())
    home.rmdir()
    (cache / "elsewhere").mkdir(mode=0o700)
    home.symlink_to(cache / "elsewhere")
    assert len(in_this_process(server)) == 1 and not list((cache / "elsewhere").iterdir())
    assert caplog.text.count("each ask the server for themselves") == 2


def test_folders_of_old_runs_are_removed(server: RunningServer, cache: Path) -> None:
    """Those of yesterday; neither what a symbolic link leads to, nor what is not a folder of a run."""
    home = cache / f"orl-codegen-{os.getuid()}"
    home.mkdir(mode=0o700)
    kept, linked = home / "notes", cache / "linked"
    for folder in (home / "run-old", kept, linked):
        folder.mkdir()
        (folder / "file").write_text("")
        os.utime(folder, (0, 0))
    (home / "run-linked").symlink_to(linked)
    (home / "run-new").mkdir()
    in_this_process(server)
    assert not (home / "run-old").exists() and (home / "run-new").exists()
    assert (kept / "file").exists() and (linked / "file").exists()


def test_torchrun(server: RunningServer, tmp_path: Path) -> None:
    """What it gives its processes is enough for them to find each other."""
    options = ("--standalone", "--nproc-per-node", "2")
    found = launched("torch.distributed.run", *options, source=PLAY, server=server, folder=tmp_path)
    assert [each["said"] for each in found] == [["match", "match"]] * 2
    assert creates(server) == 4 + 4


def test_a_step_of_grpo_in_two_processes(server: RunningServer, tmp_path: Path) -> None:
    """As `accelerate launch` starts them: each plays its part of the batch."""
    options = ("--multi_gpu", "--num_processes", "2", "--num_machines", "1", "--main_process_port", "0")
    precision = ("--mixed_precision", "no", "--dynamo_backend", "no")  # otherwise it warns of its defaults
    launcher = ("accelerate.commands.launch", *options, *precision)
    found = launched(*launcher, source=TRAIN, server=server, folder=tmp_path)
    assert [(each["rank"], each["size"], each["tasks"]) for each in found] == [(0, 2, [0, 1]), (1, 2, [0, 1])]
    assert [each["reward"] for each in found] == [[1.0, 1.0]] * 2
    assert server.wait_for_sessions(0) == 0
    assert creates(server) == 2 + 4


def launched(*launcher: str, source: str, server: RunningServer, folder: Path) -> list[Any]:
    """What the processes of a launcher have found, which is a module and its options."""
    script = folder / "script.py"
    script.write_text(ranks.OPENING + source)
    arguments = ("-m", *launcher, str(script), server.url, str(folder))
    return ranks.results(
        ranks.start(*arguments, environment={"HF_DATASETS_CACHE": str(folder), "OMP_NUM_THREADS": "1"})
    )
