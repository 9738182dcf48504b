"""Serve a Python environment class on a free loopback port, in a subprocess, for as long as a `with` block lasts.

    with serve("path/to/server.py:Kitchen") as url:
        ...

The child reads what to serve from its standard input, says on a pipe of its own how that went, and ends itself when its
standard input closes: so it never outlives its parent, not even one that was killed. What it prints goes to a temporary
file, whose end explains a server that did not come up.
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
from types import ModuleType
from typing import IO, Any

from orl_codegen.errors import OrlCodegenError, ServerError, TargetError, printable

START_WITHIN = 60.0
STOP_WITHIN = 5.0


@contextlib.contextmanager
def serve(target: str | type, timeout: float = START_WITHIN) -> Iterator[str]:
    """Serve an environment class and yield the URL of its server.

    Args:
        target: `path/to/server.py`, `path/to/server.py:Class`, `package.module:Class`, or the class itself. Without
            `:Class`, the file must define exactly one environment.
        timeout: Seconds that the server may take to come up.

    Raises:
        TargetError: The target names no environment, or one that cannot be served.
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
        self._target = target if isinstance(target, str) else _name_of(target)
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        answer, report = os.pipe()
        self._answer = os.fdopen(answer, "rb")
        # -P: the working directory must not shadow what the child itself imports; the request brings the path along.
        command = [sys.executable, "-P", "-m", "orl_codegen.serving", str(report)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=self._output,
                stderr=self._output,
                pass_fds=[report],
                cwd=folder,  # relative paths and modules are found from here
                start_new_session=True,  # its own group, so that `stop` reaches what the environment started
                env={"OPENREWARD_LOG_LEVEL": "WARNING", **os.environ, "PYTHONPATH": _package_path()},
            )
        finally:
            os.close(report)
        request = {"target": self._target, "path": sys.path, "pythonpath": os.environ.get("PYTHONPATH")}
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the child is gone already, and `url` says why
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
    """The folder that holds this package, in front of what PYTHONPATH says."""
    here = str(Path(__file__).resolve().parent.parent)
    return os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))


def _name_of(environment: type) -> str:
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


# What follows runs in the child.


def load(target: str) -> type[Any]:
    """The environment class that a target names. Runs the module's code, and imports openreward.

    Raises:
        TargetError: The module cannot be imported, or does not define one environment of that name.
    """
    place, _, name = target.partition(":") if not target.endswith(".py") else (target, "", "")
    try:
        module = _module_from_file(Path(place)) if place.endswith(".py") else _module(place)
    except TargetError:
        raise
    except BaseException as error:  # the module may do anything, SystemExit included
        hint = " Name it as package.module:Class instead." if "relative import" in str(error) else ""
        said = printable(f"{type(error).__name__}: {error}", 500)
        raise TargetError(f"importing it raised {said}.{hint}") from error
    return _named(module, name) if name else _only_environment(module)


def _module(name: str) -> ModuleType:
    from importlib import import_module

    return import_module(name)


def _module_from_file(path: Path) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    if not path.is_file():
        raise TargetError("there is no such file.")
    sys.path.insert(0, str(path.resolve().parent))  # as `python server.py` would
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module  # pydantic and pickle look a class's module up by its name
    spec.loader.exec_module(module)
    return module


def _named(module: ModuleType, name: str) -> type[Any]:
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not _is_environment(found):
        known = ", ".join(sorted(cls.__name__ for cls in _environments(module))) or "none"
        what = "there is no such class in it" if found is None else "it is no subclass of openreward's Environment"
        raise TargetError(f"{what}. Environments that it defines: {printable(known)}.")
    return found  # type: ignore[no-any-return]


def _only_environment(module: ModuleType) -> type[Any]:
    environments = _environments(module)
    if len(environments) == 1:
        return environments[0]
    if not environments:
        raise TargetError("it defines no subclass of openreward.environments.Environment.")
    names = ", ".join(sorted(cls.__name__ for cls in environments))
    raise TargetError(f"it defines several environments: {printable(names)}. Say which one by adding `:Class`.")


def _environments(module: ModuleType) -> list[type[Any]]:
    """The environments that a module defines: the concrete ones, or else those that leave something undefined."""
    import inspect

    own = [value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__]
    found = list(dict.fromkeys(value for value in own if _is_environment(value)))
    return [environment for environment in found if not inspect.isabstract(environment)] or found


def _is_environment(value: Any) -> bool:
    from openreward.environments import Environment

    return isinstance(value, type) and issubclass(value, Environment) and value is not Environment


def _application(environment: type[Any]) -> Any:
    from openreward.environments import Server

    missing = ", ".join(sorted(getattr(environment, "__abstractmethods__", ())))
    if missing:
        raise TargetError(f"it leaves {missing} undefined.")
    try:
        return Server([environment]).app  # `.app`, not `.run()`: that one asks the package registry for updates
    except Exception as error:
        raise TargetError(printable(f"{type(error).__name__}: {error}", 500)) from error


def _run_child(report: int) -> None:
    import socket

    request = json.loads(sys.stdin.readline())
    _restore_path(request)
    _end_with_parent()
    with os.fdopen(report, "w") as answer:
        try:
            environment = load(request["target"])
            application = _application(environment)
        except OrlCodegenError as error:
            answer.write(json.dumps({"error": str(error)}) + "\n")
            return
        listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        # asyncio does this for sockets of its own making; without it, each call waits 40 ms for an acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answer.write(json.dumps({"port": listener.getsockname()[1], "name": environment.__qualname__}) + "\n")
    import uvicorn

    config = uvicorn.Config(application, log_config=None, access_log=False, timeout_graceful_shutdown=2)
    uvicorn.Server(config).run(sockets=[listener])


def _restore_path(request: dict[str, Any]) -> None:
    """Import what the parent can import, and hand on the PYTHONPATH that it had."""
    sys.path.extend(entry for entry in request["path"] if entry not in sys.path)
    sys.path.append(str(Path.cwd()))
    os.environ.pop("PYTHONPATH", None)
    if request["pythonpath"] is not None:
        os.environ["PYTHONPATH"] = request["pythonpath"]


def _end_with_parent() -> None:
    """End this process group on SIGTERM, which uvicorn hands on after it has closed, and when the parent is gone."""
    import threading
    import time

    def end(*_: object) -> None:
        os.killpg(0, signal.SIGKILL)

    def watch() -> None:
        sys.stdin.read()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(STOP_WITHIN)
        end()

    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    _run_child(int(sys.argv[1]))
