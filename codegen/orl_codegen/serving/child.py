"""The child's half: load an environment class and serve it. Runs as `python -m orl_codegen.serving.child REPORT`.

Only this half imports openreward, and it runs the code of the target. REPORT is the descriptor of the pipe on which it
tells the parent the port, or why there is none.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from orl_codegen.endings import end_with_parent
from orl_codegen.errors import OrlCodegenError, TargetError, printable
from orl_codegen.serving.parent import STOP_WITHIN


def load_environment(target: str) -> type[Any]:
    """The environment class that a target names. Runs the code of its module.

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
        raised = printable(f"{type(error).__name__}: {error}", 500)
        raise TargetError(f"importing it raised {raised}.{hint}") from error
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
    sys.modules[path.stem] = module  # pydantic and pickle look up a class's module by name
    spec.loader.exec_module(module)
    return module


def _named(module: ModuleType, name: str) -> type[Any]:
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not _is_environment(found):
        known = ", ".join(sorted(cls.__name__ for cls in _environments(module))) or "none"
        what = "there is no such class in it" if found is None else "it is not a subclass of openreward's Environment"
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
    request = json.loads(sys.stdin.readline())
    _restore_path(request)
    end_with_parent(STOP_WITHIN)
    with os.fdopen(report, "w") as answer:
        try:
            environment = load_environment(request["target"])
            application = _application(environment)
        except OrlCodegenError as error:
            answer.write(json.dumps({"error": str(error)}) + "\n")
            return
        listener = _listener()
        answer.write(json.dumps({"port": listener.getsockname()[1], "name": environment.__qualname__}) + "\n")
    import uvicorn

    config = uvicorn.Config(application, log_config=None, access_log=False, timeout_graceful_shutdown=2)
    uvicorn.Server(config).run(sockets=[listener])


def _listener() -> socket.socket:
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    # asyncio sets this on sockets that it creates itself; without it, each call waits 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _restore_path(request: dict[str, Any]) -> None:
    """Make importable what the parent can import, and restore the PYTHONPATH that it had."""
    sys.path.extend(entry for entry in request["path"] if entry not in sys.path)
    sys.path.append(str(Path.cwd()))
    os.environ.pop("PYTHONPATH", None)
    if request["pythonpath"] is not None:
        os.environ["PYTHONPATH"] = request["pythonpath"]


if __name__ == "__main__":
    _run_child(int(sys.argv[1]))
