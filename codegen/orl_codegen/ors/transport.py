"""HTTP connections, and what every request has in common, whichever half of orl-codegen makes it.

- Redirects are not followed: they would take the key and the secrets to another address.
- A proxy is taken from HTTP_PROXY, HTTPS_PROXY and NO_PROXY, and never stands before this machine itself.
- `.netrc` is not read: credentials come from the URL, or as a key that is passed.
- Cookies are dropped: the standard has none, and one session must not leak into another.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

from orl_codegen.ors import limits
from orl_codegen.ors.failures import Failure, Malformed, Unreachable
from orl_codegen.ors.retrying import BackOff

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.client import _RequestContextManager


def import_for_requests() -> None:
    """Import what the first request would import otherwise."""
    import encodings.idna  # noqa: F401 - resolving a name does

    import aiohttp  # noqa: F401


class Pool:
    """The connections of one event loop; to be used on its thread, as an async context manager or until `close`."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._back_offs: dict[str, BackOff] = {}

    def back_off(self, url: str) -> BackOff:
        """What the requests to the host of a URL have in common while it has too many of them."""
        return self._back_offs.setdefault(urlsplit(url).netloc.rpartition("@")[2].lower(), BackOff())

    def request(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> _RequestContextManager:
        """A request, as aiohttp's context manager of the response. Waiting for it is bounded by the caller."""
        proxy = proxy_for(url)
        return self._client().request(method, url, headers=headers, data=body, allow_redirects=False, proxy=proxy)

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            import aiohttp

            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=limits.IDLE_FOR),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=limits.CONNECT_WITHIN),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            )
        return self._session

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    async def __aenter__(self) -> Pool:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()


@lru_cache(64)
def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for a URL, if any. The answer is kept for as long as the process lives."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass_environment(parts.netloc.rpartition("@")[2]):
        return None
    return getproxies_environment().get(parts.scheme)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def failure_of(error: Any, safe: Callable[[str], str]) -> Failure:
    """What an exception of aiohttp means; `safe` escapes what a name server or an operating system says.

    The texts are made here, because aiohttp's own may quote the URL and the headers. It also calls whatever is not HTTP
    an HTTP 400.
    """
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorError):
        return _no_connection(error, safe)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return Unreachable(f"no connection within {limits.CONNECT_WITHIN:g} seconds", sent=False, cause="address")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return Unreachable(f"the proxy answered with HTTP {error.status}", sent=False, cause="proxy")
    if isinstance(error, aiohttp.ClientResponseError):
        return _not_http(error)
    if isinstance(error, aiohttp.InvalidURL):
        return Unreachable("its URL is not valid", sent=False, cause="address")
    return _broken_off(error)


def _no_connection(error: aiohttp.ClientConnectorError, safe: Callable[[str], str]) -> Unreachable:
    import aiohttp

    where = f"cannot connect to {safe(f'{error.host}:{error.port}')}"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return Unreachable(f"{where}: its certificate is not trusted{_verdict(error)}", sent=False, cause="certificate")
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return Unreachable(f"{where}: what listens there does not speak TLS", sent=False, cause="scheme")
    reason = safe(_reason(error.os_error)) or "the connection was closed at once"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return Unreachable(f"{where}, which is the proxy: {reason}", sent=False, cause="proxy")
    named = isinstance(error, aiohttp.ClientConnectorDNSError)
    return Unreachable(f"{where}: {reason}", sent=False, cause="name" if named else "address")


def _verdict(error: aiohttp.ClientConnectorCertificateError) -> str:
    """What is wrong with a certificate, in the words of OpenSSL."""
    verdict = getattr(error.certificate_error, "verify_message", "")
    return f" ({verdict.rstrip('.')})" if verdict else ""


def _reason(error: OSError) -> str:
    number = error.errno or 0  # negative where a name could not be resolved
    return os.strerror(number) if number > 0 else error.strerror or str(error)


def _not_http(error: aiohttp.ClientResponseError) -> Failure:
    if any(rf"b'\x15\x03\x0{version}" in error.message for version in range(5)):  # the head of an alert of TLS
        return Unreachable("what listens there speaks TLS, and not plain HTTP", sent=True, cause="scheme")
    return Malformed("the server answered with something that is not HTTP")


def _broken_off(error: Any) -> Failure:
    import aiohttp
    from aiohttp.http_exceptions import ContentEncodingError, DecompressSizeError

    if isinstance(error.__cause__, ContentEncodingError | DecompressSizeError):
        return Malformed("the answer cannot be unpacked: its compression is broken")
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return Unreachable("the connection broke off without an answer", sent=True, cause="unanswered")
    if isinstance(error, aiohttp.ClientPayloadError):
        return Unreachable("the connection broke off in the middle of the answer", sent=True)
    number = getattr(error, "errno", None) or 0
    reason = f": {os.strerror(number)}" if number > 0 else ""
    return Unreachable(f"the connection broke off{reason}", sent=True, cause="unanswered")
