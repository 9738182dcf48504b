"""HTTP connections, and what every request has in common, whichever half of orl-codegen makes it.

- Redirects are not followed: they would take the key and the secrets to another address.
- A proxy is taken from HTTP_PROXY, HTTPS_PROXY and NO_PROXY, and never stands before this machine itself.
- `.netrc` is not read: credentials come from the URL, or as a key that is passed.
- Cookies are dropped: the standard has none, and one session must not leak into another.
"""

from __future__ import annotations

import ipaddress
import os
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

from orl_codegen.ors import limits
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


def unreachable(error: Any) -> tuple[str, bool]:
    """What an exception of aiohttp means: a text, and whether the server may have seen the request.

    The text is made here, because aiohttp's own may quote the URL and the headers.
    """
    import aiohttp

    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return f"no connection within {limits.CONNECT_WITHIN:g} seconds", False
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"cannot connect to {error.host}:{error.port}: its certificate is not trusted", False
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno or 0  # negative where a name could not be resolved
        reason = os.strerror(number) if number > 0 else error.os_error.strerror or str(error.os_error)
        return f"cannot connect to {error.host}:{error.port}: {reason}", False
    if isinstance(error, aiohttp.InvalidURL):
        return "its URL is not valid", False
    return f"the connection broke off ({type(error).__name__})", True
