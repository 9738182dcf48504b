"""How a report is printed. Every format is one function from a report to text; server text is escaped in each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from orl_codegen.drift.findings import Report
from orl_codegen.drift.formats.github import github
from orl_codegen.drift.formats.json import as_json
from orl_codegen.drift.formats.junit import junit
from orl_codegen.drift.formats.markdown import markdown
from orl_codegen.drift.formats.sarif import sarif
from orl_codegen.drift.formats.text import text

FORMATS: Mapping[str, Callable[[Report], str]] = MappingProxyType(
    {"text": text, "json": as_json, "github": github, "markdown": markdown, "sarif": sarif, "junit": junit}
)
"""By the name that `--format` takes."""
