"""What a server should not do: each ends in one clear paragraph, and with nothing left open."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace

import pytest
from openreward.environments import Server

from orl_codegen.errors import ServerError, TargetError, UsageError
from orl_codegen.generator.discovery import answers
from orl_codegen.generator.options import MAX_CONCURRENCY, MAX_PROBES, Options, parse_probe
from orl_codegen.generator.target import CatalogName, PythonClass, ServerURL, parse_target, slug_of, words_of
from tests.support.applications import answering, hanging, respond
from tests.support.discovery import take_snapshot
from tests.support.environments import environment, spec
from tests.support.servers import Application, dead_url, running, serving_application


def made() -> Application:
    app: Application = Server([environment([spec("a")])]).app
    return app


def failure(url: str, **options: object) -> str:
    """The message that discovery on a server ends with."""
    with pytest.raises(ServerError) as raised:
        take_snapshot(parse_target(url), replace(Options(), **options))  # type: ignore[arg-type]
    message = str(raised.value)
    assert "\n" not in message and message.isprintable() and message.endswith((".", "?"))
    return message


def test_a_dead_port() -> None:
    """Nothing listens: reported at once, with the address."""
    url = dead_url()
    message = failure(url)
    assert message.startswith(f"{url} could not be reached: ") and "Connection refused" in message
    assert message.endswith("Check that the server is running and the address is right.")


def test_a_server_that_answers_html() -> None:
    """A web page is not an ORS server, and the beginning of its text is shown, escaped."""

    async def page(scope: object, receive: object, send: object) -> None:
        await respond(send, 200, b"<!doctype html><title>\x1b[31mHello</title>", b"text/html")

    with serving_application(page) as server:
        message = failure(server.url)
    assert r"begins `<!doctype html><title>\x1b[31mHello</title>`. Is this the URL of an ORS server?" in message


@pytest.mark.parametrize("paths", [(), ("/create",)])
def test_a_server_that_hangs(paths: tuple[str, ...]) -> None:
    """Wherever a server stops to answer, the wait is bounded, and --timeout is named."""
    with serving_application(hanging(paths, made() if paths else None)) as server:
        began = time.monotonic()
        message = failure(server.url, timeout=1.0)
        assert time.monotonic() - began < 7
    assert re.search(r"within 1 seconds|longer than 1 seconds|Timeout", message) and "--timeout" in message


def test_a_session_that_hangs_at_its_tools_is_still_closed() -> None:
    """The probe that gave up deletes the session it had opened."""
    server = Server([environment([spec("a")])])
    with serving_application(hanging(("/made/task_tools",), server.app)) as running_server:
        running_server.server = server
        failure(running_server.url, timeout=1.0)
        assert "POST /create" in running_server.paths()
        assert running_server.wait_for_sessions(0) == 0


ANSWERS = {
    "NaN": (b'{"tools": [{"name": "a", "input_schema": {"minimum": NaN}}]}', "NaN is not a JSON number"),
    "infinite": (b'{"tools": [{"name": "a", "input_schema": {"minimum": 1e999}}]}', "1e999 is not a number"),
    "duplicate key": (b'{"tools": [{"name": "a", "name": "b"}]}', "the key 'name' stands twice"),
    "lone surrogate": (b'{"tools": [{"name": "a", "description": "\\ud800"}]}', "half of a surrogate pair"),
    "not UTF-8": (b'{"tools": [{"name": "\xff"}]}', "is not JSON"),
    "deep": (b"[" * 300 + b"]" * 300, "nests deeper than 200 levels"),
    "very deep": (b"[" * 100_000 + b"]" * 100_000, "nests too deeply"),
    "no list": (b'{"tools": {}}', "holds no list of tools"),
    "no boolean": (b'{"tools": [], "supports_score_group": "false"}', "supports_score_group is neither true nor false"),
    "no name": (b'{"tools": [{"description": "x"}]}', "holds a tool without a name"),
    "number as text": (b'{"tools": [{"name": "a", "description": 7}]}', "the description of the tool a is not text"),
    "list as schema": (b'{"tools": [{"name": "a", "input_schema": []}]}', "is not a JSON Schema"),
    "bad terminal": (b'{"tools": [], "terminal_tool": {"arg": "x"}}', "a terminal tool without a name"),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_answers_that_cannot_be_kept(kind: str) -> None:
    """JSON without one meaning, or that is not a list of tools, is refused, and where it came from is named."""
    body, expected = ANSWERS[kind]
    with pytest.raises(ServerError) as raised:
        answer = answers.parse(body, "The answer")
        answers.tool_specs(answer, "The answer")
        answers.terminal_tool(answer, "The answer")
        answers.scores_groups(answer, "The answer")
    assert str(raised.value).startswith("The answer") and expected in str(raised.value)


def test_answers_that_end_a_run() -> None:
    """The same on a server: a bad answer, an endless one, and one without any tool."""
    bodies = {
        "/made/tools": b'{"tools": [{"name": "a", "description": NaN}]}',
        "/huge/tools": b" " * (33 << 20),
        "/empty/tools": b'{"tools": []}',
    }
    names = ["made", "huge", "empty"]
    splits = {f"/{name}/splits": b'["train"]' for name in names}
    with serving_application(
        answering({"/list_environments": json.dumps(names).encode(), **splits, **bodies})
    ) as server:
        source = f"The answer of {server.url} to /tools is not JSON as the Open Reward Standard wants it"
        assert failure(server.url, task_tools=False).startswith(source)
        assert "larger than 32 MiB" in failure(server.url, task_tools=False, variant="huge")
        assert "neither a tool nor a terminal tool" in failure(server.url, task_tools=False, variant="empty")


def test_variants_splits_and_tasks_that_are_not_there() -> None:
    """A wrong name is answered with the names there are; a task beyond the end with how many there are."""
    tasks = {"train": [{"index": 0}] * 3, "empty": []}
    with running(environment([spec("a")], name="One", tasks=tasks), environment([spec("a")], name="Two")) as server:
        assert failure(server.url, variant="three\x1b[0m") == (
            r"The server has no variant three\x1b[0m. It has: one, two. Choose one with --variant."
        )
        assert failure(server.url, split="test") == (
            f"{server.url} has no split test. It has: train, empty. Choose one with --split."
        )
        assert failure(server.url, probe=(0, 3)) == (
            "The split train has 3 tasks, 0 to 2, and --probe asks for task 3. Leave it out."
        )
        assert "The split empty has no tasks, so there are no task tools" in failure(server.url, split="empty")
        assert server.live_sessions == []


def test_a_server_that_counts_beyond_all_reason() -> None:
    """`--probe all` opens no more tasks than --probe can name, whatever number the server answers."""
    counts = {"/made/num_tasks": b'{"num_tasks": 1000000000000}'}
    with serving_application(answering(counts, made())) as server:
        assert failure(server.url, probe="all") == (
            "The split train has 1000000000000 tasks, and at most 100000 can be opened. Name some of them with --probe "
            "0-99."
        )
        assert "POST /create" not in server.paths()


@pytest.mark.parametrize("number", [0, -1, MAX_CONCURRENCY + 1])
def test_a_concurrency_that_cannot_be_meant(number: int) -> None:
    """--concurrency is at least one, and no more than a server and this process can bear."""
    with pytest.raises(UsageError, match=f"--concurrency must be a whole number from 1 to {MAX_CONCURRENCY}"):
        Options(concurrency=number)


def test_a_variant_never_leads_elsewhere() -> None:
    """A server cannot send the requests to another path by what it calls its environments."""
    for name in ("..", "a/b", "a?b"):
        with serving_application(answering({"/list_environments": json.dumps([name]).encode()})) as server:
            assert "has a name that no path can spell" in failure(server.url)
            assert "has a name that no path can spell" in failure(server.url, variant=name)
            assert set(server.paths()) == {"GET /list_environments"}


def test_redirects_are_not_followed() -> None:
    """A redirect could carry the key to another host."""

    async def redirect(scope: object, receive: object, send: object) -> None:
        headers = [(b"location", b"http://127.0.0.1:9/")]
        await send({"type": "http.response.start", "status": 308, "headers": headers})  # type: ignore[operator]
        await send({"type": "http.response.body"})  # type: ignore[operator]

    with serving_application(redirect) as server:
        message = failure(server.url)
    assert message == (
        f"{server.url} answered /list_environments with HTTP 308. Redirects are not followed: name the address that it "
        "leads to."
    )


def test_keys_and_secrets_must_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment variable that is missing is named before anything is sent."""
    monkeypatch.delenv("OPENREWARD_API_KEY", raising=False)
    with pytest.raises(UsageError, match="needs an API key, and the environment variable OPENREWARD_API_KEY"):
        take_snapshot(parse_target("Owner/Name"), Options())
    with pytest.raises(UsageError, match="The environment variable that holds the secret KEY is not set") as raised:
        take_snapshot(parse_target(dead_url()), Options(secrets={"KEY": "s3cret-by-mistake"}))
    assert "s3cret" not in str(raised.value)
    with pytest.raises(UsageError, match="that --api-key-env names is not set") as raised:
        take_snapshot(parse_target(dead_url()), Options(api_key_env="s3cret-by-mistake"))
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kitchen", "`kitchen` is not a target. TARGET is one of: a catalog name"),
        ("a/b/c", "is not a target"),
        ("module.name", "is not a target"),
        ("\x1b[31m/x", r"`\x1b[31m/x` is not a target"),
        ("nowhere/server.py", "There is no file nowhere/server.py"),
        ("nowhere/server.py:Class", "There is no file nowhere/server.py"),
        ("ftp://host", "`ftp://host` is not the URL of a server"),
        ("http://", "is not the URL of a server"),
        ("http://host:port", "The URL of the server cannot be read"),
        ("http://user:s3cret@host/kitchen", "To choose one of its environments, use --variant kitchen."),
        ("http://user:s3cret@host/?token=s3cret", "must end after the host and port"),
        ("http://user:s3cret@ho st", "is not the URL of a server"),
    ],
)
def test_targets_that_are_none_of_the_three_kinds(text: str, message: str) -> None:
    """Each is refused with the three kinds or the fix, escaped, and without a password."""
    with pytest.raises(TargetError) as raised:
        parse_target(text)
    assert message in str(raised.value)
    assert "s3cret" not in str(raised.value) and "\x1b" not in str(raised.value)


def test_the_three_kinds_of_target(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """What is recorded is the same on every machine: no user-info, no folder of this one."""
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs" / "server.py").touch()
    assert parse_target("Eigent/SETA") == CatalogName("Eigent/SETA")
    url = parse_target("HTTPS://user:pw@Host.Example:8080/")
    assert isinstance(url, ServerURL)
    assert (url.record, url.url) == ("https://host.example:8080", "https://user:pw@host.example:8080")
    for text in ("envs/server.py:Kitchen", f"{tmp_path}/envs/server.py:Kitchen", "./envs/server.py:Kitchen"):
        assert parse_target(text, tmp_path) == PythonClass("envs/server.py", "Kitchen", tmp_path)
    assert parse_target(f"{tmp_path}/envs/server.py", tmp_path / "here").record == "../envs/server.py"
    assert parse_target("package.module:Outer.Inner", tmp_path).record == "package.module:Outer.Inner"


@pytest.mark.parametrize(
    ("record", "chosen", "words"),
    [
        ("Eigent/SETA", None, "Eigent/SETA"),
        ("Eigent/SETA", "hard", "Eigent/SETA hard"),
        ("https://you-seta.hf.space", None, "you-seta.hf.space"),
        ("https://you-seta.hf.space", "hard", "hard"),
        ("http://127.0.0.1:8080", None, "served"),
        ("http://localhost:8080", None, "served"),
        ("http://[::1]:8080", None, "served"),
        ("envs/server.py:Kitchen", None, "Kitchen"),
        ("envs/server.py", None, None),
    ],
)
def test_what_adapters_are_named_after(record: str, chosen: str | None, words: str | None) -> None:
    """The catalog name, the class or the host; the variant where that was asked for or the host says nothing."""
    assert words_of(record, chosen, "served") == words


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ("Eigent/SETA", "eigent_seta"),
        ("you-seta.hf.space", "you_seta_hf_space"),
        ("3d.example", "environment_3d_example"),
        ("class", "environment_class"),
        ("厨房", "environment"),
    ],
)
def test_what_files_are_called(words: str, slug: str) -> None:
    """The name of the files can always be imported."""
    assert slug_of(words) == slug


@pytest.mark.parametrize("text", ["", "last", "1,", "-1", "3-1", "1.5", f"0-{MAX_PROBES}", "0-999999999999", "٣"])
def test_probes_that_cannot_be_meant(text: str) -> None:
    """--probe is first, all, or indices and ranges that go upwards and stay countable."""
    with pytest.raises(UsageError, match="--probe"):
        parse_probe(text)
