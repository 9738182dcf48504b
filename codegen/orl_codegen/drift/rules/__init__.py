"""The rule catalogue, as data: every kind of change that is distinguished, and what it means for code and for training.

Arguments are requests: narrowing them breaks callers, widening them does not. The code profile asks whether code that
calls the adapter keeps working; the training profile asks whether a run whose prompt contains the schema text may be
resumed, or compared, across the change. Ids are stable, because accept lists and reports refer to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from orl_codegen.drift.rules.about_environments import ENVIRONMENT
from orl_codegen.drift.rules.about_files import FILES
from orl_codegen.drift.rules.about_schemas import SCHEMAS
from orl_codegen.drift.rules.about_tools import TOOLS
from orl_codegen.drift.rules.about_values import VALUES
from orl_codegen.drift.rules.rule import PROFILES, SEVERITIES, Profile, Rule, Severity

__all__ = ["PROFILES", "RULES", "SEVERITIES", "Profile", "Rule", "Severity"]

RULES: Mapping[str, Rule] = MappingProxyType(
    {rule.id: rule for rule in (*ENVIRONMENT, *TOOLS, *SCHEMAS, *VALUES, *FILES)}
)
"""Every rule by its id, in the order of the catalogue."""
