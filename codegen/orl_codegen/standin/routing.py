"""The routes of the standard, and what is answered where a request cannot be served.

A bare path leads to the environment, as on the SDK's server, which a redirect says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from orl_codegen.standin.world import NotServed

if TYPE_CHECKING:
    from aiohttp import web

OF_THE_SERVER: Mapping[str, str] = {
    "health": "GET",
    "version": "GET",
    "list_environments": "GET",
    "create_session": "POST",
    "delete_session": "POST",
    "create": "POST",
    "delete": "POST",
    "ping": "POST",
}
"""`/<route>` of a server, each with its method."""

OF_AN_ENVIRONMENT: Mapping[str, str] = {
    "tools": "GET",
    "splits": "GET",
    "tasks": "POST",
    "num_tasks": "POST",
    "task": "POST",
    "task_range": "POST",
    "prompt": "GET",
    "messages": "GET",
    "task_tools": "GET",
    "call": "POST",
    "score_group": "POST",
}
"""`/<variant>/<route>`, each with its method. No name stands in both tables."""


def route_of(request: web.Request, variant: str) -> str:
    """The name of the route that a request is for.

    Raises:
        NotServed: It is for none, with another method, or for a bare path.
    """
    first, _, rest = request.path.strip("/").partition("/")
    if first.lower() in OF_THE_SERVER:
        name = first.lower()
        found = request.path == f"/{name}"
    elif first.lower() == variant.lower():
        name = rest
        found = rest in OF_AN_ENVIRONMENT and request.path == f"/{first}/{rest}"
    else:
        raise NotServed(308, f"/{quote(variant, safe='')}{request.rel_url.raw_path_qs}")
    if not found:
        raise NotServed(404, "Not Found")
    method = {**OF_THE_SERVER, **OF_AN_ENVIRONMENT}[name]
    if request.method != method:
        raise NotServed(405, method)
    return name


def refusal(refused: NotServed) -> web.Response:
    """The response that says why a request is not served."""
    from aiohttp import web

    match refused.status:
        case 308:
            return web.Response(status=308, headers={"Location": refused.detail})
        case 405:
            return web.json_response({"detail": "Method Not Allowed"}, status=405, headers={"Allow": refused.detail})
        case _:
            return web.json_response({"detail": refused.detail}, status=refused.status)
