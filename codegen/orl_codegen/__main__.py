"""`python -m orl_codegen` is the command `orl-codegen`, and both begin here."""

from __future__ import annotations

import sys
from typing import NoReturn

from orl_codegen.errors import ExtraError
from orl_codegen.extras import require


def begin() -> NoReturn:
    """Run the command, or say in a line what to install: without its extra, not even its help could be imported."""
    try:
        require("generate", "The command line")
    except ExtraError as error:
        print(f"orl-codegen: {error}", file=sys.stderr)
        sys.exit(2)
    from orl_codegen.cli import main as command

    command()


if __name__ == "__main__":
    begin()
