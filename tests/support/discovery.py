"""Take a snapshot, as the pipeline does for each of its targets."""

from __future__ import annotations

import asyncio

from orl_codegen.generator.discovery.discovery import Progress, Silent, discover
from orl_codegen.generator.options import Options
from orl_codegen.generator.snapshot import Snapshot
from orl_codegen.generator.target import Target


def take_snapshot(target: Target, options: Options, progress: Progress | None = None) -> Snapshot:
    """Ask the server of a target what tools it offers, and wait for the answer."""
    return asyncio.run(discover(target, options, progress or Silent()))
