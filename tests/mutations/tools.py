"""The tools that are mutated: those of the corpus beside the project, or those in the project itself."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
from jsonschema import Draft202012Validator

from orl_codegen.errors import SchemaError
from orl_codegen.schema.expansion import expand

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"

_PLAIN = ("arrays", "enums", "limits-and-defaults", "nested-objects", "no-parameters")

Tool = dict[str, Any]
Environment = Sequence[Tool]


def corpus(folder: Path) -> list[Environment]:
    """The environments of a folder of `.jsonl` files with a tool spec a line, which names its environment."""
    found: dict[str, list[Tool]] = defaultdict(list)
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            spec = json.loads(line)
            found[f"{path.stem}/{spec.pop('environment')}"].append(spec)
    return list(map(_usable, found.values()))


def project() -> list[Environment]:
    """The environments in the project: those that it has generated, and the golden cases of ordinary schemas."""
    generated = [json.loads(path.read_text("utf-8")) for path in sorted((ROOT / "generated").glob("*.json"))]
    golden = [json.loads((ROOT / "tests" / "golden" / name / "case.json").read_text("utf-8")) for name in _PLAIN]
    environments = [_usable(content.get("tools", ())) for content in (*generated, *golden)]
    return [tools for tools in environments if tools]


def _usable(specs: Iterable[Tool]) -> Environment:
    """The tools with a schema in JSON Schema's own spelling, one of each name: only of those is it known what a change
    of them means."""
    named = {spec["name"]: spec for spec in specs if isinstance(spec.get("input_schema"), dict)}
    return [spec for spec in named.values() if _is_valid(spec)]


def _is_valid(spec: Tool) -> bool:
    try:
        Draft202012Validator.check_schema(spec["input_schema"])
        expand(spec["input_schema"], spec["name"])
    except (jsonschema.SchemaError, SchemaError):
        return False
    return True
