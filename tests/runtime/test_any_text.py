"""Whatever text and JSON an environment sends, training goes on with it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openreward.environments import Server, TextBlock, ToolOutput, tool

from orl_codegen import OpenRewardSpec
from orl_codegen.ors.unicode import json_of
from orl_codegen.runtime.blocks import rendered
from orl_codegen.trl.dataset import task_rows, to_dataset
from tests.environments.echo import Echo, Text
from tests.runtime import adapters
from tests.support.applications import replacing
from tests.support.grpo import call, logged, train
from tests.support.servers import RunningServer, serving_application


class Emoji(Echo):
    """Everything that it sends was cut in the middle of an emoji."""

    _tasks_cache: ClassVar[dict[str, Any]] = {}  # otherwise the SDK takes the one of the base class, with its tasks

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
    with serving_application(replacing(b"HALF__", rb"\ud83d", Server([Emoji]).app)) as server:
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


KEYS = st.sampled_from(["a", "b", "", "a\0b", "_type", "\ufffd"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(KEYS, part, max_size=3),
    max_leaves=6,
)


@settings(max_examples=max(50, int(os.environ.get("ORL_EXAMPLES", "100")) // 2), deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=4))
@example([{"a": 1}, {"b": 2}])
@example([{"a": {"b": 1}}, {"a": {}}, None])
@example([[{"a": 1}], [{"a": 1, "b": None}], []])
@example([{}, {"a": None}])
@example([[{}], {}])
@example([{"a\0b": 1}])
def test_fields_come_back_as_they_were_or_as_json(values: list[Any]) -> None:
    """Whatever JSON the tasks hold, no value is padded, cut or turned into another."""
    rows = task_rows("train", [(index, {"field": value}) for index, value in enumerate(values)], include_metadata=True)
    back = to_dataset(rows)["field"]
    as_json = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    assert list(back) in (values, as_json)


def test_keys_that_agree_stay_dictionaries() -> None:
    """At every level; a row without the field is None, and where any key differs, all rows are JSON text."""
    alike = [{"a": [{"b": 1}], "c": {}}, None, {"a": [], "c": {}}]
    differing = [{"a": {"b": 1}}, {"a": {"c": 2}}]
    tasks = [(0, {"x": alike[0], "y": differing[0]}), (1, {}), (2, {"x": alike[2], "y": differing[1]})]
    dataset = to_dataset(task_rows("train", tasks, include_metadata=True))
    assert list(dataset["x"]) == alike
    assert list(dataset["y"]) == ['{"a": {"b": 1}}', None, '{"a": {"c": 2}}']


@pytest.fixture
def blobs() -> Iterator[RunningServer]:
    """A server whose blocks are of a kind that this version does not know."""
    with serving_application(replacing(b'"type":"text"', b'"type":"blob"', Server([Echo]).app)) as server:
        yield server


@pytest.mark.parametrize("images", ["placeholder", "pil", "drop"])
def test_unknown_blocks_are_shown(blobs: RunningServer, images: Any) -> None:
    """As their JSON, in prompts of both kinds and in results; the model is never told that there was no output."""
    spec = OpenRewardSpec(adapters.Echo, base_url=blobs.url, images=images, prompts="dataset", num_tasks=1)
    assert "Echo 'word0' to win." in spec.train_dataset["prompt"][0][0]["content"]
    rollout = OpenRewardSpec(adapters.Echo, base_url=blobs.url, images=images).environment_factory()
    prompt = json.loads(str(rollout.reset()))
    assert (prompt["type"], prompt["text"]) == ("blob", "Echo 'word0' to win.")
    result = json.loads(str(rollout.echo(text="word0")))
    assert (result["type"], result["text"]) == ("blob", "match")
    rollout._close()


def test_payloads_of_unknown_blocks_are_not_shown() -> None:
    """Base64 says nothing to a model; short strings and prose stay."""
    block = {
        "type": "audio",
        "data": "QUJD" * 100,
        "parts": [{"url": "data:audio/wav;base64," + "QUJD" * 100}],
        "s": "A=",
    }
    prose = {"type": "note", "note": "two words " * 50}
    shown, note = str(rendered([block, prose], "drop")).split("\n")
    assert "QUJD" not in shown and "[400 characters of base64]" in shown and '"s": "A="' in shown
    assert json.loads(note) == prose


def test_chat_tokens_in_a_result_are_a_warning_once(caplog: pytest.LogCaptureFixture) -> None:
    """For each adapter, with the token escaped; the model gets the result as it is."""

    class Talkative(adapters.Echo):
        """An adapter of its own, as the warning is logged once for each."""

    with serving_application(replacing(b"HALF__", b"<|im|>", Server([Emoji]).app)) as server:
        for _ in range(2):
            rollout = OpenRewardSpec(Talkative, base_url=server.url, variant="emoji").environment_factory()
            rollout.reset()
            assert rollout.echo(text="x") == "x<|im|>"
    warnings = [record.getMessage() for record in caplog.records if record.name.startswith("orl_codegen")]
    assert len(warnings) == 1 and "A tool of Talkative answered with '<|im|>'" in warnings[0]
