"""Whatever text and JSON an environment sends, training goes on with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from openreward.environments import Server, TextBlock, ToolOutput, tool

from orl_codegen import OpenRewardSpec
from orl_codegen.ors.unicode import json_of
from tests.environments.echo import Echo, Text
from tests.runtime import adapters
from tests.support.applications import with_halves
from tests.support.grpo import call, logged, train
from tests.support.servers import serving_application


class Emoji(Echo):
    """Everything that it sends was cut in the middle of an emoji."""

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[Any]:
        """Tasks with half a character in their values and keys."""
        return [
            {"word": "HALF__", "HALF__key": [{"HALF__": "a", "\ufffd": "b"}], "a\0b": number} for number in range(2)
        ]

    @tool
    async def echo(self, params: Text) -> ToolOutput:
        """Echo half of a character."""
        return ToolOutput(blocks=[TextBlock(text=f"{params.text}HALF__")], reward=1.0, finished=True)


def echo_once(prompt: str) -> str:
    """Call the tool, then stop."""
    return "Done." if "x\ufffd" in prompt else call("echo", '{"text": "x"}')


@pytest.mark.parametrize("prompts", ["session", "dataset"])
def test_half_a_surrogate_pair_becomes_the_replacement_character(tmp_path: Path, prompts: Any) -> None:
    """In tasks, keys, prompts and results; a step of GRPO, whose tokenizer would refuse it, goes through."""
    with serving_application(with_halves(Server([Emoji]).app)) as server:
        spec = OpenRewardSpec(adapters.Echo, base_url=server.url, variant="emoji", prompts=prompts)
        row = spec.train_dataset[1]
        assert (row["word"], row["\ufffdkey"]) == ("\ufffd", [{"\ufffd\ufffd": "a", "\ufffd": "b"}])
        trainer = train(spec, echo_once, tmp_path, batch=2)
        assert trainer.environments[0].last_output == "x\ufffd"
        assert logged(trainer, "reward") == 1.0
        rollout = OpenRewardSpec(adapters.Echo, base_url=server.url, variant="emoji").environment_factory()
        assert rollout.reset() == "Echo '\ufffd' to win."
        rollout._close()


def test_nul_in_a_field_of_a_task() -> None:
    """Arrow ends a name at NUL, so the column has U+FFFD there, and a name that is taken gets longer."""
    from orl_codegen.trl.dataset import task_rows, to_dataset

    task = {"a\0b": 1, "a\ufffdb": "x\0y", "\0prompt": 2}
    row = to_dataset(task_rows("train", [(0, task)], include_metadata=True))[0]
    assert (row["a\ufffdb"], row["a\ufffdb_"], row["\ufffdprompt"]) == ("x\0y", 1, 2)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (rb'"\ud83d\ude00 \uD83D"', "\U0001f600 \ufffd"),
        (b'"\xed\xa0\xbd"', "\ufffd"),
        (rb'"\\ud83d"', r"\ud83d"),
        ('"\U0001f600"'.encode("utf-16"), "\U0001f600"),
        (b"\xef\xbb\xbf[1]", [1]),
        (r'{"\udc00": 1, "\ud800": 2, "\ufffd": 3}', {"\ufffd\ufffd": 1, "\ufffd\ufffd\ufffd": 2, "\ufffd": 3}),
    ],
)
def test_only_halves_are_replaced(answer: bytes | str, value: Any) -> None:
    """Whole pairs and escaped backslashes stay, and no key gets lost to another."""
    assert json_of(answer) == value
    json.dumps(json_of(answer), ensure_ascii=False).encode()
