"""The environment that `eval` plays: the adapter, and what it takes to reach the server."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orl_codegen.cli.arguments import jobs_of
from orl_codegen.cli.display import display

if TYPE_CHECKING:
    from orl_codegen.generator.options import Job
    from orl_codegen.runtime.adapter import RolloutAdapter

DISCOVERY = ("split", "variant", "secrets", "api_key_env")
"""The options of `eval` that discovery has as well."""


@contextmanager
def environment(
    text: str, quiet: bool, given: Mapping[str, Any]
) -> Iterator[tuple[type[RolloutAdapter], dict[str, Any]]]:
    """The adapter in a generated module, or of an environment that is asked for its tools; and the arguments of
    `OpenRewardSpec` to reach it. A Python class is served for the duration of the block, unless it runs somewhere.

    Raises:
        UsageError: It names nothing that can be played.
        OrlCodegenError: What discovery raises.
    """
    from orl_codegen.generator.discovery.connection import api_key_of, secrets_of
    from orl_codegen.generator.target import PythonClass
    from orl_codegen.serving import serve
    from orl_codegen.trl.preflight.intended import load_adapter

    options = {name: given[name] for name in DISCOVERY}
    adapter = load_adapter(text) if _is_generated(text) else _made(jobs_of(text, **options)[0], quiet)
    job = jobs_of(adapter._environment.target, **options)[0]
    connection = {
        "api_key": api_key_of(job.target, job.options),
        "secrets": secrets_of(job.options),
        "variant": given["variant"],
    }
    elsewhere = given["base_url"] is not None or not isinstance(job.target, PythonClass)
    with nullcontext(given["base_url"]) if elsewhere else serve(job.target.record) as url:
        yield adapter, connection | {"base_url": url}


def _is_generated(text: str) -> bool:
    """Whether a module, by its path or name, begins as generated ones do. It is not imported."""
    from orl_codegen.generator.output.context import BANNER
    from orl_codegen.generator.output.folder import read

    where = text.rpartition(":")[0] or text
    path = Path(where) if where.endswith(".py") else _file_of(where)
    return path is not None and (read(path) or "").startswith(BANNER)


def _file_of(name: str) -> Path | None:
    import sys

    sys.path.insert(0, "")  # as `python -m` would
    try:
        spec = importlib.util.find_spec(name) if all(part.isidentifier() for part in name.split(".")) else None
    except (ImportError, ValueError):  # of a package above it, which is imported
        return None
    finally:
        sys.path.remove("")
    return Path(spec.origin) if spec is not None and spec.origin and spec.has_location else None


def _made(job: Job, quiet: bool) -> type[RolloutAdapter]:
    """The adapter of an environment, as `generate` would write it."""
    from orl_codegen.generator import pipeline
    from orl_codegen.trl.preflight.intended import load_adapter

    with display(quiet) as shown:
        taken = pipeline.take_snapshots([job], shown.of)
    (made,) = [pipeline.adapter(*pair) for pair in taken]
    with tempfile.TemporaryDirectory(prefix="orl-codegen-") as folder:
        path = Path(folder, f"{made.slug}.py")
        path.write_text(made.module, "utf-8")
        return load_adapter(f"{path}:{made.class_name}")
