"""What an error says to do fits what went wrong, in a command and in training alike."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import OrlCodegenError, ServerError
from orl_codegen.generator.options import Options
from orl_codegen.generator.target import parse_target
from orl_codegen.ors import limits
from orl_codegen.ors.transport import proxy_for
from tests.runtime import adapters
from tests.support.discovery import take_snapshot
from tests.support.servers import dead_url


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between attempts are short."""
    monkeypatch.setattr(limits, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(limits, "LONGEST_PAUSE", 0.02)
    monkeypatch.setattr(limits, "LONGEST_BACK_OFF", 0.1)


@contextlib.contextmanager
def saying(said: bytes, context: ssl.SSLContext | None = None) -> Iterator[str]:
    """The address of a port where each connection is read from once, told something, and closed."""

    def answer() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), connection:
                spoken = context.wrap_socket(connection, server_side=True) if context else connection
                spoken.recv(65536)
                spoken.sendall(said)
                spoken.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def http(status: int, detail: str = "no", *headers: str) -> bytes:
    body = f'{{"detail": "{detail}"}}'.encode()
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def told(url: str, **options: str) -> dict[str, str]:
    """What a command, the dataset and a reset say of an address."""
    with pytest.raises(ServerError) as command:
        take_snapshot(parse_target(url), Options(timeout=2.0, **options))  # type: ignore[arg-type]
    key = {"api_key": "K"} if options else {}
    spec = OpenRewardSpec(adapters.Echo, base_url=url, num_tasks=2, **key)  # type: ignore[arg-type]
    errors = {"command": str(command.value)}
    for name, ask in (("dataset", lambda: spec.train_dataset), ("reset", lambda: spec.environment_factory().reset())):
        with pytest.raises(OrlCodegenError) as raised:
            ask()
        errors[name] = str(raised.value)
    for error in errors.values():
        assert "\n" not in error and error.isprintable() and error.endswith((".", "?")) and "Error" not in error
    return errors


def all_say(errors: dict[str, str], *expected: str, on_reset: bool = False) -> None:
    """Each error has each text, and the way to go on without a sandbox stands only where there may be one."""
    for error in errors.values():
        assert all(text in error for text in expected), error
    assert ("on_reset_failure" in errors["reset"]) is on_reset, errors["reset"]
    assert not any("server log" in error for error in errors.values()) or on_reset or "broke off" in errors["reset"]


def test_a_port_at_which_nothing_listens() -> None:
    """The address is wrong, or the server is not up: going on without it would help nobody."""
    all_say(told(dead_url()), "Connection refused", "Check that the server is running and the address is right.")


def test_a_host_that_nobody_knows() -> None:
    """Said of the name, not of the server."""
    all_say(told("http://no-such-host.invalid:80"), "Check the host in the address")


@pytest.mark.parametrize(
    "said",
    [b"SSH-2.0-OpenSSH_9.2\r\n", b"\x00\x01\x02", b"HTTP/1.1 abc OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n"],
)
def test_what_is_not_http(said: bytes) -> None:
    """It is not an HTTP 400, which is what the library makes of it."""
    with saying(said) as address:
        errors = told(f"http://{address}")
    all_say(errors, "the server answered with something that is not HTTP", "ORS server")
    assert not any("400" in error.replace(address, "") for error in errors.values())


def test_a_bad_chunk_and_a_bad_compression() -> None:
    """Broken further down: told as what they are."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    with saying(head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nfoo\r\n") as address:
        all_say(told(f"http://{address}"), "something that is not HTTP")
    with saying(head + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nabcde") as address:
        all_say(told(f"http://{address}"), "its compression is broken")


def test_an_answer_that_breaks_off() -> None:
    """The server was reached, so nothing is said of its address."""
    with saying(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n["echo"]') as address:
        errors = told(f"http://{address}")
    all_say(errors, "the connection broke off in the middle of the answer", "Check the server log", on_reset=True)
    assert "gave no whole answer to /list_environments" in errors["command"]


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """What a server needs for TLS, with a certificate that it signed itself."""
    folder: Path = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost"
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


def test_a_certificate_that_is_not_trusted(tls: ssl.SSLContext) -> None:
    """Why, in the words of OpenSSL, and how a private authority is made known."""
    with saying(http(200), tls) as address:
        all_say(told(f"https://{address}"), "its certificate is not trusted (self-signed certificate)", "SSL_CERT_FILE")


def test_https_where_plain_http_is_spoken() -> None:
    """Neither `ssl:default` nor `Operation not permitted`."""
    with saying(http(400)) as address:
        errors = told(f"https://{address}")
    all_say(errors, "does not speak TLS", "Write http:// instead of https:// in the address")
    assert not any("ssl:" in error or "Operation" in error for error in errors.values())


@pytest.mark.parametrize(
    "said",
    [
        b"\x15\x03\x01\x00\x02\x02\x46",
        http(400, "The plain HTTP request was sent to HTTPS port"),
        http(400, "Client sent an HTTP request to an HTTPS server."),
    ],
)
def test_plain_http_where_tls_is_expected(said: bytes) -> None:
    """As OpenSSL, nginx and Go's servers answer."""
    with saying(said) as address:
        all_say(told(f"http://{address}"), "Write https:// instead of http:// in the address")


def test_plain_http_where_tls_is_expected_and_nothing_said(tls: ssl.SSLContext) -> None:
    """As servers in Python do: the connection ends, which may have other reasons."""
    with saying(http(200), tls) as address:
        all_say(told(f"http://{address}"), "whether https:// is needed instead of http://")


def test_a_key_that_is_missing_and_one_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two mistakes, told apart."""
    monkeypatch.setenv("SOME_KEY", "K")
    for status in (401, 403):
        with saying(http(status)) as address:
            errors = told(f"http://{address}")
            all_say(errors, f"HTTP {status}: ", "It wants a key: ")
            assert "--api-key-env" in errors["command"] and "api_key=" in errors["reset"]
            wrong = told(f"http://{address}", api_key_env="SOME_KEY")
            all_say(wrong, f"HTTP {status}: ", "Check the key in ")
            assert "api_key=" in wrong["dataset"]


@pytest.mark.parametrize("status", [404, 405])
def test_a_route_that_is_not_there(status: int) -> None:
    """The server is up, so nobody is told to check whether it is."""
    with saying(http(status)) as address:
        errors = told(f"http://{address}")
    all_say(errors, f"HTTP {status}: no", "ORS server")
    assert not any("running" in error or " up." in error for error in errors.values())


def test_too_many_requests() -> None:
    """How to make fewer."""
    with saying(http(429, "slow down", "Retry-After: 3600")) as address:
        errors = told(f"http://{address}")
    all_say(errors, "HTTP 429: slow down", "Try again later", on_reset=True)
    assert "--concurrency" in errors["command"] and "max_sessions=" in errors["reset"]


@pytest.mark.parametrize("status", [500, 502, 503])
def test_an_error_of_the_server(status: int) -> None:
    """Its log has more, and training may go on without the rollout."""
    with saying(http(status, "no sandbox")) as address:
        all_say(told(f"http://{address}"), f"HTTP {status}: no sandbox", "Check the server log.", on_reset=True)


def test_a_redirect() -> None:
    """It is not followed, and nobody is told that the server is down."""
    with saying(http(307, "", "Location: https://elsewhere.example/x")) as address:
        errors = told(f"http://{address}")
    all_say(errors, "HTTP 307", "not followed")
    assert "to https://elsewhere.example/x" in errors["reset"] and "base_url=" in errors["reset"]


@pytest.mark.parametrize("said", [None, http(407)])
def test_a_proxy_in_the_way(said: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named as the proxy, with the variables that set it."""
    for name in ("HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with saying(said or b"") as address:
        monkeypatch.setenv("https_proxy", dead_url() if said is None else f"http://{address}")
        proxy_for.cache_clear()
        errors = told("https://elsewhere.example")
    proxy_for.cache_clear()
    all_say(errors, "proxy", "Check HTTP_PROXY and HTTPS_PROXY")
