"""How a report is printed. Every format is one function from a report to text that escapes what the server said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from orl_codegen.drift.findings import Report
from orl_codegen.drift.formats.github import github_report
from orl_codegen.drift.formats.html import html_report
from orl_codegen.drift.formats.json import json_report
from orl_codegen.drift.formats.junit import junit_report
from orl_codegen.drift.formats.markdown import markdown_report
from orl_codegen.drift.formats.sarif import sarif_report
from orl_codegen.drift.formats.text import text_report

FORMATS: Mapping[str, Callable[[Report], str]] = MappingProxyType(
    {
        "text": text_report,
        "json": json_report,
        "github": github_report,
        "markdown": markdown_report,
        "sarif": sarif_report,
        "junit": junit_report,
        "html": html_report,
    }
)
"""By the name that `--format` takes."""
