"""`orl-codegen changelog OLD_REF [NEW_REF] [PATHS]`: what changed in the adapters, as text for release notes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import click

from orl_codegen.errors import UsageError, printable

if TYPE_CHECKING:
    from orl_codegen.drift.repository import Repository


@click.command()
@click.argument("old_ref")
@click.argument("rest", metavar="[NEW_REF] [PATH]...", nargs=-1)
def changelog(old_ref: str, rest: tuple[str, ...]) -> None:
    """Tell what changed in the adapters between two git refs, as Markdown for release notes.

    The committed snapshots are compared, tool by tool. Without NEW_REF it is the working tree that OLD_REF is compared
    with. PATH is a snapshot or a folder of them; without one it is the output folder of the configuration.
    """
    from orl_codegen.drift.release_notes import release_notes
    from orl_codegen.drift.repository import find_repository
    from orl_codegen.generator.snapshot import Snapshot

    repository = find_repository()
    if not repository.is_commit(old_ref):
        raise UsageError(
            f"`{printable(old_ref)}` is not a commit, tag or branch of this repository. `git tag` lists tags."
        )
    new_ref, places = _split(repository, rest)
    since = f"{printable(old_ref)} and {printable(new_ref or 'the working tree')}"
    old, new = dict[PurePosixPath, Snapshot](), dict[PurePosixPath, Snapshot]()
    for place in places:
        before, after = (repository.snapshots(ref, repository.inside(place)) for ref in (old_ref, new_ref))
        if not before and not after:
            raise UsageError(_nothing(place, since))
        old |= before
        new |= after
    click.echo(release_notes(old, new) or f"No adapter changed between {since}.\n", nl=False)


def _nothing(place: Path, since: str) -> str:
    where = printable(place, 500)
    return f"{where} is neither a git ref nor a path with snapshots, in {since}. Name the folder of the adapters."


def _split(repository: Repository, rest: Sequence[str]) -> tuple[str | None, list[Path]]:
    """The new ref, if the first word is one, and the paths: those given, or else the output folder."""
    new_ref = rest[0] if rest and repository.is_commit(rest[0]) else None
    if new_ref is not None and Path(new_ref).exists():
        raise UsageError(f"`{printable(new_ref)}` is a git ref and a path. Write ./{printable(new_ref)} for the path.")
    return new_ref, [Path(place) for place in (rest if new_ref is None else rest[1:])] or [_output()]


def _output() -> Path:
    from orl_codegen.generator.config import find_config

    output = find_config().output
    if output is None:
        raise UsageError(
            "Name the folder of the adapters (orl-codegen changelog OLD_REF NEW_REF PATH), or set `output` in "
            "[tool.orl-codegen] of pyproject.toml."
        )
    return output
