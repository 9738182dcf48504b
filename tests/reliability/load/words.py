"""What the ledger says; its server and its clients both import this, and only the server imports openreward."""

from __future__ import annotations

TASKS = 512
BROKEN_SETUP = TASKS - 1
"""The task whose sandbox never comes up."""

Call = tuple[int, int, int]
"""The task, the round and the number of a call."""


def prompt_of(task: int) -> str:
    """The prompt of a task."""
    return f"Task {task}."


def answer_of(task: int, call: Call, noted: int) -> str:
    """What is answered to a call in a session for that task, in which so many calls were carried out."""
    return f"session of task {task}, call {call}, {noted} noted"


def reward_of(call: Call) -> float:
    """The reward of a call: a whole number, and no other call has it."""
    task, turn, number = call
    return float((task * 1000 + turn) * 1000 + number)
