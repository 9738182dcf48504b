"""Run the command line inside the test process, so that its heavy imports are paid once."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """The result of running `orl-codegen`: its exit status and both streams."""

    status: int
    out: str
    err: str


def orl_codegen(*args: object) -> Outcome:
    """Run `orl-codegen ARGS` in the working directory of the test."""
    from orl_codegen.cli import _status

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = _status([str(arg) for arg in args])
    return Outcome(status, out.getvalue(), err.getvalue())
