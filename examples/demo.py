"""The main job from end to end, on an environment that ships with the package. `make demo` runs it.

Generate an adapter, show it, check it, and play one rollout against the live server, as a trainer would.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENREWARD_LOG_LEVEL", "ERROR")

from orl_codegen import OpenRewardSpec, serve

TARGET = "orl_codegen.environments.kitchen:Kitchen"


def headline(text: str) -> None:
    """Print the title of a step."""
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def orl_codegen(*arguments: str) -> None:
    """Print a command and run it."""
    print("$ orl-codegen", *arguments, flush=True)
    subprocess.run([sys.executable, "-m", "orl_codegen", *arguments], check=True)


def call(environment: Any, name: str, **arguments: Any) -> str:
    """Call a tool by the name that the model uses, and print the call and its output."""
    tools = {method.__name__: method for method in vars(type(environment)).values() if callable(method)}
    answer = str(tools[name](environment, **arguments))
    print(f"  {name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})\n    -> {answer}")
    return answer


def play(environment: Any) -> None:
    """Play one rollout, with a script in place of the model."""
    print(f"  prompt: {environment.reset(task_index=0)}")
    call(environment, "search-recipes", filters={"cuisine": "italian", "max_minutes": 25})
    call(environment, "read_recipe", dish="carbonara")
    call(environment, "convert", amount=2, unit="tablespoon")
    call(environment, "serve_dish", dish="carbonara", ingredients=["pasta", "eggs", "guanciale"])
    print(f"  reward: {environment.reward}")


def main() -> None:
    """Run all steps in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        headline("1. Generate: ask the environment for its tools, write a snapshot and a type-checked adapter")
        orl_codegen(TARGET, "--probe", "all", "-o", "generated")
        headline("2. Show: the tools as the model will see them")
        orl_codegen("show", "generated/kitchen.py")
        headline("3. Check: does the live environment still match what was written?")
        orl_codegen("check", TARGET, "--probe", "all", "-o", "generated")
        headline("4. Play: one rollout through the adapter, against the live server")
        sys.path.insert(0, str(Path("generated").resolve()))
        from kitchen import Kitchen  # type: ignore[import-not-found]  # written by step 1

        with serve(TARGET) as url:
            play(OpenRewardSpec(Kitchen, base_url=url).environment_factory())


if __name__ == "__main__":
    main()
