"""The ledger: what its tools read, and what they refuse, in a real session."""

from __future__ import annotations

import pytest

from generated.ledger import Ledger
from orl_codegen import Episode, OpenRewardSpec
from tests.support.servers import RunningServer

FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
ALL_PAIRS = f"SELECT count(*) FROM {', '.join(f'invoices i{number}' for number in range(20))}"


@pytest.mark.parametrize(
    ("sql", "limit", "told"),
    [
        ("SELECT name FROM customers ORDER BY id", 2, '["Ada"]\n["Blaise"]'),
        ("SELECT 1 WHERE 0", 10, "no rows"),
        ("DELETE FROM invoices", 10, "not authorized"),
        ("ATTACH 'other.db' AS other", 10, "not authorized"),
        ("SELECT 1; SELECT 2", 10, "You can only execute one statement at a time."),
        (FOREVER, 10, "not authorized"),
        (ALL_PAIRS, 10, "interrupted"),
    ],
)
def test_queries(server: RunningServer, sql: str, limit: int, told: str) -> None:
    """Rows come as JSON; the model is told what is not allowed, and nothing runs for ever."""
    with Episode(OpenRewardSpec(Ledger, base_url=server.url)) as episode:
        episode.reset(task_index=0)
        assert episode.call("run_query", {"sql": sql, "limit": limit}) == told


@pytest.mark.parametrize(
    ("answer", "reward"), [("3", 1.0), ("Of 5, it is 3.0.", 1.0), ("3.3", 0.5), ("2", 0.0), ("none", 0.0)]
)
def test_answers(server: RunningServer, answer: str, reward: float) -> None:
    """The last number of an answer counts, and near is half right."""
    with Episode(OpenRewardSpec(Ledger, base_url=server.url)) as episode:
        episode.reset(task_index=0)
        assert episode.score(answer) == reward
