"""Whether an adapter still fits the tools of a live session."""

from __future__ import annotations

import inspect
import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from orl_codegen.errors import SchemaDrift, printable
from orl_codegen.runtime.vocabulary import bound_tools

Spec = Mapping[str, Any]

logger = logging.getLogger(__name__)


class Agreement:
    """Has one session compare its tools with the adapter: the first that opens answers for all.

    Sessions that open at the same time do not ask. A session that is given up before it got that far leaves the
    comparison to the next one.
    """

    def __init__(self, adapter: type[Any], wanted: bool) -> None:
        self._adapter = adapter
        self._wanted = wanted
        self._compared = False

    def take(self) -> Callable[[Any], None] | None:
        """The comparison, for a session that is about to open; None where another has taken it, or made it."""
        wanted, self._wanted = self._wanted, False
        return self._compare if wanted else None

    def settle(self, _: object) -> None:
        """The session that took the comparison is open, or was given up."""
        self._wanted = not self._compared

    def _compare(self, listing: Any) -> None:
        check_fit(self._adapter, listing)
        self._compared = True


def check_fit(adapter: type[Any], listing: Any) -> None:
    """Compare an adapter with what a session lists; harmless differences are logged as one warning.

    Args:
        adapter: The generated class.
        listing: The answer of `/task_tools`: the shared tools, and those of one task.

    Raises:
        SchemaDrift: A shared tool is gone, or a parameter that the adapter may leave out has become required, so that
            calls would be refused.
    """
    tools, known, shared = bound_tools(adapter), *_snapshot(adapter)
    live = {str(spec.get("name")): spec for spec in _specs(listing)}
    broken = [f"the tool {printable(name)} is gone" for name in sorted(shared - live.keys())]
    for name in tools.keys() & live.keys():
        # Tasks may differ in what a task tool requires; the adapter then requires what all of them do.
        strict = not known or name in shared
        broken += [
            f"the parameter {printable(key)} of {printable(name)} is required now"
            for key in _newly_required(tools[name], live[name], strict)
        ]
    remedy = f"Generate it again: orl-codegen generate {printable(adapter._environment.target)}"
    if broken:
        raise SchemaDrift(f"{adapter.__name__} no longer fits its environment: {'; '.join(broken)}. {remedy}")
    odd = [f"{printable(name)} is new" for name in live if name not in tools]
    odd += [
        f"{printable(name)} has changed" for name, spec in live.items() if known and spec not in known.get(name, [spec])
    ]
    if odd:
        logger.warning("%s differs from its environment: %s. %s", adapter.__name__, "; ".join(odd), remedy)


def _snapshot(adapter: type[Any]) -> tuple[dict[str, list[Spec]], set[str]]:
    """The specs that the adapter was made from, by name, and the names of the shared tools.

    They stand in the snapshot beside the module. Where that is not at hand, both are empty: then a tool that a session
    does not list may as well be one of another task.
    """
    path = getattr(sys.modules.get(adapter.__module__), "__file__", None)
    try:
        snapshot = json.loads(Path(path or "").with_suffix(".json").read_text("utf-8"))
        if snapshot["digest"] != adapter._environment.digest:
            return {}, set()
        known: dict[str, list[Spec]] = {}
        for spec in [*snapshot["tools"], *(entry["spec"] for entry in snapshot["task_tools"])]:
            known.setdefault(spec["name"], []).append(spec)
        return known, {spec["name"] for spec in snapshot["tools"]}
    except (OSError, ValueError, TypeError, KeyError):
        return {}, set()


def _specs(listing: Any) -> list[Spec]:
    tools = listing.get("tools") if isinstance(listing, dict) else None
    return [spec for spec in tools if isinstance(spec, dict)] if isinstance(tools, list) else []


def _newly_required(method: Any, spec: Spec, strict: bool) -> Iterator[str]:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    ours = {method.__tool__.aliases.get(parameter.name, parameter.name): parameter for parameter in parameters}
    for key in sorted(_keys(spec, "required") & _keys(spec, "properties")):
        if key not in ours or (strict and ours[key].default is not inspect.Parameter.empty):
            yield key


def _keys(spec: Spec, keyword: str) -> set[str]:
    """The keys under a keyword at the top of a tool's schema, whatever the server put there."""
    schema = spec.get("input_schema")
    value = schema.get(keyword) if isinstance(schema, dict) else None
    return {key for key in value if isinstance(key, str)} if isinstance(value, (dict, list)) else set()
