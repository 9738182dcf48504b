"""The page on the first ten minutes, followed literally: its files, its commands in a shell, and what they print."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.docs.blocks import Block, blocks, titled
from tests.docs.following import PORT, free_port, run, serving, train
from tests.support.grpo import call

INSTALLING = ("python -m venv", ". .venv", "pip install")
SERVE, TRAIN = "python server.py", "python train.py"


def guess(prompt: str) -> str:
    """Halve what is left until the number is found."""
    if "That is it." in prompt:
        return "Done."
    low, high = 0, 100
    for answer in re.findall(r"(Higher|Lower)\.", prompt):
        low, high = ((low + high) // 2, high) if answer == "Higher" else (low, (low + high) // 2)
    return call("guess", f'{{"number": {(low + high) // 2}}}')


def commands(block: Block) -> list[str]:
    """The commands of a block, without their output."""
    return [command for command, _ in block.commands()]


def test_from_an_empty_folder_to_a_training_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every file is written and every command run, in order; only packages are not installed, and the model is a small
    one that guesses by a script."""
    port = free_port()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("server.py", "play.py", "train.py"):
        (tmp_path / name).write_text(titled("start.md", name).replace(PORT, port))
    steps = blocks("start.md", "console")
    before = [commands(block) for block in steps].index([TRAIN])
    assert [commands(block) for block in steps].count([SERVE]) == 2
    installing, first, second = steps[0], steps[1:before], steps[before + 1 :]
    assert all(command.startswith(INSTALLING) for command in commands(installing))
    with serving(tmp_path, port):
        for block in [block for block in first if commands(block) != [SERVE]]:
            run(block, tmp_path, port)
        _the_adapter_is_the_one_shown(tmp_path, port)
        train((tmp_path / "train.py").read_text(), tmp_path, guess)
    rewards = ast.literal_eval(capsys.readouterr().out.splitlines()[-1].removeprefix("rewards: "))
    assert len(rewards) == 4 and len({*rewards}) == 1 and 0 < rewards[0] < 1  # one group, which plays alike
    _change_and_follow(second, tmp_path, port)


def _the_adapter_is_the_one_shown(folder: Path, port: str) -> None:
    [shown] = [block for block in blocks("start.md", "python") if block.is_excerpt]
    assert shown.source.strip("\n") in (folder / shown.file).read_text().replace(port, PORT)


def _change_and_follow(steps: list[Block], folder: Path, port: str) -> None:
    """The part in which the server is changed and started again."""
    change, serve, *rest = steps
    assert commands(serve) == [SERVE] and len(rest) == 2
    run(change, folder, port)
    with serving(folder, port):
        for block in rest:
            run(block, folder, port)
