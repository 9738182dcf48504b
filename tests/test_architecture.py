"""docs/architecture.md holds: which room imports which, and what a name may be used for.

All imports count, also those inside functions and under `TYPE_CHECKING`. The page is read, not copied: its table of
rooms is what the imports are checked against.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "codegen" / "orl_codegen"
PAGE = "docs/architecture.md"

SAME_THING: Mapping[str, str] = {
    "generate": "the command of the command line runs the function of the pipeline",
    "mock": "the command of the command line serves what the function does",
    "record": "the command of the command line records what the function does",
}
"""Public names that two modules define for one thing, each with the reason."""


class Import(NamedTuple):
    """One imported module or name: where, which module, and the name that is taken from it, if any."""

    importer: str
    line: int
    module: str
    name: str | None

    def __str__(self) -> str:
        what = f"{self.module}.{self.name}" if self.name else self.module
        return f"{_path(self.importer).relative_to(ROOT)}:{self.line} imports {what}"


def test_rooms_import_only_what_the_page_allows() -> None:
    """Every import from one room to another stands in the table of rooms."""
    allowed = _allowed_by_the_page()
    faults = [
        f"{_room(each.importer)} → {_room(each.module)}: {each}"
        for each in _imports()
        if _is_ours(each.module) and _room(each.importer) != _room(each.module) != "errors"
        if not _is_allowed(each.module, allowed[_room(each.importer)])
    ]
    assert not faults, _report("Imports that the table of rooms does not allow", faults)


def test_the_page_has_every_room() -> None:
    """The table of rooms lists the folders and modules of the package, no more and no less."""
    assert {*_allowed_by_the_page()} == {_room(module) for module in _modules()}, f"The rooms of {PAGE} have changed."


def test_what_the_page_names_exists() -> None:
    """Every path on the page leads to a file or a folder."""
    paths = re.findall(r"`([\w./-]+(?:/|\.py|\.jsonl))`", (ROOT / PAGE).read_text("utf-8"))
    missing = [path for path in paths if not (PACKAGE / path).exists() and not (ROOT / path).exists()]
    assert paths and not missing, _report(f"Paths that {PAGE} names and that do not exist", missing)


def test_only_serving_and_environments_import_openreward() -> None:
    """Neither generating from a URL nor training needs the SDK."""
    allowed = {"orl_codegen.serving.child"}
    faults = [
        str(each)
        for each in _imports()
        if each.module.split(".")[0] == "openreward"
        if each.importer not in allowed and _room(each.importer) != "environments"
    ]
    assert not faults, _report("Imports of the SDK outside `serving/child.py` and `environments/`", faults)


def test_no_modules_import_each_other_in_a_circle() -> None:
    """The imports of the package have a direction."""
    graph: dict[str, set[str]] = {module: set() for module in _modules()}
    for each in _imports():
        if each.module in graph and each.module != each.importer:
            graph[each.importer].add(each.module)
    faults = [fault for circle in _circles(graph) for fault in _told(_shortest(graph, circle), circle)]
    assert not faults, _report("Modules that import each other in a circle", faults)


def test_no_private_names_are_imported() -> None:
    """What begins with an underscore stays in its room, and in the SDK."""
    faults = [str(each) for each in _imports() if _is_foreign(each) and _private_part(each)]
    faults += [fault for module in _modules() for fault in _private_attributes(module)]
    assert not faults, _report("Private names of openreward or of another room", faults)


def test_no_two_modules_share_a_name() -> None:
    """A name of a module says which one is meant."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module in _modules():
        if _path(module).stem != "__init__":
            homes[module.rpartition(".")[2]].append(module)
    assert not _shared(homes), _report("Modules of one name", _shared(homes))


def test_no_public_name_means_two_things() -> None:
    """Public functions and classes of one name in two modules are the same thing, and `SAME_THING` says why."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module in _modules():
        for name in _public_definitions(_tree(module).body):
            homes[name].append(module)
    assert not _shared(homes, SAME_THING), _report("Public names with two meanings", _shared(homes, SAME_THING))
    assert {*SAME_THING} <= {name for name, modules in homes.items() if len(modules) > 1}, "SAME_THING is out of date."


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import orl_codegen.ors.limits", ("orl_codegen.ors.limits", None)),
        ("from orl_codegen.ors import endpoint", ("orl_codegen.ors.endpoint", None)),
        ("from orl_codegen.errors import printable", ("orl_codegen.errors", "printable")),
        ("from ..errors import printable", ("orl_codegen.errors", "printable")),
        ("if TYPE_CHECKING:\n    from openreward.api import x", ("openreward.api", "x")),
        ("def lazy():\n    import openreward.api", ("openreward.api", None)),
        ("import_module('orl_codegen.cli')", ("orl_codegen.cli", None)),
    ],
)
def test_every_form_of_an_import_is_seen(source: str, found: tuple[str, str | None]) -> None:
    """Absolute and relative, lazy, for type checkers only, and by name."""
    (only,) = _imports_in(ast.parse(source), "orl_codegen.trl.spec")
    assert (only.module, only.name) == found


def test_circles_are_found() -> None:
    """Each group of modules that reach each other is one circle; what only leads into it is not part of it."""
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"f"}, "f": {"g"}, "g": {"e", "f"}}
    assert _circles(graph) == [["b", "c"], ["e", "f", "g"]]
    assert _shortest(graph, ["e", "f", "g"]) == ["f", "g", "f"]


def _allowed_by_the_page() -> dict[str, set[str]]:
    """The rooms and modules that each room may import, from the table of rooms."""
    section = (ROOT / PAGE).read_text("utf-8").partition("\n## Rooms\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|.*\|([^|]*)\|$", section, re.MULTILINE)
    return {room: set(re.findall(r"`([\w.]+)`", allowed)) for room, allowed in rows}


def _is_allowed(module: str, allowed: Iterable[str]) -> bool:
    within = "" if module == "orl_codegen" else module.partition(".")[2]
    return any(within == room or within.startswith(f"{room}.") or module == room for room in allowed)


@cache
def _modules() -> tuple[str, ...]:
    names = (path.relative_to(PACKAGE.parent).with_suffix("").parts for path in sorted(PACKAGE.rglob("*.py")))
    return tuple(".".join(parts[:-1] if parts[-1] == "__init__" else parts) for parts in names)


def _path(module: str) -> Path:
    path = PACKAGE.parent.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(_path(module).read_text("utf-8"))


@cache
def _imports() -> tuple[Import, ...]:
    return tuple(each for module in _modules() for each in _imports_in(_tree(module), module))


def _imports_in(tree: ast.Module, importer: str) -> Iterator[Import]:
    for node in ast.walk(tree):
        for module, name in _imported(node, importer):
            line = getattr(node, "lineno", 0)
            if f"{module}.{name}" in _modules():
                yield Import(importer, line, f"{module}.{name}", None)
            else:
                yield Import(importer, line, module, name)


def _imported(node: ast.AST, importer: str) -> Iterator[tuple[str, str | None]]:
    """The modules of a statement, each with the name that is taken from it."""
    match node:
        case ast.Import(names):
            yield from ((alias.name, None) for alias in names)
        case ast.ImportFrom(module, names, level):
            yield from ((_absolute(module or "", level, importer), alias.name) for alias in names)
        case ast.Call(ast.Name("import_module") | ast.Attribute(attr="import_module"), [ast.Constant(str(module)), *_]):
            yield module, None


def _absolute(module: str, level: int, importer: str) -> str:
    if level == 0:
        return module
    package = importer.split(".") + (["__init__"] if _path(importer).stem == "__init__" else [])
    return ".".join([*package[:-level], *filter(None, [module])])


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == "orl_codegen"


def _room(module: str) -> str:
    """The folder or module right below the package; the package itself is a room, too."""
    return module.split(".")[1] if "." in module else module


def _is_foreign(each: Import) -> bool:
    if _is_ours(each.module):
        return _room(each.importer) != _room(each.module)
    return each.module.split(".")[0] == "openreward"


def _private_part(each: Import) -> bool:
    return any(_is_private(part) for part in (*each.module.split("."), each.name or ""))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _private_attributes(module: str) -> Iterator[str]:
    """`name._private`, where `name` was imported from openreward or from another room."""
    tree = _tree(module)
    foreign = {*_names_bound(tree, module)}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ast.Name(name), attribute) if name in foreign and _is_private(attribute):
                yield f"{_path(module).relative_to(ROOT)}:{node.lineno} uses {name}.{attribute}"


def _names_bound(tree: ast.Module, module: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias, (source, name) in zip(node.names, _imported(node, module), strict=True):
                if _is_foreign(Import(module, node.lineno, f"{source}.{name}" if name else source, None)):
                    yield alias.asname or alias.name


def _public_definitions(body: Iterable[ast.stmt]) -> Iterator[str]:
    """The functions and classes of a module, also those under an `if` or `try`."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not node.name.startswith("_"):
                yield node.name
        elif isinstance(node, ast.If | ast.Try):
            yield from _public_definitions([*node.body, *node.orelse])


def _circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The strongly connected components of more than one node."""
    ways = {node: _ways(graph, node) for node in graph}
    groups = {tuple(sorted(other for other in ways[node] if node in ways[other])) for node in graph}
    return sorted(list(group) for group in groups if len(group) > 1)


def _shortest(graph: Mapping[str, Iterable[str]], circle: Iterable[str]) -> list[str]:
    """The shortest way from one of the nodes back to itself."""
    return min((_ways(graph, node)[node] for node in circle), key=lambda way: (len(way), way))


def _ways(graph: Mapping[str, Iterable[str]], start: str) -> dict[str, list[str]]:
    """The shortest way from a node to each that it reaches, which may be itself."""
    ways: dict[str, list[str]] = {}
    ahead = deque([[start]])
    while ahead:
        way = ahead.popleft()
        for node in graph[way[-1]]:
            if node not in ways:
                ways[node] = [*way, node]
                ahead.append(ways[node])
    return ways


def _told(way: list[str], circle: list[str]) -> Iterator[str]:
    """A circle as the imports of its shortest way around, and all modules that are caught in it."""
    yield f"{' → '.join(way)} (of {len(circle)} modules: {', '.join(circle)})"
    steps = {*pairwise(way)}
    yield from (f"  {each}" for each in _imports() if (each.importer, each.module) in steps)


def _shared(homes: Mapping[str, list[str]], known: Iterable[str] = ()) -> list[str]:
    return [
        f"`{name}` in {' and '.join(modules)}"
        for name, modules in sorted(homes.items())
        if len({*modules}) > 1 and name not in {*known}
    ]


def _report(what: str, faults: Iterable[str]) -> str:
    return "\n  ".join([f"{what} (see {PAGE}):", *faults])
