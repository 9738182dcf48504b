"""The code blocks of README and of the pages below docs/, as sybil finds them.

A title is the name of the file that the block is; with ` (excerpt)` behind it, of the file that the block is a part of.
`exit status 1` is the title of a console block whose last command ends with that status.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sybil import Document
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCES = RawFencedCodeBlockLexer(re.compile(r"(?P<info>[^\n]*)\n"))


@dataclass(frozen=True)
class Block:
    """A code block.

    Attributes:
        page: The page, relative to docs/; README.md stands beside it.
        line: The line of its fence.
        language: The first word of its info string.
        title: Its title, or the empty text.
        source: What stands between the fences.
    """

    page: str
    line: int
    language: str
    title: str
    source: str

    @property
    def is_excerpt(self) -> bool:
        """Whether it is only a part of a file."""
        return self.title.endswith(" (excerpt)")

    @property
    def file(self) -> str:
        """The name of its file."""
        return self.title.removesuffix(" (excerpt)")

    @property
    def status(self) -> int:
        """The exit status of its last command."""
        found = re.fullmatch(r"exit status (\d+)", self.title)
        return int(found[1]) if found else 0

    def commands(self) -> list[tuple[str, str]]:
        """The commands of a console block, each with the output that is shown; empty where none is."""
        parts = re.split(r"^\$ ", self.source, flags=re.MULTILINE)[1:]
        return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text("utf-8")
    name = page.name if page.parent == ROOT else page.relative_to(ROOT / "docs").as_posix()
    found = []
    for region in _FENCES(Document(text, str(page))):
        language, _, rest = region.lexemes["info"].strip().partition(" ")
        title = re.search(r'title="([^"]*)"', rest)
        line = text.count("\n", 0, region.start) + 1
        found.append(Block(name, line, language, title[1] if title else "", str(region.lexemes["source"])))
    return found


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def blocks(page: str, language: str) -> list[Block]:
    """The blocks of one page in one language."""
    return [block for block in BLOCKS if block.page == page and block.language == language]


def titled(page: str, title: str) -> str:
    """The source of the block that is a whole file of that name."""
    [block] = [block for block in BLOCKS if (block.page, block.title) == (page, title) and not block.is_excerpt]
    return block.source
