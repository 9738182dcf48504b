"""Rendering: a contract becomes the text of a module. Returns text; writes nothing.

`context` makes the strings that the templates receive; here they are rendered, formatted and given their checksum.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from orl_codegen.errors import UNSEEN, UsageError, printable, python_escape
from orl_codegen.generator.contract.contract import Contract
from orl_codegen.generator.output.context import context, first_line
from orl_codegen.generator.output.folder import read
from orl_codegen.generator.output.layout import formatted, laid_out
from orl_codegen.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

# Two digests on one line, because `check` needs two answers: was the text edited, and did this generator make it. One
# digest over everything could not tell an edit from a module that another version or other templates rendered.
_CHECKSUM = re.compile(r"^# Checksum \(orl-codegen check\): ([0-9a-f]{32})-([0-9a-f]{32})\n", re.MULTILINE)

_METHOD = re.compile(r"^    @tool\b", re.MULTILINE)


def render(contract: Contract, slug: str, templates: Path | None = None) -> str:
    """The text of `<slug>.py`.

    Args:
        contract: What the module must say.
        slug: Name of the module; its snapshot is `<slug>.json` beside it.
        templates: A folder whose templates replace the shipped ones of the same name.

    Raises:
        UsageError: The folder does not exist, or a template in it cannot be rendered or does not give Python.
    """
    from jinja2 import TemplateError

    environment = _jinja(templates)
    try:
        source = environment.get_template("module.py.jinja").render(context(contract, slug))
        # Python itself prints some of what nobody sees, and so `repr` and the docstrings have it raw.
        source = UNSEEN.sub(lambda found: python_escape(found[0]), source)
        return seal(formatted(source) if templates else laid_out(source), contract.snapshot.digest, templates)
    except (TemplateError, ValueError, OSError) as error:
        raise UsageError(
            f"The templates {f'in {printable(templates)}' if templates else 'of orl-codegen'} do not render to Python: "
            f"{printable(error)}. Fix the template, or leave out --templates."
        ) from None


def shipped_templates() -> Path:
    """The templates inside the installed package, or else those of the checkout."""
    package = Path(__file__).parents[2]
    packaged = package / "templates"
    return packaged if packaged.is_dir() else package.parents[1] / "templates"


def seal(text: str, snapshot_digest: str, templates: Path | None = None) -> str:
    """Put the checksum into the banner of a module: a digest of its text, and one of everything that made it.

    With it, `check` can tell that a module is in order without rendering it again.
    """
    unsealed = _CHECKSUM.sub("", text)
    first, rest = unsealed.split("\n", 1)
    checksum = f"{_digest(unsealed)}-{_digest(*_makers(snapshot_digest, templates))}"
    return f"{first}\n# Checksum (orl-codegen check): {checksum}\n{rest}"


def holds(text: str, snapshot_digest: str, templates: Path | None = None) -> bool:
    """Whether this version rendered the module from that snapshot with these templates, and nothing changed since."""
    found = _CHECKSUM.search(text)
    return untouched(text) and found is not None and found[2] == _digest(*_makers(snapshot_digest, templates))


def is_current(text: str, slug: str, class_name: str, snapshot_digest: str, templates: Path | None = None) -> bool:
    """Whether rendering would give this very text again."""
    named = text.startswith(first_line(slug)) and f"\nclass {class_name}(" in text
    return named and holds(text, snapshot_digest, templates)


def methods_in(text: str) -> int:
    """How many tools a rendered module has. It is not parsed: the text of the server is indented further, or quoted."""
    return len(_METHOD.findall(text))


def untouched(text: str) -> bool:
    """Whether a module is as it was rendered, regardless of version, snapshot and templates."""
    found = _CHECKSUM.search(text)
    return found is not None and found[1] == _digest(_CHECKSUM.sub("", text))


def _makers(snapshot_digest: str, templates: Path | None) -> Iterator[str]:
    yield from (__version__, snapshot_digest)
    for folder in (shipped_templates(), templates):
        yield from [read(path) or "" for path in sorted(folder.glob("*.jinja"))] if folder else [""]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _jinja(templates: Path | None) -> Environment:
    if templates is None:
        return _shipped()
    if not templates.is_dir():
        raise UsageError(f"--templates {printable(templates)} is not a folder. Name the folder with your templates.")
    return _environment(templates, shipped_templates())


@cache
def _shipped() -> Environment:
    """The shipped templates, compiled once. A user's own may change between two runs of `--watch`."""
    return _environment(shipped_templates())


def _environment(*folders: Path) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(folders),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
