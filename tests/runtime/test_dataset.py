"""The dataset: which tasks it holds, what each row says, and how few requests that takes."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import random
from pathlib import Path
from typing import Any

import pytest

from orl_codegen import OpenRewardSpec, combine
from orl_codegen.errors import PromptMismatch, ServerError, SessionError, UsageError
from orl_codegen.trl.dataset import RESERVED
from orl_codegen.trl.rewards import last_reward
from tests.environments.echo import Echo
from tests.runtime import adapters
from tests.support import ranks
from tests.support.applications import answering
from tests.support.environments import environment, spec
from tests.support.servers import RunningServer, dead_url, running, serving_application

EMPTY = [{"role": "user", "content": ""}]


def spec_of(server: RunningServer, adapter: Any = adapters.Echo, **options: Any) -> OpenRewardSpec:
    return OpenRewardSpec(adapter, base_url=server.url, **options)


def test_the_first_tasks(server: RunningServer) -> None:
    """`num_tasks` fetches those, and no others, with one request; a range beyond the end is cut."""
    dataset = spec_of(server, num_tasks=64).train_dataset
    assert dataset["task_index"] == list(range(64))
    assert dataset[5] == {"prompt": EMPTY, "split": "train", "task_index": 5, "word": "word5", "level": 5}
    assert server.paths() == ["POST /echo/task_range"]
    assert len(spec_of(server, num_tasks=1000).train_dataset) == 100


def test_more_tasks_than_there_are(server: RunningServer, caplog: pytest.LogCaptureFixture) -> None:
    """One warning says how many there are; a number that is there needs none."""
    spec = spec_of(server, num_tasks=1000)
    assert len(spec.train_dataset) == len(spec.rows) == 100
    spec_of(server, num_tasks=100).train_dataset  # noqa: B018
    assert [record.getMessage() for record in caplog.records if record.name.startswith("orl_codegen")] == [
        "num_tasks=1000, but the split train has 100 tasks: the dataset has all of them."
    ]


def test_all_tasks_and_another_split(server: RunningServer) -> None:
    """Without `num_tasks` and `indices`, the dataset is the whole split."""
    assert len(spec_of(server).train_dataset) == 100
    assert spec_of(server, split="test").train_dataset["word"] == ["alpha", "beta"]
    rollout = spec_of(server, split="test").environment_factory()
    assert rollout.reset(task_index=1) == "Echo 'beta' to win."
    assert rollout.reset(task_index=1, split="train") == "Echo 'word1' to win."
    rollout._close()


def test_scattered_indices(server: RunningServer) -> None:
    """In the order that was asked for, repeated where asked for twice, with few requests for ranges."""
    dataset = spec_of(server, indices=[7, 3, 7, 99]).train_dataset
    assert dataset["task_index"] == [7, 3, 7, 99]
    assert dataset["word"] == ["word7", "word3", "word7", "word99"]
    assert server.paths() == ["POST /echo/task_range"] * 2


def test_many_scattered_indices() -> None:
    """Small tasks between two that are wanted are fetched along with them; large ones are not."""
    tasks = {
        "train": [{"number": number} for number in range(20_000)],
        "large": [{"number": number, "text": "x" * 20_000} for number in range(200)],
    }
    indices = random.Random(9).sample(range(20_000), 1000)
    with running(environment([spec("look")], tasks=tasks)) as server:
        dataset = spec_of(server, variant="made", indices=indices, verify=False).train_dataset
        assert dataset["number"] == dataset["task_index"] == indices
        assert server.paths().count("POST /made/task_range") == len(server.paths()) <= 60
        server.requests.clear()
        dataset = spec_of(server, variant="made", split="large", indices=[0, 1, 2, 4, 50, 100], verify=False)
        assert [row["number"] for row in dataset.rows] == [0, 1, 2, 4, 50, 100]
        assert server.paths() == ["POST /made/task_range"] * 4


def test_indices_too_far_from_each_other_for_ranges(server: RunningServer) -> None:
    """Each is asked for by itself, all at once."""
    with pytest.raises(UsageError):
        spec_of(server, indices=[0, 1000, 2000]).train_dataset  # noqa: B018
    assert server.paths()[:3] == ["POST /echo/task"] * 3
    server.requests.clear()
    assert spec_of(server, indices=[42]).train_dataset["word"] == ["word42"]
    assert server.paths() == ["POST /echo/task"]


def test_a_run_of_indices_is_one_range(server: RunningServer) -> None:
    """Up to the size of the first range, which shows how large the tasks are."""
    assert spec_of(server, indices=range(20, 84)).train_dataset["task_index"] == list(range(20, 84))
    assert server.paths() == ["POST /echo/task_range"]


def test_a_server_that_answers_with_other_ranges() -> None:
    """More tasks than were asked for cannot be told apart: an error, where taking the first would train on others."""
    body = json.dumps({"tasks": [{"word": "a"}, {"word": "b"}]}).encode()
    with (
        serving_application(answering({"/echo/task_range": body})) as server,
        pytest.raises(ServerError, match="more tasks than it was asked for"),
    ):
        spec_of(server, indices=[5, 7, 9]).train_dataset  # noqa: B018


def test_nothing_is_asked_before_it_is_needed(server: RunningServer) -> None:
    """Neither the spec, nor the factory, nor an adapter costs a request."""
    spec = spec_of(server, num_tasks=2)
    spec.environment_factory(), spec.reward_funcs
    assert server.requests == []


def test_a_server_without_the_range_route(server: RunningServer) -> None:
    """Older servers are asked for the number of tasks, and for each task, at the same time."""
    from openreward.environments import Server

    app = Server([Echo]).app

    async def older(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/task_range"):
            scope = scope | {"path": "/echo/no_such_route"}
        await app(scope, receive, send)

    with serving_application(older) as old:
        assert spec_of(old, num_tasks=5).train_dataset["word"] == [f"word{number}" for number in range(5)]
        assert spec_of(old, indices=[7, 3, 7]).train_dataset["word"] == ["word7", "word3", "word7"]
        assert len(spec_of(old).train_dataset) == 100


def test_columns_never_collide_and_nothing_is_lost(server: RunningServer) -> None:
    """Fields with a name that TRL has other uses for are renamed; values of mixed types or keys become JSON text."""
    dataset = spec_of(server, adapters.Vault).train_dataset
    assert dataset["prompt"] == [EMPTY] * 3 and dataset["task_index"] == [0, 1, 2]
    assert dataset["task_prompt"] == ["taken", None, None] and dataset["task_prompt_"] == ["raw", None, None]
    assert dataset["task_task_index"] == [17, None, None]
    assert dataset["task_environment"] == ["desert", None, None] and dataset["task_split"] == ["pea", None, None]
    assert dataset["task_image"] == [None, "cat.png", None]
    assert dataset["mixed"] == ["1", '"one"', '[1, "one"]']
    assert dataset["huge"] == [None, None, str(2**80)]
    assert dataset["id"] == [0, 1, 2]
    assert dataset["nested"] == [None, '{"a": [1, 2]}', '{"b": {"c": null}}']
    assert not RESERVED.intersection(dataset.column_names) - {"prompt", "split", "task_index"}
    rollout = spec_of(server, adapters.Vault).environment_factory()
    assert rollout.reset(**dataset[1]) == "Keys: []"
    rollout._close()


def test_without_metadata(server: RunningServer) -> None:
    """Only what the adapter needs."""
    dataset = spec_of(server, num_tasks=2, include_metadata=False).train_dataset
    assert dataset.column_names == ["prompt", "split", "task_index"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"split": "dev"}, "no split dev. It has: test, train"),
        ({"variant": "kitchen"}, "no environment kitchen. It has: contest, dialogue, echo"),
        ({"indices": [3, 500]}, "has 100 tasks, so there is no task 500"),
        ({"indices": [99, 100, 101]}, "has 100 tasks, so there is no task 100"),
    ],
)
def test_what_is_not_there(server: RunningServer, options: dict[str, Any], expected: str) -> None:
    """The message lists what is."""
    with pytest.raises(UsageError, match=expected):
        spec_of(server, **options).train_dataset  # noqa: B018


def test_a_server_that_is_not_there() -> None:
    """The message says which."""
    with pytest.raises(ServerError, match=r"echo at http://127.0.0.1"):
        OpenRewardSpec(adapters.Echo, base_url=dead_url(), num_tasks=1).train_dataset  # noqa: B018


def test_prompts_in_the_dataset(server: RunningServer) -> None:
    """They stand there, `reset` returns at once, and the session is there for the first call."""
    dataset = spec_of(server, num_tasks=3, prompts="dataset").train_dataset
    assert dataset["prompt"][2] == [{"role": "user", "content": "Echo 'word2' to win."}]
    assert server.wait_for_sessions(0) == 0
    rollout = spec_of(server, prompts="dataset").environment_factory()
    assert rollout.reset(**dataset[2]) is None
    assert rollout.echo(text="word2") == "match"


def test_a_conversation_in_the_dataset(server: RunningServer) -> None:
    """System turns, calls and their results are messages of TRL's; a session's own prompt would be flat text."""
    spec = spec_of(server, adapters.Dialogue, indices=[1], prompts="dataset")
    system, question, call, result, last = spec.train_dataset["prompt"][0]
    assert (system["role"], system["content"]) == ("system", "Be brief.")
    assert question["content"] == "What is in the box?"
    assert call["reasoning_content"] == "I should look."
    assert call["tool_calls"] == [{"type": "function", "function": {"name": "look", "arguments": '{"where": "box"}'}}]
    assert (result["role"], result["name"], result["content"]) == ("tool", "look", "a cat")
    assert (last["role"], last["content"]) == ("user", "Is it red?")
    rollout = spec.environment_factory()
    assert rollout.reset(**spec.train_dataset[0]) is None
    assert rollout.nothing() == "(no output)"
    rollout._close()


def test_images_in_the_dataset(server: RunningServer) -> None:
    """TRL's prompts say where an image stands, and its column `images` holds them."""
    from trl.data_utils import prepare_multimodal_messages

    dataset = spec_of(server, adapters.Gallery, prompts="dataset", images="pil").train_dataset
    assert [len(images) for images in dataset["images"]] == [0, 1, 1]
    prompt = prepare_multimodal_messages(dataset[1]["prompt"], images=dataset[1]["images"])
    assert [part["type"] for part in prompt[0]["content"]] == ["text", "image", "text"]
    assert prompt[0]["content"][1]["image"].getpixel((0, 0)) == (255, 0, 0)
    text = spec_of(server, adapters.Gallery, prompts="dataset").train_dataset
    assert text["prompt"][1] == [{"role": "user", "content": "Look:\n[image: image/png]\nWhat do you see?"}]


def test_a_prompt_that_is_another_each_time(server: RunningServer) -> None:
    """The model would answer what the session does not ask: whatever comes next raises, and says what to do instead."""
    spec = spec_of(server, adapters.MoodyEcho, indices=[5], prompts="dataset")
    rollout = spec.environment_factory()
    rollout.reset(**spec.train_dataset[0])
    with pytest.raises(PromptMismatch, match=r'delete the folder that cache_dir= names.*prompts="session"'):
        rollout.echo(text="hello")
    with pytest.raises(PromptMismatch):
        last_reward(completions=[""], environments=[rollout])
    with pytest.raises(PromptMismatch):
        rollout.reset(**spec.train_dataset[0])


def test_a_session_that_cannot_be_opened_behind_the_first_turn(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TRL turns what a tool raises into text for the model, so the reward function raises it again."""
    from orl_codegen.ors import limits

    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.1)
    rollout = spec_of(server, adapters.MoodyEcho).environment_factory()
    rollout.reset(task_index=1, prompt_digest="sha256:0")
    with pytest.raises(SessionError):
        rollout.echo(text="hello")
    lenient = spec_of(server, adapters.MoodyEcho, on_reset_failure="unscored").environment_factory()
    lenient.reset(task_index=1, prompt_digest="sha256:0")
    assert "failed" in lenient.echo(text="hello")
    assert last_reward(completions=[""], environments=[lenient]) == [None]
    with pytest.raises(SessionError):
        last_reward(completions=[""], environments=[rollout])


def test_fetching_prompts_stops_at_the_first_error(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """And leaves nothing open."""
    from orl_codegen.ors import limits

    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.1)
    with pytest.raises(SessionError, match="no sandbox for you"):
        spec_of(server, adapters.MoodyEcho, prompts="dataset").train_dataset  # noqa: B018
    assert server.wait_for_sessions(0) == 0


def test_tasks_whose_prompt_cannot_be_fetched_are_left_out(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With `on_reset_failure="unscored"` the others train, after one warning, unless there are no others."""
    from orl_codegen.ors import limits

    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.1)
    lenient: dict[str, Any] = {"prompts": "dataset", "on_reset_failure": "unscored"}
    dataset = spec_of(server, adapters.MoodyEcho, indices=[0, 1, 3, 1], **lenient).train_dataset
    assert dataset["task_index"] == [0, 3] and dataset["mood"] == ["well", "broken tool"]
    assert caplog.text.count("2 of 4 tasks were left out of the dataset. No session of moodyecho") == 1
    assert "no sandbox for you" in caplog.text and "on_reset_failure" not in caplog.text
    with pytest.raises(SessionError, match=r"Check the server log\.$"):
        spec_of(server, adapters.MoodyEcho, indices=[1], **lenient).train_dataset  # noqa: B018


@pytest.mark.parametrize(("progress", "lines"), [(None, 0), (False, 0), (True, 10)])
def test_progress(server: RunningServer, capfd: pytest.CaptureFixture[str], progress: Any, lines: int) -> None:
    """Where there is no terminal, as in a log, it is shown only if asked for: a line now and then."""
    spec_of(server, num_tasks=20, prompts="dataset", progress=progress).train_dataset  # noqa: B018
    shown = [line for line in capfd.readouterr().err.splitlines() if "Fetching" in line]
    assert len(shown) == lines
    assert shown[-1:] == ["Fetching prompts: 20 of 20"] * bool(lines)


@pytest.mark.parametrize(("progress", "shown"), [(None, True), (False, False)])
def test_progress_on_a_terminal(server: RunningServer, tmp_path: Path, progress: Any, shown: bool) -> None:
    """There it is shown unless it is not wanted."""
    ours, theirs = pty.openpty()
    program = ranks.rows(server.url, "Echo", num_tasks=2, prompts="dataset", progress=progress)
    environment = ranks.of_rank(0, 1, tmp_path) | {"TERM": "xterm"}
    process = ranks.start(*program, environment=environment, errors=theirs)
    assert len(ranks.results(process)[0]["rows"]) == 2
    os.close(theirs)
    assert ("Fetching prompts" in _read_to_the_end(ours)) == shown


def _read_to_the_end(terminal: int) -> str:
    text = b""
    with contextlib.suppress(OSError), open(terminal, "rb", buffering=0) as file:
        while piece := file.read(4096):
            text += piece
    return text.decode()


def test_prompts_that_are_kept(server: RunningServer, tmp_path: Path) -> None:
    """With `cache_dir`, the next run opens no session for them, in files that nobody else can read; without, there is
    no file."""
    options: dict[str, Any] = {"num_tasks": 3, "prompts": "dataset", "api_key": "key-A1", "secrets": {"TOKEN": "pw-B2"}}
    rows = spec_of(server, cache_dir=tmp_path / "kept", **options).rows
    assert server.wait_for_sessions(0) == 0 and server.paths().count("POST /create") == 3
    assert spec_of(server, cache_dir=tmp_path / "kept", **options).rows == rows
    assert server.paths().count("POST /create") == 3
    assert spec_of(server, cache_dir=tmp_path / "kept", **options | {"num_tasks": 2}).rows == rows[:2]
    assert server.paths().count("POST /create") == 5, "other tasks"
    files = list((tmp_path / "kept").iterdir())
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
    assert len(files) >= 2 and {file.stat().st_mode & 0o777 for file in files} == {0o600}
    text = "".join(file.name + file.read_text() for file in files)
    assert "key-A1" not in text and "pw-B2" not in text


def test_what_else_prompts_depend_on(server: RunningServer, tmp_path: Path) -> None:
    """Another variant, split, server, contract or toolset has prompts of its own; a password is no part of it."""

    class Renewed(adapters.Echo):
        _environment = adapters.Echo._environment._replace(digest="sha256:1")

    def sessions(adapter: Any = adapters.Echo, **options: Any) -> int:
        server.requests.clear()
        url = options.pop("base_url", server.url)
        options = {"num_tasks": 1, "prompts": "dataset", "verify": False, "cache_dir": tmp_path} | options
        OpenRewardSpec(adapter, base_url=url, **options).train_dataset  # noqa: B018
        return server.paths().count("POST /create")

    assert [sessions(), sessions()] == [1, 0]
    assert sessions(base_url=server.url.replace("//", "//user:pw-C3@")) == 0
    for different in (
        {"variant": "slowecho"},
        {"split": "test"},
        {"base_url": server.url.replace("127.0.0.1", "localhost")},
    ):
        assert [sessions(**different), sessions(**different)] == [1, 0], different
    assert [sessions(Renewed), sessions(Renewed)] == [1, 0]
    assert [sessions(toolset="codex"), sessions(toolset="codex")] == [1, 0]
    assert not any("pw-C3" in file.read_text() for file in tmp_path.iterdir())


def test_images_are_made_of_kept_prompts(server: RunningServer, tmp_path: Path) -> None:
    """What is kept is what the server said, so the arguments that rows are built with may change."""
    options: dict[str, Any] = {"prompts": "dataset", "cache_dir": tmp_path}
    pictures = spec_of(server, adapters.Gallery, images="pil", **options).train_dataset
    text = spec_of(server, adapters.Gallery, include_metadata=False, **options).train_dataset
    assert server.paths().count("POST /create") == 3
    assert pictures[1]["images"][0].getpixel((0, 0)) == (255, 0, 0)
    assert text["prompt"][1] == [{"role": "user", "content": "Look:\n[image: image/png]\nWhat do you see?"}]


@pytest.mark.parametrize(
    "damage",
    [lambda text: text[:-9], lambda text: text.replace(b"word1", b"word7"), lambda _: b"[]\n", lambda _: b"\xff"],
)
def test_a_kept_file_that_is_damaged(
    server: RunningServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Any
) -> None:
    """It is not used, one line says so, and it is written anew."""
    options: dict[str, Any] = {"num_tasks": 2, "prompts": "dataset", "cache_dir": tmp_path}
    rows = spec_of(server, **options).rows
    (file,) = tmp_path.glob("*.jsonl")
    file.write_bytes(damage(file.read_bytes()))
    assert spec_of(server, **options).rows == spec_of(server, **options).rows == rows
    assert server.paths().count("POST /create") == 4
    assert caplog.text.count(f"{file} is damaged or of another origin") == 1


def test_prompts_that_could_not_be_fetched_are_not_kept(
    server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run tries again: it would be without those tasks for good."""
    from orl_codegen.ors import limits

    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.1)
    options: dict[str, Any] = {"prompts": "dataset", "on_reset_failure": "unscored", "cache_dir": tmp_path}
    for _ in range(2):
        assert len(spec_of(server, adapters.MoodyEcho, indices=[0, 1], **options).rows) == 1
    assert server.paths().count("POST /create") == 2 * (1 + limits.OPENINGS)
    assert not list(tmp_path.glob("*.jsonl"))


def test_a_folder_that_cannot_be_used(server: RunningServer, tmp_path: Path) -> None:
    """The message names the argument."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cache_dir=.*file cannot be used.*Pass a folder"):
        spec_of(server, num_tasks=1, prompts="dataset", cache_dir=tmp_path / "file").train_dataset  # noqa: B018


def test_several_environments_in_one_dataset(server: RunningServer) -> None:
    """The column `environment` says which; columns are united; prompts with and without images go together."""
    both = combine(
        {
            "echo": spec_of(server, num_tasks=2),
            "gallery": spec_of(server, adapters.Gallery, prompts="dataset", images="pil"),
        }
    )
    dataset = both.train_dataset
    assert dataset["environment"] == ["echo", "echo", "gallery", "gallery", "gallery"]
    assert dataset["word"] == ["word0", "word1", None, None, None]
    assert dataset["color"] == [None, None, None, "red", "blue"]
    assert dataset[0]["prompt"] == [{"role": "user", "content": [{"type": "text", "text": ""}]}]
    assert set(both.environment_factory) == {"echo", "gallery"}
    with pytest.raises(UsageError, match="at least one"):
        combine({})


def test_two_servers_in_one_process(server: RunningServer) -> None:
    """Each spec talks to its own URL, and to that alone, whatever the environment variables say."""
    with running(Echo) as other, pytest.MonkeyPatch.context() as patch:
        for name in ("OPENREWARD_URL", "OPENREWARD_API_URL", "OPENREWARD_SESSION_URL"):
            patch.setenv(name, dead_url())
        patch.setenv("OPENREWARD_API_KEY", "platform-key")
        for spec in (spec_of(server), spec_of(other)):
            rollout = spec.environment_factory()
            rollout.reset()
            rollout.echo(text="word0")
        assert other.wait_for_sessions(0) == server.wait_for_sessions(0) == 0
    assert sorted(server.paths()) == sorted(other.paths()) and len(other.paths()) == 7
    for request in [*server.requests, *other.requests]:
        assert "x-api-key" not in request.headers and "x-secrets" not in request.headers


def test_a_key_that_is_passed_goes_to_the_url(server: RunningServer) -> None:
    """With each request."""
    rollout = spec_of(server, api_key="mine").environment_factory()
    rollout.reset()
    rollout._close()
    server.wait_for_sessions(0)
    assert {request.headers.get("x-api-key") for request in server.requests if request.path != "/ping"} == {"mine"}


def test_a_catalog_name_is_reached_at_the_platform_with_its_key(server: RunningServer) -> None:
    """The platform's address is the SDK's, and only it gets the key of the environment variable."""
    from orl_codegen.runtime import Environment

    class Listed(adapters.Echo):
        _environment = Environment(target="Owner/Echo", variant="echo")

    with pytest.raises(UsageError, match="OPENREWARD_API_KEY"):
        OpenRewardSpec(Listed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENREWARD_SESSION_URL", server.url)
        patch.setenv("OPENREWARD_API_KEY", "platform-key")
        assert len(OpenRewardSpec(Listed, num_tasks=2).train_dataset) == 2
        with pytest.raises(UsageError, match="MY_TOKEN"):
            OpenRewardSpec(Listed, secrets={"MY_TOKEN": "hush"})
        OpenRewardSpec(Listed, secrets={"MY_TOKEN": ("hush", ["example.org"]), "OPENAI_API_KEY": "hush"})
        OpenRewardSpec(Listed, base_url=server.url, num_tasks=1).train_dataset  # noqa: B018
    keys = [request.headers.get("x-api-key") for request in server.requests if request.path.endswith("task_range")]
    assert keys == ["platform-key", None]
    assert {request.headers.get("x-deployment") for request in server.requests} == {"Owner/Echo", "echo"}


def test_an_adapter_of_a_python_class_needs_a_url() -> None:
    """The message says how to get one."""
    with pytest.raises(UsageError, match=r"with serve\('tests.environments.echo:Echo'\) as url"):
        OpenRewardSpec(adapters.Echo)
