"""The site: mkdocs builds it strictly, it loads nothing from elsewhere, and every page is in its navigation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

LOADED = re.compile(
    r"""<(?:script|img|iframe|source|audio|video)\b[^>]*?\bsrc=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b(?![^>]*\brel=["']?canonical)[^>]*?\bhref=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|(?:@import|url\()\s*["']?(?:https?:)?//[^"')\s]+"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it: a link or an anchor that leads nowhere is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    return folder


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """No script, style, font or picture has an address on another host."""
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(files) > 15
    assert [found for file in files for found in LOADED.findall(file.read_text("utf-8"))] == []


def test_the_pattern_finds_what_it_is_for() -> None:
    """A script, a style sheet and a font of another host are found; a link that is only followed is not."""
    assert LOADED.search('<script async src="https://example.org/a.js">')
    assert LOADED.search('<link rel="stylesheet" href="//example.org/a.css">')
    assert LOADED.search("src:url(https://example.org/a.woff2)")
    assert not LOADED.search('<a href="https://example.org/">')


def test_the_reference_has_the_public_names(site: Path) -> None:
    """What the package exports, and every error, has its entry in the reference."""
    import orl_codegen
    from orl_codegen import errors

    pages = "".join(page.read_text("utf-8") for page in (site / "reference").glob("*.html"))
    anchors = {anchor.rpartition(".")[2] for anchor in re.findall(r'id="(orl_codegen\.[\w.]+)"', pages)}
    wanted = {name for name in orl_codegen.__all__ if not name.startswith("_")}
    wanted |= {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert wanted <= anchors
    assert {"reset", "Environment", "TerminalTool", "tool"} <= anchors
    for name in ("reward", "rewards", "metadata", "finished", "last_output", "failure"):
        assert f'title="orl_codegen.runtime.adapter.RolloutAdapter.{name}"' in pages


def test_every_block_is_rendered_as_one(site: Path) -> None:
    """No fence is left as text on a page."""
    for page in site.rglob("*.html"):
        assert "<p>```" not in page.read_text("utf-8"), page.name
