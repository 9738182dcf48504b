"""`python -m orl_codegen` is the command `orl-codegen`."""

from __future__ import annotations

from orl_codegen.cli import main

if __name__ == "__main__":
    main()
