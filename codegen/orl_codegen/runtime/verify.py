"""Whether an adapter still fits the tools of a live session."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from orl_codegen.errors import SchemaDrift, printable

if TYPE_CHECKING:
    from orl_codegen.runtime.adapter import RolloutAdapter

logger = logging.getLogger(__name__)


def compare(adapter: type[RolloutAdapter], listing: Any) -> None:
    """Compare an adapter with what a session lists; milder differences are logged as one warning.

    Args:
        adapter: The generated class.
        listing: The answer of `/task_tools`: shared and task tools of one task.

    Raises:
        SchemaDrift: A shared tool is gone, or a parameter that the adapter leaves out has become required: calls that
            the adapter makes would be refused.
    """
    specs = {str(spec.get("name")): spec for spec in _specs(listing)}
    tools = tools_of(adapter)
    broken = [problem for name, method in tools.items() for problem in _broken(name, method, specs.get(name))]
    mend = f"Generate it again: orl-codegen generate {printable(adapter._environment.target)}"
    if broken:
        raise SchemaDrift(f"{adapter.__name__} no longer fits its environment: {'; '.join(broken)}. {mend}")
    odd = [f"{printable(name)} is new" for name in specs if name not in tools]
    odd += [problem for name, spec in specs.items() if name in tools for problem in _odd(name, tools[name], spec)]
    if odd:
        logger.warning("%s differs from its environment: %s. %s", adapter.__name__, "; ".join(odd), mend)


def tools_of(adapter: type[RolloutAdapter]) -> dict[str, Any]:
    """The tools of an adapter by wire name."""
    functions = [function for _, function in inspect.getmembers(adapter, inspect.isfunction)]
    return {function.__tool__.name: function for function in functions if hasattr(function, "__tool__")}


def _specs(listing: Any) -> list[Mapping[str, Any]]:
    tools = listing.get("tools") if isinstance(listing, dict) else None
    return [spec for spec in tools if isinstance(spec, dict)] if isinstance(tools, list) else []


def _broken(name: str, method: Any, spec: Mapping[str, Any] | None) -> Iterator[str]:
    if spec is None:
        if method.__tool__.shared:
            yield f"the tool {printable(name)} is gone"
        return
    ours = _parameters(method)
    always_sent = {key for key, parameter in ours.items() if parameter.default is parameter.empty}
    for key in set(_listed(spec, "required")) & set(_listed(spec, "properties")) - always_sent:
        # Tasks may differ in what a task tool requires; the adapter then requires what all of them do.
        if method.__tool__.shared or key not in ours:
            yield f"the parameter {printable(key)} of {printable(name)} is required now"


def _odd(name: str, method: Any, spec: Mapping[str, Any]) -> Iterator[str]:
    ours, theirs = _parameters(method), _listed(spec, "properties")
    for key in theirs:
        if key not in ours:
            yield f"the parameter {printable(key)} of {printable(name)} is new"
    for key in ours if theirs else ():  # without `properties`, the schema says in some other way what it takes
        if key not in theirs:
            yield f"the parameter {printable(key)} of {printable(name)} is gone"


def _parameters(method: Any) -> dict[str, inspect.Parameter]:
    """The parameters of a tool by wire key."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    return {method.__tool__.aliases.get(parameter.name, parameter.name): parameter for parameter in parameters}


def _listed(spec: Mapping[str, Any], keyword: str) -> list[str]:
    """The keys under a keyword at the top of a tool's schema, whatever the server put there."""
    schema = spec.get("input_schema")
    value = schema.get(keyword) if isinstance(schema, dict) else None
    return [key for key in value if isinstance(key, str)] if isinstance(value, (dict, list)) else []
