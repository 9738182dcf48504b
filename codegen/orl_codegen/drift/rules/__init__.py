"""The rule catalogue, as data: every kind of change that is told apart, and what it means for code and for training.

Arguments are requests, so what narrows them breaks callers and what widens them does not. The code profile asks whether
code that calls the adapter goes on working; the training profile asks whether a run whose prompt holds the schema text
may be resumed, or compared, across the change. Ids are stable: they stand in accept lists and in reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from orl_codegen.drift.rules.about_environments import ENVIRONMENT
from orl_codegen.drift.rules.about_files import FILES
from orl_codegen.drift.rules.about_schemas import SCHEMAS
from orl_codegen.drift.rules.about_tools import TOOLS
from orl_codegen.drift.rules.about_values import VALUES
from orl_codegen.drift.rules.rule import SEVERITIES, Profile, Rule, Severity

__all__ = ["RULES", "SEVERITIES", "Profile", "Rule", "Severity"]

RULES: Mapping[str, Rule] = MappingProxyType(
    {rule.id: rule for rule in (*ENVIRONMENT, *TOOLS, *SCHEMAS, *VALUES, *FILES)}
)
"""Every rule by its id, in the order of the catalogue."""
