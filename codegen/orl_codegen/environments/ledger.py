"""An environment whose answers are graded: questions about the books of a small shop, which stand in a database.

There is no tool to answer with. What the model writes when it makes no more calls goes to the terminal tool.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from typing import Any

from openreward.environments import Blocks, Environment, JSONObject, Split, TextBlock, ToolOutput, terminal, tool
from pydantic import BaseModel, Field

ROWS = 50  # of a result, at most
STEPS = 1_000_000  # of SQLite's machine, for one query

BOOKS = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT NOT NULL);
CREATE TABLE invoices (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customers, amount REAL NOT NULL,
    paid INTEGER NOT NULL);
INSERT INTO customers VALUES (1, 'Ada', 'GB'), (2, 'Blaise', 'FR'), (3, 'Carl', 'DE'), (4, 'Emmy', 'DE');
INSERT INTO invoices VALUES (1, 1, 120.5, 1), (2, 1, 80.0, 0), (3, 2, 42.0, 0), (4, 3, 300.0, 1), (5, 4, 99.9, 0);
"""

TASKS: dict[str, list[dict[str, Any]]] = {
    "train": [
        {"id": "train-0", "question": "How many invoices are unpaid?", "answer": 3.0},
        {"id": "train-1", "question": "What do the unpaid invoices come to?", "answer": 221.9},
    ],
    "test": [
        {"id": "test-0", "question": "What do the invoices of customers in DE come to?", "answer": 399.9},
        {"id": "test-1", "question": "How many customers have an unpaid invoice?", "answer": 3.0},
    ],
}

READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION}


class Describe(BaseModel):
    table: str = Field(description="Name of the table")


class Query(BaseModel):
    sql: str = Field(description="One SELECT statement, in SQLite's dialect")
    limit: int = Field(10, ge=1, le=ROWS, description="How many rows to return")


class Answer(BaseModel):
    text: str


class Ledger(Environment):
    """Answer a question about the books with a number."""

    async def setup(self) -> None:
        """The books of this session, which nobody can write to."""
        self.books = sqlite3.connect(":memory:", check_same_thread=False)
        self.books.executescript(BOOKS)
        self.books.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY)

    async def teardown(self) -> None:
        """Close them."""
        self.books.close()

    @classmethod
    def list_splits(cls) -> Sequence[Split | str]:
        """Two splits."""
        return [Split(name="train", type="train"), Split(name="test", type="test")]

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[JSONObject]:
        """Two questions each."""
        return TASKS[split]

    def get_prompt(self) -> Blocks:
        """The question."""
        return [TextBlock(text=f"{self.task_spec['question']} Look it up, then answer with one number.")]

    @tool
    def list_tables(self) -> ToolOutput:
        """List the tables of the books."""
        return self._shown("SELECT name FROM sqlite_schema WHERE type = 'table'", ROWS)

    @tool
    def describe_table(self, wanted: Describe) -> ToolOutput:
        """Show how a table was created."""
        return self._shown("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", 1, wanted.table)

    @tool
    def run_query(self, query: Query) -> ToolOutput:
        """Read from the books. Returns the rows as JSON lists."""
        return self._shown(query.sql, query.limit)

    @tool
    @terminal
    def answer(self, given: Answer) -> ToolOutput:
        """Grade the last number of an answer: 1.0 if it is right, 0.5 if it is within a tenth of that, else 0.0."""
        numbers = re.findall(r"-?\d+(?:\.\d+)?", given.text)
        off = abs(float(numbers[-1]) - self.task_spec["answer"]) if numbers else float("inf")
        reward = 1.0 if off < 0.005 else 0.5 if off <= abs(self.task_spec["answer"]) / 10 else 0.0
        return ToolOutput(blocks=[TextBlock(text="The answer is in the books.")], reward=reward, finished=True)

    def _shown(self, sql: str, limit: int, *values: str) -> ToolOutput:
        try:
            self.books.set_progress_handler(lambda: True, STEPS)  # called once, it ends the query
            rows = self.books.execute(sql, values).fetchmany(limit)
            text = "\n".join(json.dumps(row, default=repr) for row in rows) or "no rows"
        except (sqlite3.Error, sqlite3.Warning) as error:
            text = f"{error}"
        return ToolOutput(blocks=[TextBlock(text=text)], metadata={})
