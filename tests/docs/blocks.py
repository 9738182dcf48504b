"""The code blocks of README and of the pages below docs/, as sybil finds them.

The info string of a block has its language and attributes. `title` is the name of the file that the block is, `excerpt`
says that the block is a part of that file, and `status` is the exit status of the last command of a console block.
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
        attributes: The others.
        source: What stands between the fences.
    """

    page: str
    line: int
    language: str
    attributes: dict[str, str]
    source: str

    @property
    def title(self) -> str:
        """The name of its file, or the empty text."""
        return self.attributes.get("title", "")

    @property
    def is_excerpt(self) -> bool:
        """Whether it is only a part of that file."""
        return "excerpt" in self.attributes

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
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        line = text.count("\n", 0, region.start) + 1
        found.append(Block(name, line, language, attributes, str(region.lexemes["source"])))
    return found


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def blocks(page: str, language: str) -> list[Block]:
    """The blocks of one page in one language."""
    return [block for block in BLOCKS if block.page == page and block.language == language]


def titled(page: str, title: str) -> str:
    """The source of the block that is a whole file of that name."""
    [block] = [block for block in BLOCKS if (block.page, block.title) == (page, title) and not block.is_excerpt]
    return block.source
