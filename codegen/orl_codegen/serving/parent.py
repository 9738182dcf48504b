"""The parent's half: start the server's process, wait until it serves, stop it.

The child reads what to serve from its standard input and reports on a pipe of its own how that went. It ends itself
when its standard input closes, so it never outlives its parent, even one that was killed. What it prints goes to a
temporary file, whose last line explains a server that did not come up.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from orl_codegen.errors import ServerError, TargetError, printable
from orl_codegen.extras import require

CHILD = "orl_codegen.serving.child"
START_WITHIN = 60.0
NOTICED_WITHIN = 0.2  # seconds from the end of the connections of a process that ends to its own
STOP_WITHIN = 5.0  # seconds between asking the server's process to end and killing it


@contextlib.contextmanager
def serve(target: str | type, timeout: float = START_WITHIN) -> Iterator[str]:
    """Serve an environment class and yield the URL of its server.

    Args:
        target: `path/to/server.py`, `path/to/server.py:Class`, `package.module:Class`, or the class itself. Without
            `:Class`, the file must define exactly one environment.
        timeout: Seconds that the server may take to come up.

    Raises:
        ExtraError: The SDK, which serves environments, is not installed.
        TargetError: The target does not name an environment, or names one that cannot be served.
        ServerError: The server did not come up in time, or its process ended.
    """
    child = ChildServer(target)
    try:
        yield child.url(timeout)
    finally:
        child.stop()


class ChildServer:
    """The server's process. It runs from the constructor until `stop`; `url` waits until it serves.

    `serve` is this class as a context manager. Asynchronous callers use it directly, because `stop` may be called
    while another thread waits in `url`.

    Attributes:
        name: The name of the class that is served, once `url` has returned.
    """

    name: str

    def __init__(self, target: str | type, folder: Path | None = None) -> None:
        require("generate", "Serving a Python environment", ["openreward"])
        self._target = target if isinstance(target, str) else _target_of(target)
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        answer, report = os.pipe()
        self._answer = os.fdopen(answer, "rb")
        try:
            self._process = self._start(report, folder)
        finally:
            os.close(report)
        self._request({"target": self._target, "path": sys.path, "pythonpath": os.environ.get("PYTHONPATH")})

    def _start(self, report: int, folder: Path | None) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            # -P: the working directory must not shadow what the child itself imports; the request brings the path.
            [sys.executable, "-P", "-m", CHILD, str(report)],
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=self._output,
            pass_fds=[report],
            cwd=folder,  # relative paths and modules are found from here
            start_new_session=True,  # its own group, so that `stop` reaches what the environment started
            env={"OPENREWARD_LOG_LEVEL": "WARNING", **os.environ, "PYTHONPATH": _package_path()},
        )

    def _request(self, request: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the child has ended already, and `url` says why
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()

    def url(self, timeout: float = START_WITHIN) -> str:
        """Wait until the server listens; raises what `serve` raises."""
        import select

        shown = printable(self._target)
        answered = select.poll()
        answered.register(self._answer)
        if not answered.poll(timeout * 1000):
            raise ServerError(
                f"The server of {shown} did not come up within {timeout:g} seconds.{self._last_words()} "
                "Import it by hand to see what takes so long, or allow more time (--timeout)."
            )
        answer = self._answer.readline()
        if not answer:
            raise ServerError(f"The server of {shown} ended before it served anything.{self._last_words()}")
        outcome = json.loads(answer)
        if "error" in outcome:
            raise TargetError(f"{shown} cannot be served: {outcome['error']}")
        self.name = outcome["name"]
        return f"http://127.0.0.1:{outcome['port']}"

    def raise_if_ended(self) -> None:
        """Raise what there is to say where the server's process has ended by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(NOTICED_WITHIN)
            raise ServerError(
                f"The server of {printable(self._target)} ended while it was asked.{self._last_words()} Serve it by "
                "hand to see why."
            )

    def stop(self) -> None:
        """End the server and whatever it started. May be called twice."""
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            self._process.terminate()
            self._process.wait(STOP_WITHIN)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdin is not None
        for stream in (self._process.stdin, self._answer, self._output):
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def _last_words(self) -> str:
        self._output.seek(0)
        lines = [line for line in self._output.read().decode("utf-8", "replace").splitlines() if line.strip()]
        return f" Its last words: {printable(lines[-1], 500)}" if lines else ""


def _package_path() -> str:
    """The folder that holds the package `orl_codegen`, in front of the entries of PYTHONPATH."""
    source_root = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join(filter(None, [source_root, os.environ.get("PYTHONPATH")]))


def _target_of(environment: type) -> str:
    """A class object as a target that another process can import."""
    if "<locals>" in environment.__qualname__:
        raise TargetError(
            f"The class {environment.__qualname__} cannot be served: it is defined inside a function, where another "
            "process cannot find it. Move it to the top level of its module."
        )
    module = sys.modules.get(environment.__module__)
    path = getattr(module, "__file__", None)
    if environment.__module__ != "__main__" and getattr(getattr(module, "__spec__", None), "parent", None):
        return f"{environment.__module__}:{environment.__qualname__}"
    if path is None:
        raise TargetError(
            f"The class {environment.__qualname__} cannot be served: it was not read from a file, so another process "
            "cannot find it. Write it into a file, and name that."
        )
    return f"{path}:{environment.__qualname__}"
