"""`max_tool_output`: the model is shown so many characters of a result; what the environment answered is kept whole."""

from __future__ import annotations

from typing import Any

import pytest

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import UsageError
from orl_codegen.runtime.blocks import Blocks, shortened
from tests.preflight.adapters import Library
from tests.support.servers import RunningServer

NOTE = "\n[... 960 characters were left out here ...]\n"


def rollout_of(server: RunningServer, **options: Any) -> Any:
    rollout = OpenRewardSpec(Library, base_url=server.url, **options).environment_factory()
    rollout.reset()
    return rollout


def test_a_long_result_is_shown_in_part_and_kept_whole(server: RunningServer) -> None:
    """The beginning, a note that says how much was left out, and the end; reward, metadata and last output as ever."""
    whole = "\n".join(f"line {number:04}" for number in range(100))
    rollout = rollout_of(server, max_tool_output=39)
    assert len(whole) == 999
    assert rollout.read(lines=100) == whole[:20] + NOTE + whole[-19:]
    assert (rollout.last_output, rollout.reward, rollout.metadata) == (whole, 100.0, [{"text": whole}])
    rollout._close()


def test_what_fits_is_shown_as_it_is(server: RunningServer) -> None:
    """A result of exactly the limit, and any result without a limit."""
    for options in ({"max_tool_output": 999}, {}):
        rollout = rollout_of(server, **options)
        assert rollout.read(lines=100) == rollout.last_output
        rollout._close()


def test_images_stay(server: RunningServer) -> None:
    """The limit counts the characters of all texts of a result together, and images are not touched."""
    rollout = rollout_of(server, max_tool_output=38, images="pil")
    before, image, after = rollout.leaf(lines=100)
    assert before["text"] == "line 0000\nline 0001" + NOTE and image["image"].size == (8, 6)
    assert after["text"] == "line 0048\nline 0049"
    rollout._close()


@pytest.mark.parametrize("limit", range(1, 12))
def test_exactly_so_many_characters_stay_wherever_the_cut_is(limit: int) -> None:
    """Over the borders of blocks, too: there is one note, and it counts what is missing."""
    parts = [{"type": "text", "text": text} for text in ("abc", "def", "ghi", "jkl")]
    kept = "".join(part["text"] for part in shortened(Blocks(parts), limit))  # type: ignore[union-attr,index]
    head, _, rest = kept.partition("\n[... ")
    missing, _, tail = rest.partition(" characters were left out here ...]\n")
    assert int(missing) == 12 - limit and len(head) - len(tail) in (0, 1)
    assert "abcdefghijkl".startswith(head) and "abcdefghijkl".endswith(tail) and len(head + tail) == limit


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "many"])
def test_no_other_limits(limit: Any) -> None:
    """A limit is a whole number of characters, one at least."""
    with pytest.raises(UsageError, match=r"max_tool_output=.* is invalid"):
        OpenRewardSpec(Library, base_url="http://127.0.0.1:1", max_tool_output=limit)
