"""Serve a Python environment class on a free loopback port, in a subprocess, for as long as a `with` block lasts.

    with serve("path/to/server.py:Kitchen") as url:
        ...

`parent` is this process's half: it starts the child, waits for its answer and stops it. `child` is the other half: it
loads the environment and serves it, and is the only one of the two that imports openreward.
"""

from __future__ import annotations

from orl_codegen.serving.parent import ChildServer, serve

__all__ = ["ChildServer", "serve"]
