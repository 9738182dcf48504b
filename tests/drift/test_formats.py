"""Every format says the same findings, is valid, and contains what a server says in its place."""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import jsonschema
import pytest
from markdown_it import MarkdownIt

from orl_codegen.cli.check import check
from orl_codegen.cli.generate import unified_diff
from orl_codegen.drift.acceptance import UNEDITED, Acceptance
from orl_codegen.drift.change import Change
from orl_codegen.drift.findings import Report
from orl_codegen.drift.formats import FORMATS
from orl_codegen.drift.policy_tables import read_acceptances
from tests.drift.reports import COMMANDS, ORDINARY, hostile, report, unreachable
from tests.support.logs import commands_in

ROOT = Path(__file__).parents[2]

ACCEPTED = (Acceptance("reviewed", rule="tool-description-changed", tool="search", path="/description"),)

REPORTS = [
    report(ORDINARY),
    report(ORDINARY, ACCEPTED),
    report(hostile()),
    report(()),
    unreachable(),
    replace(report(()), unused=ACCEPTED),
]


def test_the_command_line_offers_every_format() -> None:
    """`--format` offers exactly the formats that exist, although the command line does not import them to say so."""
    [option] = [parameter for parameter in check.params if parameter.name == "format_"]
    assert isinstance(option.type, click.Choice) and [*option.type.choices] == [*FORMATS]


@pytest.mark.parametrize("name", FORMATS)
def test_no_control_character_gets_out(name: str) -> None:
    """No format prints bidirectional text, or anything that a terminal or a log would obey."""
    printed = click.unstyle(FORMATS[name](report(hostile())))
    odd = {character for character in printed if unicodedata.category(character)[0] == "C"} - {"\n", "\u200b"}
    assert len(report(hostile()).findings) > 5
    assert not odd


@pytest.mark.parametrize("name", FORMATS)
def test_no_command_to_a_runner_gets_out(name: str) -> None:
    """No format prints a command that a server wrote, anywhere in a line, nor does a block to paste or a diff."""
    blocks = replace(report(hostile(COMMANDS)), accept_blocks=True, verbose=True)
    [checked] = report(hostile(COMMANDS)).checked
    diff = unified_diff(Path("x.py"), f"one\n{COMMANDS}\n", f"two\n{COMMANDS}\n")
    for found in (blocks, replace(blocks, checked=(replace(checked, diff=diff),)), unreachable(COMMANDS)):
        lines = click.unstyle(FORMATS[name](found)).splitlines()
        ours = re.compile(r"^::(error|warning|notice) (?=[\w=/.,-]+::)") if name == "github" else re.compile("(?!)")
        assert not [command for line in lines for command in commands_in(ours.sub("", line))]


def test_values_of_json_and_toml_are_the_servers_own() -> None:
    """JSON, SARIF and the blocks to paste escape commands in their own way, which keeps every value as it is."""
    changes = hostile(COMMANDS)
    found = report(changes)
    log = json.loads(FORMATS["sarif"](found))["runs"][0]["results"]
    content = json.loads(FORMATS["json"](found))["findings"]
    paths = {change.path for change in changes}
    assert paths == {entry["path"] for entry in content}
    assert paths == {entry["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] for entry in log}
    for finding in found.failing:
        [entry] = pasted(report([finding.change]))
        assert (entry.tool, entry.path) == (finding.change.tool, finding.change.path)
    assert not report(changes, pasted(found)).failed


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_without_findings_prints(name: str) -> None:
    """If nothing was found, each format still prints something that says so."""
    assert FORMATS[name](report(())).strip()


@pytest.mark.parametrize("name", FORMATS)
def test_what_could_not_be_compared_is_never_no_drift(name: str) -> None:
    """Every format says that a server could not be reached."""
    printed = FORMATS[name](unreachable())
    assert "not be reached" in printed or "not be compared" in printed
    assert "no drift" not in printed.lower()


@pytest.mark.parametrize(("found", "green"), [(report(()), True), (report(ORDINARY), False), (unreachable(), False)])
def test_only_status_0_closes_in_green(found: Report, green: bool) -> None:
    """The closing line is green if nothing fails, but not if something could not be compared."""
    summary = f"{found.summary[:1].upper()}{found.summary[1:]}."
    assert (click.style(summary, fg="green", bold=True) in FORMATS["text"](found)) is green


def test_text_ends_with_what_to_do() -> None:
    """The text ends with a block that accepts what fails once it is in pyproject.toml, and with the command."""
    found = report(ORDINARY)
    assert click.unstyle(FORMATS["text"](found)).endswith("    orl-codegen generate demo:Kitchen\n")
    assert not report(ORDINARY, pasted(found)).failed


def test_a_report_in_bulk_is_short() -> None:
    """Findings stand under their tool, two lines each; the blocks to paste are printed on request only."""
    changes = [Change("param-removed", f"tool{i % 10}", f"/input_schema/properties/p{i}", "string") for i in range(100)]
    lines = click.unstyle(FORMATS["text"](report(changes))).splitlines()
    assert [line for line in lines if line.startswith("    tool")] == [
        f"    tool{i}  generated/kitchen.py:7" for i in range(10)
    ]
    assert len(lines) < 230 and "--accept-block" in "\n".join(lines)


def test_the_block_to_paste_survives_hostile_names() -> None:
    """The block is TOML that accepts exactly what was found, whatever the tool and its parameters are called."""
    assert not report(hostile(), pasted(report(hostile()))).failed


def test_one_block_accepts_everything() -> None:
    """However much was found in an environment, there is one block to paste and one reason to write."""
    changes = [Change("param-removed", "search", f"/input_schema/properties/p{i}", "string") for i in range(20)]
    found = report(changes)
    text = click.unstyle(FORMATS["text"](replace(found, accept_blocks=True)))
    assert text.count("[[tool.orl-codegen.accept]]") == text.count("reason = ") == 1
    assert len(pasted(found)) == 20 and not report(changes, pasted(found)).failed
    assert report([*changes, ORDINARY[0]], pasted(found)).failing[0].change == ORDINARY[0]


def pasted(found: Report) -> tuple[Acceptance, ...]:
    """What the block of a text report accepts, once it is pasted."""
    text = click.unstyle(FORMATS["text"](replace(found, accept_blocks=True))).replace(UNEDITED, "fine")
    block = text[text.index("[[tool.orl-codegen.accept]]") : text.index("To write the files again")]
    return read_acceptances(tomllib.loads(block)["tool"]["orl-codegen"]["accept"])


def test_json_follows_its_published_schema() -> None:
    """The JSON is valid against docs/findings.schema.json, for ordinary, hostile and accepted findings."""
    schema = json.loads((ROOT / "docs/findings.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    for found in REPORTS:
        jsonschema.validate(json.loads(FORMATS["json"](found)), schema)


def test_json_says_everything_about_a_finding() -> None:
    """A finding in JSON has rule, severity, tool, pointer, both values, fingerprint, message and the line."""
    content = json.loads(FORMATS["json"](report(ORDINARY, ACCEPTED)))
    assert content["version"] == 1 and content["failed"] is True
    assert content["findings"][0] == {
        "rule": "param-became-required",
        "severity": "error",
        "tool": "search",
        "path": "/input_schema/properties/query",
        "old": False,
        "new": True,
        "fingerprint": ORDINARY[0].fingerprint,
        "message": "The parameter `query` of `search` became required.",
        "environment": "kitchen",
        "comparison": "snapshot ↔ live",
        "file": "generated/kitchen.py",
        "line": 42,
    }
    assert [entry["reason"] for entry in content["accepted"]] == ["reviewed"]


def test_github_annotates_the_line_of_the_method() -> None:
    """An annotation is on the line of the tool's method; one about the environment is on the line of the class."""
    lines = FORMATS["github"](report(ORDINARY)).splitlines()
    assert lines[0] == (
        "::error file=generated/kitchen.py,line=42,title=param-became-required::"
        "The parameter `query` of `search` became required."
    )
    assert lines[2].startswith("::notice file=generated/kitchen.py,line=7,")


def test_github_takes_no_command_from_a_server() -> None:
    """Each line is one annotation: server text neither ends one nor begins another."""
    for line in FORMATS["github"](report(hostile())).splitlines()[:-1]:
        assert re.fullmatch(r"::(error|warning|notice) file=[\w/.]+,line=\d+,title=[a-z-]+::[^\r\n]+", line)


def test_markdown_is_a_table_and_nothing_else() -> None:
    """Rendered, a hostile report has no link, no HTML, no emphasis and no mention: only the table and code."""
    html = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(FORMATS["markdown"](report(hostile())))
    outside_code = re.sub(r"<code>.*?</code>", "", html, flags=re.DOTALL)
    assert set(re.findall(r"<(\w+)", html)) <= {
        "h3",
        "h4",
        "p",
        "strong",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "code",
    }
    assert "@someone" not in outside_code and "**" not in outside_code and "evil" not in outside_code
    assert html.count("<tr>") == len(report(hostile()).findings) + 1
    assert all(row.count("<td>") == 5 for row in html.split("<tr>")[2:])


def test_reports_keep_a_tool_together() -> None:
    """However severe its findings are, those of a tool stand together in every format, and a table names it once."""
    changes = [
        Change("param-removed", "b", "/input_schema/properties/x", "string"),
        Change("param-removed", "a", "/input_schema/properties/x", "string"),
        Change("tool-description-changed", "b", "/description", "One.", "Two."),
    ]
    found = report(changes)
    markdown = FORMATS["markdown"](found)
    assert re.findall(r"^\| (`[ab]`|) \|.*of `([ab])`", markdown, re.MULTILINE) == [
        ("`b`", "b"),
        ("", "b"),
        ("`a`", "a"),
    ]
    results = json.loads(FORMATS["sarif"](found))["runs"][0]["results"]
    assert [result["locations"][0]["logicalLocations"][0]["name"] for result in results] == ["b", "b", "a"]
    junit = ElementTree.fromstring(FORMATS["junit"](found)).findtext("testsuite/testcase/failure") or ""
    assert re.findall(r"of `([ab])`", junit) == ["b", "b", "a"]


def test_a_failed_comparison_is_code_in_markdown() -> None:
    """Why a comparison failed may quote the server, so it is code as a whole, links included."""
    assert "`http://127.0.0.1:1 could not be reached: refused.`" in FORMATS["markdown"](unreachable())


def test_no_text_of_a_server_holds_a_backtick() -> None:
    """Backticks in names and values are replaced, so those in a message are all markup, in pairs."""
    for finding in report(hostile()).findings:
        inside = finding.message.split("`")[1::2]
        assert finding.message.count("`") == 2 * len(inside)
        assert "evil" not in "".join(finding.message.split("`")[::2])


def test_markdown_fits_into_a_comment() -> None:
    """However much was found, the comment is short enough for GitHub and says if there is more."""
    many = [ORDINARY[1].__class__("tool-removed", f"tool-{i}" * 20, "", "x" * 50) for i in range(2000)]
    comment = FORMATS["markdown"](report(many))
    assert len(comment) < 65_536 and "see the log" in comment


SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": {"$ref": "#/$defs/run"}},
    },
    "$defs": {
        "message": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "run": {
            "type": "object",
            "required": ["tool"],
            "additionalProperties": False,
            "properties": {
                "tool": {
                    "type": "object",
                    "required": ["driver"],
                    "properties": {"driver": {"$ref": "#/$defs/driver"}},
                },
                "invocations": {"type": "array", "items": {"$ref": "#/$defs/invocation"}},
                "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                "results": {"type": "array", "items": {"$ref": "#/$defs/result"}},
            },
        },
        "invocation": {
            "type": "object",
            "required": ["executionSuccessful"],
            "additionalProperties": False,
            "properties": {
                "executionSuccessful": {"type": "boolean"},
                "toolExecutionNotifications": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["message"],
                        "additionalProperties": False,
                        "properties": {"message": {"$ref": "#/$defs/message"}, "level": {"$ref": "#/$defs/level"}},
                    },
                },
            },
        },
        "driver": {
            "type": "object",
            "required": ["name"],
            "properties": {"rules": {"type": "array", "uniqueItems": True, "items": {"$ref": "#/$defs/rule"}}},
        },
        "rule": {
            "type": "object",
            "required": ["id"],
            "additionalProperties": False,
            "properties": {
                "id": {"type": "string"},
                "shortDescription": {"$ref": "#/$defs/message"},
                "fullDescription": {"$ref": "#/$defs/message"},
                "help": {"$ref": "#/$defs/message"},
                "defaultConfiguration": {"type": "object", "properties": {"level": {"$ref": "#/$defs/level"}}},
                "properties": {"type": "object"},
            },
        },
        "result": {
            "type": "object",
            "required": ["message"],
            "additionalProperties": False,
            "properties": {
                "ruleId": {"type": "string"},
                "ruleIndex": {"type": "integer", "minimum": -1},
                "level": {"$ref": "#/$defs/level"},
                "message": {"$ref": "#/$defs/message"},
                "locations": {"type": "array", "items": {"$ref": "#/$defs/location"}},
                "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
                "suppressions": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["kind"],
                        "additionalProperties": False,
                        "properties": {"kind": {"enum": ["inSource", "external"]}, "justification": {"type": "string"}},
                    },
                },
            },
        },
        "location": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "physicalLocation": {
                    "type": "object",
                    "required": ["artifactLocation"],
                    "properties": {
                        "artifactLocation": {
                            "type": "object",
                            "properties": {"uri": {"type": "string", "format": "uri-reference"}},
                        },
                        "region": {"type": "object", "properties": {"startLine": {"type": "integer", "minimum": 1}}},
                    },
                },
                "logicalLocations": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {"name": {"type": "string"}, "fullyQualifiedName": {"type": "string"}},
                    },
                },
            },
        },
    },
}
"""The parts of the SARIF 2.1.0 schema that a report uses, restated."""


@pytest.mark.parametrize("found", REPORTS)
def test_sarif_is_valid(found: Any) -> None:
    """SARIF follows the 2.1.0 schema in everything that it uses, and each result names its rule by id and by index."""
    log = json.loads(FORMATS["sarif"](found))
    jsonschema.validate(log, SARIF)
    rules = [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in log["runs"][0]["results"])


def test_sarif_suppresses_what_is_accepted() -> None:
    """An accepted finding is a result with a suppression that gives the reason."""
    results = json.loads(FORMATS["sarif"](report(ORDINARY, ACCEPTED)))["runs"][0]["results"]
    assert [result.get("suppressions") for result in results] == [
        None,
        [{"kind": "external", "justification": "reviewed"}],
        None,
    ]


JUNIT = {
    "testsuites": ({"name", "tests", "failures", "errors", "time"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "time"}, {"testcase"}),
    "testcase": ({"name", "classname", "time"}, {"skipped", "failure", "error", "system-out"}),
    "skipped": ({"message", "type"}, set()),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
    "system-out": (set(), set()),
}
"""What the JUnit schema of Jenkins allows each element that we use: attributes and children."""


@pytest.mark.parametrize("found", REPORTS)
def test_junit_is_valid(found: Any) -> None:
    """JUnit XML is well-formed, has only elements and attributes of the schema, and has the right counts."""
    root = ElementTree.fromstring(FORMATS["junit"](found).encode())
    for element in root.iter():
        attributes, children = JUNIT[element.tag]
        assert set(element.keys()) <= attributes
        assert {child.tag for child in element} <= children
    for suite in root:
        assert {"name", "tests", "failures", "errors"} <= set(suite.keys())
        assert int(suite.attrib["tests"]) == len(suite)
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
        assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error"))
        assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped"))


def test_junit_fails_a_comparison_by_what_counts() -> None:
    """A comparison fails if a finding is severe enough; milder and accepted ones are in its output."""
    root = ElementTree.fromstring(FORMATS["junit"](report(ORDINARY, ACCEPTED)).encode())
    case = root.findall("testsuite/testcase")[1]
    assert "became required" in (case.findtext("failure") or "")
    assert "accepted" in (case.findtext("system-out") or "") and "split" in (case.findtext("system-out") or "")
